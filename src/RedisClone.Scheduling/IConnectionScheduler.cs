namespace RedisClone.Scheduling;

/// <summary>
/// Runs a connection's continuation on the thread that owns the connection: its event loop, or the thread pool if the transport
/// has no event loops. The continuation never runs inside the call, because the caller may hold shards.
/// </summary>
public interface IConnectionScheduler
{
    void Schedule(IThreadPoolWorkItem work);
}
