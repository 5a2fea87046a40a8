namespace RedisClone.Transport;

/// <summary>
/// Runs a connection's continuation on the thread that owns it: its event loop where the transport has one, else the
/// thread pool. Never runs it inside the call: callers may hold shards.
/// </summary>
public interface IConnectionScheduler
{
    void Schedule(IThreadPoolWorkItem work);
}

/// <summary>For transports without loops of their own.</summary>
public sealed class PoolScheduler : IConnectionScheduler
{
    public static readonly PoolScheduler Instance = new();

    public void Schedule(IThreadPoolWorkItem work) => ThreadPool.UnsafeQueueUserWorkItem(work, preferLocal: false);
}
