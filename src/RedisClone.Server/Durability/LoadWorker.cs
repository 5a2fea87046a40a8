namespace RedisClone.Server.Durability;

/// <summary>A thread that brings back the keys of some shards, batch by batch, in the order in which they come.</summary>
internal sealed class LoadWorker<TBatch> : IDisposable where TBatch : LoadBatch, new()
{
    /// <summary>Who fills batches waits when so many wait for the thread, until half of them are done: to wake it for each would cost more than a batch does.</summary>
    private const int MostWaiting = 8;

    private readonly object _gate = new();
    private readonly Queue<TBatch> _waiting = new(MostWaiting);
    private readonly Stack<TBatch> _free = new(MostWaiting + 2);
    private readonly Thread _thread;
    private bool _busy;
    private bool _ended;
    private string? _error;

    public LoadWorker(string name, Func<TBatch, string?> run)
    {
        _thread = new Thread(() => Work(run)) { IsBackground = true, Name = name };
        _thread.Start();
    }

    /// <summary>What is being filled for it; the owner's alone until it is handed over.</summary>
    public TBatch Filling { get; private set; } = new();

    /// <summary>Why it cannot go on; null while it can.</summary>
    public string? Error
    {
        get
        {
            lock (_gate) return _error;
        }
    }

    /// <summary>Nothing that was handed over is left to be done.</summary>
    public bool IsIdle
    {
        get
        {
            lock (_gate) return _waiting.Count == 0 && !_busy;
        }
    }

    /// <summary>False when what was handed over before has failed.</summary>
    public bool HandOver()
    {
        lock (_gate)
        {
            if (_waiting.Count == MostWaiting)
                while (_waiting.Count > MostWaiting / 2) Monitor.Wait(_gate);
            _waiting.Enqueue(Filling);
            // The thread may sleep only where nothing waited. It and we never wait at the same time, so the pulse reaches the right one.
            if (_waiting.Count == 1) Monitor.Pulse(_gate);
            Filling = _free.TryPop(out TBatch? free) ? free : new TBatch();
            return _error is null;
        }
    }

    /// <summary>Waits until all that was handed over is done.</summary>
    public void WaitUntilIdle()
    {
        lock (_gate)
            while (_waiting.Count > 0 || _busy) Monitor.Wait(_gate);
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _ended = true;
            Monitor.Pulse(_gate);
        }
        _thread.Join();
    }

    private void Work(Func<TBatch, string?> run)
    {
        for (TBatch? batch = null; (batch = Next(batch)) is not null;)
        {
            string? error;
            try
            {
                // After an error what still waits is let go: nothing of it will count.
                error = Error is null ? run(batch) : null;
                batch.Clear();
            }
            catch (OutOfMemoryException)
            {
                error = "there is not enough memory for the data";
            }
            catch (Exception bug)
            {
                error = bug.ToString();
            }
            if (error is not null) Fail(error);
        }
    }

    private void Fail(string error)
    {
        lock (_gate) _error = error;
    }

    /// <summary>The next batch, null at the end; the last one is done.</summary>
    private TBatch? Next(TBatch? done)
    {
        lock (_gate)
        {
            if (done is not null) _free.Push(done);
            _busy = false;
            if (_waiting.Count is 0 or MostWaiting / 2) Monitor.Pulse(_gate);
            while (_waiting.Count == 0 && !_ended) Monitor.Wait(_gate);
            _busy = _waiting.TryDequeue(out TBatch? next);
            return next;
        }
    }
}
