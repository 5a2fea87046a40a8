namespace RedisClone.Engine.Shards;

/// <summary>
/// The holds that wait for a busy shard and keep others meanwhile. A busy script lets them release those. Otherwise clients of idle shards
/// would wait for the end of the script, and would get no BUSY. Any thread may use it.
/// </summary>
internal sealed class PersistentHolds
{
    private readonly List<ShardHold> _holds = [];       // the lock of all access

    public void Add(ShardHold hold)
    {
        lock (_holds) _holds.Add(hold);
    }

    public void Remove(ShardHold hold)
    {
        lock (_holds) _holds.Remove(hold);
    }

    /// <summary>Lets the holds release their shards. They begin again once they have the shard for which they wait.</summary>
    public void StepBack()
    {
        lock (_holds) _holds.RemoveAll(static hold => hold.TryStepBack());
    }
}
