namespace RedisClone.Engine.Durability;

/// <summary>The gate for connections without an event loop. The thread pool resumes them.</summary>
internal sealed class PoolGate(JournalKeeper keeper) : IThreadPoolWorkItem
{
    private readonly Lock _releasing = new();
    private int _posted;

    public DurableGate Gate { get; } = new();

    public void Durable()
    {
        if (!Gate.Any || Interlocked.Exchange(ref _posted, 1) != 0) return;
        try
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
        catch
        {
            // The engine reports progress again, and that report can queue the work.
            Volatile.Write(ref _posted, 0);
            throw;
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        Interlocked.Exchange(ref _posted, 0);
        lock (_releasing) Gate.Release(keeper.ReleasedLsn);
    }
}
