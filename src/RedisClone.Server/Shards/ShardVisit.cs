using RedisClone.Server.Net;

namespace RedisClone.Server.Shards;

/// <summary>Does something in several shards while all are held, for callers off the hot path; it waits without a thread.</summary>
internal sealed class ShardVisit : IHeldWork
{
    private readonly ShardMap _shards;
    private readonly ShardSet _wanted;
    private readonly Action<Shard> _visit;
    private readonly Signal _done;
    private readonly ShardHold _hold;

    /// <param name="shards">All shards.</param>
    /// <param name="wanted">Those to be held.</param>
    /// <param name="visit">Called for each of them, while all are held.</param>
    /// <param name="scheduler">Where the caller goes on.</param>
    public ShardVisit(ShardMap shards, ShardSet wanted, Action<Shard> visit, IConnectionScheduler scheduler)
    {
        _shards = shards;
        _wanted = wanted;
        _visit = visit;
        _done = new Signal(scheduler);
        _hold = new ShardHold(shards, this);
    }

    public ValueTask RunAsync()
    {
        if (_hold.TryAcquire(_wanted)) ((IHeldWork)this).RunHeld();
        return _done.Wait();
    }

    void IHeldWork.RunHeld()
    {
        for (int i = _wanted.Next(0); i >= 0; i = _wanted.Next(i + 1)) _visit(_shards[i]);
        _hold.Release();
        _done.Set();
    }
}
