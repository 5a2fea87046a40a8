using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Durability;

/// <summary>The blocked clients that wait until an LSN is durable (WAITAOF).</summary>
internal sealed class DurableWaiters
{
    private readonly List<(long Lsn, Waiter Waiter)> _waiting = [];
    private int _count;

    public bool Any => Volatile.Read(ref _count) != 0;

    public void Add(long lsn, Waiter waiter)
    {
        lock (_waiting)
        {
            _waiting.Add((lsn, waiter));
            Volatile.Write(ref _count, _waiting.Count);
        }
    }

    /// <summary>Wakes the clients whose LSN is durable, and forgets those that have ended their wait.</summary>
    public void Wake(long durable)
    {
        lock (_waiting)
        {
            foreach ((long lsn, Waiter waiter) in _waiting)
                if (lsn <= durable) waiter.Wake(WakeReason.Unblocked);
            _waiting.RemoveAll(static waiting => waiting.Waiter.IsClaimed);
            Volatile.Write(ref _count, _waiting.Count);
        }
    }
}
