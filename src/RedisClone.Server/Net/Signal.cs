using System.Threading.Tasks.Sources;
using RedisClone.Server.Admin;
using RedisClone.Transport;

namespace RedisClone.Server.Net;

/// <summary>
/// A reusable awaitable for exactly one waiter, signalled from any thread; the waiter goes on where the scheduler says. Each
/// signal is awaited once.
/// </summary>
internal sealed class Signal(IConnectionScheduler scheduler) : IValueTaskSource, IThreadPoolWorkItem
{
    private ManualResetValueTaskSourceCore<bool> _core;

    /// <summary>The next signal; awaiting it after it was given completes at once.</summary>
    public ValueTask Wait() => new(this, _core.Version);

    public void Set()
    {
        try
        {
            scheduler.Schedule(this);
        }
        catch (OutOfMemoryException failure)
        {
            // The waiter is spoken for: nothing else would ever wake it.
            Fatal.End("a client that waits cannot be woken", failure);
        }
    }

    /// <summary>Lets the waiter go on right here; only on its own thread, and with no shard held.</summary>
    public void SetHere() => _core.SetResult(true);

    void IThreadPoolWorkItem.Execute() => _core.SetResult(true);

    void IValueTaskSource.GetResult(short token)
    {
        _core.GetResult(token);
        _core.Reset();
    }

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);
}
