using System.Threading.Tasks.Sources;
using RedisClone.Engine.Failures;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Clients;

/// <summary>
/// A reusable awaitable for exactly one waiter. Any thread may signal it; the waiter continues where the scheduler decides. Each
/// signal is awaited once.
/// </summary>
internal sealed class Signal(IConnectionScheduler scheduler) : IValueTaskSource, IThreadPoolWorkItem
{
    private ManualResetValueTaskSourceCore<bool> _core;

    /// <summary>Waits for the next signal. If the signal was already set, the wait completes at once.</summary>
    public ValueTask Wait() => new(this, _core.Version);

    public void Set()
    {
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                scheduler.Schedule(this);
                return;
            }
            catch (OutOfMemoryException failure)
            {
                // Only this signal can wake the waiter, so a lost signal would suspend it permanently. An event loop has not
                // queued the work. The thread pool may have queued it, and it must not run twice.
                if (scheduler is PoolScheduler || !MemoryReserve.TryWait(attempt))
                    Fatal.End("a client that waits cannot be woken", failure);
            }
        }
    }

    /// <summary>Runs the waiter inline. The caller must be on the waiter's own thread and must not hold a shard.</summary>
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
