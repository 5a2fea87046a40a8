namespace RedisClone.Server.Shards;

/// <summary>Does something with every shard held while the caller's thread waits: for the end of the server, and the like.</summary>
internal sealed class HeldAction : IHeldWork
{
    private readonly ShardMap _shards;
    private readonly Action _action;
    private readonly ShardHold _hold;
    private readonly ManualResetEventSlim _done = new();

    public HeldAction(ShardMap shards, Action action)
    {
        _shards = shards;
        _action = action;
        _hold = new ShardHold(shards, this);
    }

    public void RunAndWait()
    {
        _hold.AcquireOnWorker(_shards.All);
        _done.Wait();
        _done.Dispose();
    }

    void IHeldWork.RunHeld()
    {
        try
        {
            _action();
        }
        finally
        {
            _hold.Release();
            _done.Set();
        }
    }
}
