using System.Collections.Concurrent;
using RedisClone.Scheduling;
using RedisClone.Server.Net;

namespace RedisClone.Benchmarks.Scaling;

/// <summary>
/// One thread that is client and event loop of several connections. It sends a batch, the connection executes it within the call
/// that sends it, and the thread reads the replies. A connection whose command runs on a worker continues here, as it continues on
/// its event loop in the server, and the thread serves its other connections meanwhile.
/// </summary>
internal sealed class LoadThread : IEventLoop, IDisposable
{
    private readonly ConcurrentQueue<IThreadPoolWorkItem> _scheduled = new();
    private readonly AutoResetEvent _wake = new(false);
    private readonly LoadClient[] _clients;
    private Thread? _thread;
    private volatile bool _stops;

    public LoadThread(RedisConnectionHandler server, byte[][] batches, int[] replies, int clients) =>
        _clients = [.. Enumerable.Range(0, clients).Select(i => new LoadClient(server, this, batches, replies, i * batches.Length / clients))];

    public long Batches { get; private set; }

    public bool IsOnLoop => Thread.CurrentThread == _thread;

    public bool RoundIsFull => false;

    public IOutputGate? OutputGate { get; set; }

    public long FirstHeld => long.MaxValue;

    public void Start()
    {
        _stops = false;
        _thread = new Thread(Run) { IsBackground = true };
        _thread.Start();
    }

    /// <summary>Lets the batches that are under way end. <see cref="Join"/> waits for that.</summary>
    public void Stop()
    {
        _stops = true;
        _wake.Set();
    }

    public void Join() => _thread!.Join();

    public void Schedule(IThreadPoolWorkItem work)
    {
        _scheduled.Enqueue(work);
        _wake.Set();
    }

    public void Post(Action<object?> callback, object? state) => throw new NotSupportedException();

    public void Gather(IGatheredWork work)
    {
        work.Fetch();
        work.Run();
    }

    public void Postpone(IGatheredWork work) => work.Run();

    public void AtEndOfRound(Action<object?> callback, object? state) => throw new NotSupportedException();

    /// <summary>A script that takes long stays on this thread.</summary>
    public bool TryHandOver() => false;

    public Task ReceiveAllAsync() => Task.CompletedTask;

    public void Dispose() => _wake.Dispose();

    private void Run()
    {
        while (true)
        {
            bool any = false, pending = false;
            while (_scheduled.TryDequeue(out IThreadPoolWorkItem? work))
            {
                work.Execute();
                any = true;
            }
            foreach (LoadClient client in _clients)
            {
                if (client.IsPending && client.TryFinish()) (Batches, any) = (Batches + 1, true);
                if (!client.IsPending && !_stops)
                {
                    client.Send();
                    any = true;
                }
                pending |= client.IsPending;
            }
            if (_stops && !pending) return;
            if (!any) _wake.WaitOne();
        }
    }
}
