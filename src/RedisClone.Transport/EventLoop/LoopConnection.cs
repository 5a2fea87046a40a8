using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Scheduling;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// One accepted socket. Only the event loop's thread touches the descriptor and the state of this class; other threads post
/// their requests. The descriptor is closed when a round ends, so that an event of the round cannot reach a newer socket with
/// the same number. Between two rounds a quiet connection may move to another event loop.
/// </summary>
internal sealed class LoopConnection : ConnectionContext, IDuplexPipe, ILoopTarget, IEventLoopFeature, IConnectionScheduler,
    IConnectionIdFeature, IConnectionTransportFeature, IConnectionItemsFeature, IConnectionLifetimeFeature, IConnectionEndPointFeature
{
    private const uint UsualInterest = Native.EpollIn | Native.EpollRdHup | Native.EpollEdge;
    private const int FeatureCount = 13;
    private const int Moving = int.MinValue / 2;

    /// <summary>Each attempt waits a millisecond longer than the one before: half a second in all.</summary>
    private const int MostAttemptsToClose = 32;

    private static long s_lastId;

    private readonly LoopPipeReader _reader;
    private readonly LoopPipeWriter _writer;
    private readonly CancellationTokenSource _closedSource = new();
    private readonly TaskCompletionSource _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly FeatureCollection _features = new(FeatureCount);
    private readonly long _number = Interlocked.Increment(ref s_lastId);

    private string? _id;
    private IDictionary<object, object?>? _items;
    private IDuplexPipe? _transport;
    private volatile Loop _loop;
    private int _posts;         // requests that the event loop has not run, or Moving
    private int _disposed;
    private bool _wantsWritable;
    private bool _isClosing;
    private bool _isClosed;
    private bool _toldClosed;
    private volatile bool _isReset;

    public LoopConnection(Loop loop, int fd, EndPoint? local, EndPoint? remote)
    {
        _loop = loop;
        Fd = fd;
        LocalEndPoint = local;
        RemoteEndPoint = remote;
        ConnectionClosed = _closedSource.Token;
        _reader = new LoopPipeReader(this);
        _writer = new LoopPipeWriter(this);
        _features.Set<IConnectionIdFeature>(this);
        _features.Set<IConnectionTransportFeature>(this);
        _features.Set<IConnectionItemsFeature>(this);
        _features.Set<IConnectionLifetimeFeature>(this);
        _features.Set<IConnectionEndPointFeature>(this);
        _features.Set<IEventLoopFeature>(this);
        _features.Set<ILoopSocketFeature>(this);
        _features.Set<IConnectionScheduler>(this);
    }

    /// <summary>
    /// The event loop that serves the connection. Only its thread moves the connection. Another thread may ask whether it is on it, and
    /// posts through the connection.
    /// </summary>
    public Loop Loop => _loop;

    public IEventLoop EventLoop => Loop;

    int ILoopSocketFeature.Descriptor => Fd;

    public long UnsentBytes => _writer.UnsentBytes;

    public long InputRoom => _reader.Room;

    public long OutputRoom => _writer.Room;

    public bool IsBroken => _isReset || _writer.IsBroken;

    public long MostUnsent
    {
        get => _writer.MostUnsent;
        set => _writer.MostUnsent = value;
    }

    public long MostUnread
    {
        get => _writer.MostUnread;
        set => _writer.MostUnread = value;
    }

    public IInputConsumer? Consumer { get; set; }

    public void Advance(int consumed, int examined) => _reader.Advance(consumed, examined);

    public bool TryAwaitInput() => _reader.TryAwaitInput();

    public void CompleteRead() => _reader.CompleteRead();

    public ValueTask<FlushResult> FlushHeldAsync(long position) => _writer.FlushHeldAsync(position);

    public void DropUnflushed() => _writer.DropUnflushed();

    public bool TrySend(ReadOnlySpan<byte> message) => _writer.TryAppend(message);

    public int Fd { get; }

    public override string ConnectionId
    {
        get => _id ??= _number.ToString(System.Globalization.CultureInfo.InvariantCulture);
        set => _id = value;
    }

    public override IDictionary<object, object?> Items
    {
        get => _items ??= new ConnectionItems();
        set => _items = value;
    }

    public override IDuplexPipe Transport
    {
        get => _transport ?? this;
        set => _transport = value;
    }

    public override IFeatureCollection Features => _features;

    PipeReader IDuplexPipe.Input => _reader;

    PipeWriter IDuplexPipe.Output => _writer;

    /// <summary>On the event loop: the socket may have input that was not received yet.</summary>
    public bool IsReadable { get; set; }

    /// <summary>
    /// On the event loop: receives and KB received since the last <see cref="LoopBalance"/> asked, as a measure of the connection's load.
    /// </summary>
    public int Work { get; set; }

    /// <summary>
    /// On the event loop: the peer has closed its sending side or the whole connection. The end of the stream may not be
    /// received yet.
    /// </summary>
    public bool HasHungUp { get; private set; }

    /// <summary>On the event loop: all received input was consumed, and a read waits for more.</summary>
    public bool AwaitsInput => _reader.AwaitsInput;

    /// <summary>
    /// On the event loop: whether the connection is in the queue for receiving, or in one of the queues for sending.
    /// </summary>
    public bool IsQueuedToRead { get; set; }

    public bool IsQueuedToSend { get; set; }

    public override void Abort(ConnectionAbortedException abortReason) =>
        RunOrPost(static self => ((LoopConnection)self!).AbortOnLoop(), this);

    /// <summary>Sends the flushed output at the peer's pace and then closes the socket. An abort closes it at once.</summary>
    public override async ValueTask DisposeAsync()
    {
        await base.DisposeAsync();
        if (Interlocked.Exchange(ref _disposed, 1) == 0) BeginToClose();
        await _closed.Task;
    }

    /// <summary>
    /// Nothing closes the descriptor but this, so a lack of memory is waited out. Output that could not be handed over is lost, and the
    /// connection is aborted then.
    /// </summary>
    private void BeginToClose()
    {
        bool isWhole = true;
        _reader.Complete();
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                if (isWhole) _writer.Complete();
                Post(isWhole ? static self => ((LoopConnection)self!).CloseWhenDrained() : static self => ((LoopConnection)self!).CloseAtOnce(), this);
                return;
            }
            catch (OutOfMemoryException) when (attempt < MostAttemptsToClose)
            {
                isWhole = false;
                Thread.Sleep(attempt);
            }
        }
    }

    private void CloseAtOnce()
    {
        try
        {
            AbortOnLoop();
        }
        finally
        {
            Close();
        }
    }

    /// <summary>On the event loop: starts to receive events.</summary>
    public void Attach()
    {
        try
        {
            if (!Loop.TryAdd(Fd, Interest, this)) OnBroken();
        }
        catch
        {
            // No event loop would ever see this connection.
            OnBroken();
            throw;
        }
    }

    /// <summary>
    /// Runs a callback on the connection's event loop, in the order of the posts. Any thread may call it. A connection does not move
    /// while a post is under way, so a later post cannot overtake it on another event loop.
    /// </summary>
    public void Post(Action<object?> callback, object? state)
    {
        BeginPost();
        try
        {
            _loop.Post(callback, state, this);
        }
        catch
        {
            EndPost();
            throw;
        }
    }

    public void RunOrPost(Action<object?> callback, object? state)
    {
        if (_loop.IsOnLoop) callback(state);
        else Post(callback, state);
    }

    public void Schedule(IThreadPoolWorkItem work) => Post(static work => ((IThreadPoolWorkItem)work!).Execute(), work);

    /// <summary>For the event loop: a callback that was posted for this connection has run.</summary>
    public void EndPost() => Interlocked.Decrement(ref _posts);

    /// <summary>
    /// On the event loop, between two rounds: moves the connection to another event loop if it is quiet. It waits for input then, no
    /// queue of its event loop has it, and no output, event or post is under way.
    /// </summary>
    public bool TryMove(Loop target)
    {
        Loop from = _loop;
        bool isQuiet = AwaitsInput && !IsReadable && !IsQueuedToRead && !IsQueuedToSend && !HasHungUp && !_isClosing && !_isClosed
            && _writer.IsDrained && !_writer.IsBlocked;
        if (!isQuiet || Interlocked.CompareExchange(ref _posts, Moving, 0) != 0) return false;
        bool moves = false;
        try
        {
            // The arrival is the first that the new event loop runs for the connection: other threads cannot post meanwhile.
            target.Post(static self => ((LoopConnection)self!).Arrive(), this);
            moves = true;
            from.Remove(Fd);
            from.Release();
            target.Claim();
            _loop = target;
        }
        finally
        {
            Interlocked.Add(ref _posts, -Moving);
        }
        return moves;
    }

    /// <summary>The new event loop. The kernel reports input that has arrived meanwhile when it begins to watch the descriptor.</summary>
    private void Arrive()
    {
        SpinUntilMoved();
        if (_isClosed) return;
        Attach();
        if (Loop.IsEnding) Loop.QueueSend(this);
    }

    private void BeginPost()
    {
        while (Interlocked.Increment(ref _posts) < 0)
        {
            Interlocked.Decrement(ref _posts);
            SpinUntilMoved();
        }
    }

    /// <summary>A move takes as long as two system calls.</summary>
    private void SpinUntilMoved()
    {
        var spin = new SpinWait();
        while (Volatile.Read(ref _posts) < 0) spin.SpinOnce();
    }

    public void OnEvents(uint events)
    {
        const uint Failed = Native.EpollHup | Native.EpollErr;
        if ((events & (Native.EpollRdHup | Failed)) != 0)
        {
            HasHungUp = true;
            TellClosed();
        }
        if ((events & Failed) != 0) _isReset = true;
        if ((events & (Native.EpollOut | Failed)) != 0) _writer.Unblock();
        if ((events & ~Native.EpollOut) != 0)
        {
            IsReadable = true;
            _reader.Receive();
        }
    }

    public void OnLoopStopping() => CloseAtOnce();

    public void Receive()
    {
        if (IsReadable) _reader.Receive();
    }

    public void Send()
    {
        _writer.Send();
        if (_isClosing && _writer.IsDrained) Close();
    }

    /// <summary>On the event loop: a call on the socket failed permanently.</summary>
    public void OnBroken()
    {
        HasHungUp = true;
        TellClosed();
        _writer.Break();
        _reader.End();
        if (_isClosing) Loop.QueueSend(this);
    }

    /// <summary>On the event loop: ends receiving and sending.</summary>
    public void AbortOnLoop()
    {
        if (_isClosed) return;
        _ = Native.Shutdown(Fd, Native.ShutdownBoth);
        OnBroken();
    }

    /// <summary>
    /// On the event loop. Edge-triggered interest in writing causes extra events on some sockets, so it is set only when it is
    /// needed.
    /// </summary>
    public void WantsWritable(bool wants)
    {
        if (wants == _wantsWritable) return;
        _wantsWritable = wants;
        // A change of the interest also makes the kernel check the socket again, so room that appeared after the send is not
        // missed.
        Loop.Change(Fd, Interest);
    }

    private uint Interest => _wantsWritable ? UsualInterest | Native.EpollOut : UsualInterest;

    private void CloseWhenDrained()
    {
        if (_isClosed) return;
        _isClosing = true;
        _reader.End();
        Loop.QueueSend(this);
    }

    private void Close()
    {
        if (_isClosed) return;
        _isClosed = true;
        try
        {
            // The kernel may soon reuse the descriptor's number, so later calls on this connection must not touch it.
            _writer.Break();
            _reader.End();
            TellClosed();
        }
        finally
        {
            Loop.CloseAtEndOfRound(Fd);
            Loop.Release();
            Loop.Options.Closed();
            _closed.SetResult();
        }
    }

    private void TellClosed()
    {
        if (_toldClosed) return;
        // The registered callbacks are arbitrary code and must not run on the event loop.
        ThreadPool.UnsafeQueueUserWorkItem(static self => self.CancelClosed(), this, preferLocal: false);
        _toldClosed = true;
    }

    /// <summary>An exception of a callback would end the process, because nothing awaits this work.</summary>
    private void CancelClosed()
    {
        try
        {
            _closedSource.Cancel();
        }
        catch (Exception failure)
        {
            Loop.Report(failure, "The end of a connection could not be announced");
        }
    }
}
