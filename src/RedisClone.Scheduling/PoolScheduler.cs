namespace RedisClone.Scheduling;

/// <summary>The scheduler of transports without event loops.</summary>
public sealed class PoolScheduler : IConnectionScheduler
{
    public static readonly PoolScheduler Instance = new();

    public void Schedule(IThreadPoolWorkItem work) => ThreadPool.UnsafeQueueUserWorkItem(work, preferLocal: false);
}
