using System.Collections.Concurrent;

namespace RedisClone.Server.Durability;

/// <summary>A thread that replays the commands of some shards, batch by batch, in the order in which they come.</summary>
internal sealed class ReplayWorker : IDisposable
{
    private const int MostWaiting = 8;

    private readonly BlockingCollection<ReplayBatch> _waiting = new(MostWaiting);
    private readonly ConcurrentBag<ReplayBatch> _free = [];
    private readonly Lock _gate = new();
    private readonly ManualResetEventSlim _idle = new(initialState: true);
    private readonly Thread _thread;
    private int _outstanding;
    private volatile string? _error;

    public ReplayWorker(ServerCore server, int index)
    {
        _thread = new Thread(() => Work(new ReplayRun(server))) { IsBackground = true, Name = $"replay {index}" };
        _thread.Start();
    }

    /// <summary>What is being filled for it; the owner's alone until it is handed over.</summary>
    public ReplayBatch Filling { get; private set; } = new();

    /// <summary>Why it cannot go on; null while it can.</summary>
    public string? Error => _error;

    /// <summary>Nothing that was handed over is left to be done.</summary>
    public bool IsIdle => _idle.IsSet;

    public void HandOver()
    {
        lock (_gate)
        {
            _outstanding++;
            _idle.Reset();
        }
        _waiting.Add(Filling);
        Filling = _free.TryTake(out ReplayBatch? free) ? free : new ReplayBatch();
    }

    /// <summary>Waits until all that was handed over is done.</summary>
    public void WaitUntilIdle() => _idle.Wait();

    public void Dispose()
    {
        _waiting.CompleteAdding();
        _thread.Join();
        _waiting.Dispose();
        _idle.Dispose();
    }

    private void Work(ReplayRun run)
    {
        foreach (ReplayBatch batch in _waiting.GetConsumingEnumerable())
        {
            try
            {
                // After an error what still waits is let go: nothing of it will count.
                _error ??= run.Run(batch);
            }
            catch (Exception bug)
            {
                _error = bug.ToString();
            }
            batch.Clear();
            _free.Add(batch);
            lock (_gate)
            {
                if (--_outstanding == 0) _idle.Set();
            }
        }
    }
}
