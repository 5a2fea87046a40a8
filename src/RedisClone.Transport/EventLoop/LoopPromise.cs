using System.Threading.Tasks.Sources;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// A reusable await that only its loop answers, on its own thread: the continuation runs right there. The side that awaits calls
/// <see cref="Begin"/> and has the loop call <see cref="Arm"/>; from then on, until it is answered, it belongs to the loop.
/// </summary>
internal abstract class LoopPromise<T>(Loop loop) : IValueTaskSource<T>
{
    private ManualResetValueTaskSourceCore<T> _core;
    private CancellationToken _token;
    private CancellationTokenRegistration _registration;
    private int _cancelRequested;
    private Action<object?>? _onAwaited;
    private object? _onAwaitedState;

    /// <summary>For the side that awaits: begun and not answered.</summary>
    public bool IsPending { get; private set; }

    /// <summary>For the loop: armed and not answered.</summary>
    public bool IsArmed { get; private set; }

    protected abstract T CanceledAnswer { get; }

    public ValueTask<T> Begin(CancellationToken token)
    {
        if (IsPending) throw new InvalidOperationException("The operation before is still pending.");
        IsPending = true;
        _core.Reset();
        _token = token;
        if (token.CanBeCanceled)
            _registration = token.UnsafeRegister(static self => ((LoopPromise<T>)self!).PostCancellation(), this);
        return new ValueTask<T>(this, _core.Version);
    }

    /// <summary>
    /// Posts <paramref name="callback"/>, which is to arm this, once the continuation is known. Were it posted before, the answer
    /// could be there first, and the caller, who is not on the loop, would simply go on where it is.
    /// </summary>
    public void PostWhenAwaited(Action<object?> callback, object? state)
    {
        _onAwaited = callback;
        _onAwaitedState = state;
    }

    /// <summary>On the loop. A cancellation that came before is answered here, for its own post found nothing armed.</summary>
    public void Arm()
    {
        IsArmed = true;
        AnswerCancellation();
    }

    /// <summary>On the loop, armed.</summary>
    public void Answer(T result)
    {
        Release();
        _core.SetResult(result);
    }

    /// <summary>Any thread: the pending operation, or else the next, is answered as canceled.</summary>
    public void RequestCancel()
    {
        Volatile.Write(ref _cancelRequested, 1);
        PostCancellation();
    }

    /// <summary>Whether a cancel was requested that nobody answered with yet; it is taken.</summary>
    public bool TakeCancel() =>
        Volatile.Read(ref _cancelRequested) != 0 && Interlocked.Exchange(ref _cancelRequested, 0) != 0;

    T IValueTaskSource<T>.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<T>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<T>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        // Taken before the continuation is published: one that runs at once may begin the next await here.
        (Action<object?>? onAwaited, object? onAwaitedState) = (_onAwaited, _onAwaitedState);
        _onAwaited = null;
        _core.OnCompleted(continuation, state, token, flags);
        if (onAwaited is not null) loop.Post(onAwaited, onAwaitedState);
    }

    private void PostCancellation() => loop.Post(static self => ((LoopPromise<T>)self!).AnswerCancellation(), this);

    private void AnswerCancellation()
    {
        if (!IsArmed) return;
        if (TakeCancel())
        {
            Answer(CanceledAnswer);
        }
        else if (_token.IsCancellationRequested)
        {
            var canceled = new OperationCanceledException(_token);
            Release();
            _core.SetException(canceled);
        }
    }

    private void Release()
    {
        _registration.Unregister();
        _registration = default;
        _token = default;
        IsArmed = false;
        IsPending = false;
    }
}
