using System.Threading.Tasks.Sources;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// A reusable awaitable operation that only its event loop completes, on the event loop's thread, where the continuation also
/// runs. The awaiting side calls <see cref="Begin"/> and has the event loop call <see cref="Arm"/>. From then until the answer,
/// the event loop owns the operation.
/// </summary>
internal abstract class LoopPromise<T>(LoopConnection connection) : IValueTaskSource<T>
{
    private ManualResetValueTaskSourceCore<T> _core;
    private CancellationToken _token;
    private CancellationTokenRegistration _registration;
    private int _cancelRequested;
    private Action<object?>? _onAwaited;
    private object? _onAwaitedState;

    /// <summary>For the awaiting side: begun and not answered.</summary>
    public bool IsPending { get; private set; }

    /// <summary>For the event loop: armed and not answered.</summary>
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
    /// Posts <paramref name="callback"/>, which arms this operation, once the continuation is known. If the callback were posted
    /// earlier, the answer could arrive first, and the continuation would run on the caller's thread, which is not the event
    /// loop.
    /// </summary>
    public void PostWhenAwaited(Action<object?> callback, object? state)
    {
        _onAwaited = callback;
        _onAwaitedState = state;
    }

    /// <summary>
    /// On the event loop. Also answers a cancellation that was requested earlier, because its post ran before the operation was
    /// armed.
    /// </summary>
    public void Arm()
    {
        IsArmed = true;
        AnswerCancellation();
    }

    /// <summary>
    /// On the event loop, while armed: the event loop does not own the operation any more, so it does not answer it. The new owner
    /// arms it again or answers it.
    /// </summary>
    public void Disarm() => IsArmed = false;

    /// <summary>On the event loop while armed, or by the owner while disarmed.</summary>
    public void Answer(T result)
    {
        Release();
        _core.SetResult(result);
    }

    /// <summary>Cancels the pending operation, or else the next one. Any thread may call it.</summary>
    public void RequestCancel()
    {
        Volatile.Write(ref _cancelRequested, 1);
        PostCancellation();
    }

    /// <summary>Takes a requested cancellation that no operation has answered yet. Returns whether there was one.</summary>
    public bool TakeCancel() =>
        Volatile.Read(ref _cancelRequested) != 0 && Interlocked.Exchange(ref _cancelRequested, 0) != 0;

    /// <summary>The answer is not kept: it may refer to a large array, and the connection may be closed long before it is collected.</summary>
    T IValueTaskSource<T>.GetResult(short token)
    {
        T result = _core.GetResult(token);
        _core.Reset();
        return result;
    }

    ValueTaskSourceStatus IValueTaskSource<T>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<T>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        // Read before the continuation is published, because a continuation that runs at once may begin the next operation on
        // this object.
        (Action<object?>? onAwaited, object? onAwaitedState) = (_onAwaited, _onAwaitedState);
        _onAwaited = null;
        _core.OnCompleted(continuation, state, token, flags);
        if (onAwaited is not null) connection.Post(onAwaited, onAwaitedState);
    }

    private void PostCancellation() => connection.Post(static self => ((LoopPromise<T>)self!).AnswerCancellation(), this);

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
