using System.Runtime.ExceptionServices;

namespace RedisClone.Engine.Shards;

/// <summary>
/// Runs an action while every shard is held, or some of them, and blocks the calling thread until it has finished. The action runs on the
/// calling thread, or on a worker if a shard is busy. It is meant for rare cases such as shutdown.
/// </summary>
internal sealed class HeldAction : IHeldWork
{
    private readonly ShardMap _shards;
    private readonly Action _action;
    private readonly ShardHold _hold;
    private readonly ManualResetEventSlim _done = new();
    private ExceptionDispatchInfo? _failure;

    public HeldAction(ShardMap shards, Action action)
    {
        _shards = shards;
        _action = action;
        _hold = new ShardHold(shards, this);
    }

    public void RunAndWait() => RunAndWait(_shards.All);

    public void RunAndWait(in ShardSet held)
    {
        // The action needs no worker while the caller blocks one: callers on all workers would wait for each other.
        if (_hold.TryAcquire(held)) _hold.RunHere();
        _done.Wait();
        _done.Dispose();
        _failure?.Throw();
    }

    bool IHeldWork.RunHeld()
    {
        _action();
        return true;
    }

    void IHeldWork.Released(Exception? failure)
    {
        if (failure is not null) _failure = ExceptionDispatchInfo.Capture(failure);
        _done.Set();
    }
}
