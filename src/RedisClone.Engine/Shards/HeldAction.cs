using System.Runtime.ExceptionServices;

namespace RedisClone.Engine.Shards;

/// <summary>
/// Runs an action while every shard is held, or some of them, and blocks the calling thread until it has finished. It is meant for rare cases
/// such as shutdown.
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
        _hold.AcquireOnWorker(held);
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
