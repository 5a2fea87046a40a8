using System.Runtime.ExceptionServices;
using RedisClone.Engine.Clients;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Shards;

/// <summary>
/// Visits several shards while all of them are held, without blocking a thread. It is meant for callers off the hot path.
/// </summary>
internal sealed class ShardVisit : IHeldWork
{
    private readonly ShardMap _shards;
    private readonly ShardSet _wanted;
    private readonly Action<Shard> _visit;
    private readonly Signal _done;
    private readonly ShardHold _hold;
    private ExceptionDispatchInfo? _failure;

    /// <param name="shards">All shards.</param>
    /// <param name="wanted">The shards to hold.</param>
    /// <param name="visit">Called for each held shard.</param>
    /// <param name="scheduler">Where the caller resumes.</param>
    public ShardVisit(ShardMap shards, ShardSet wanted, Action<Shard> visit, IConnectionScheduler scheduler)
    {
        _shards = shards;
        _wanted = wanted;
        _visit = visit;
        _done = new Signal(scheduler);
        _hold = new ShardHold(shards, this);
    }

    /// <summary>
    /// Visits the shards. If a visit throws, the remaining shards are still visited, and then the first exception is thrown.
    /// </summary>
    public async ValueTask RunAsync()
    {
        if (_hold.TryAcquire(_wanted)) _hold.RunHere();
        await _done.Wait();
        _failure?.Throw();
    }

    bool IHeldWork.RunHeld()
    {
        for (int i = _wanted.Next(0); i >= 0; i = _wanted.Next(i + 1))
        {
            try
            {
                _visit(_shards[i]);
            }
            catch (Exception failure)
            {
                _failure ??= ExceptionDispatchInfo.Capture(failure);
            }
        }
        return true;
    }

    void IHeldWork.Released(Exception? failure)
    {
        if (failure is not null) _failure ??= ExceptionDispatchInfo.Capture(failure);
        _done.Set();
    }
}
