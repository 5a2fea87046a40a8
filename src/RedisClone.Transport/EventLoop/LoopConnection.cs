using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// One accepted socket. It belongs to its loop: only the loop's thread touches the descriptor and the state here; what other
/// threads ask for is posted. The descriptor is closed when a round ends, so that no event of the round can be meant for a
/// newer socket with the same number.
/// </summary>
internal sealed class LoopConnection : ConnectionContext, IDuplexPipe, ILoopTarget, IEventLoopFeature,
    IConnectionIdFeature, IConnectionTransportFeature, IConnectionItemsFeature, IConnectionLifetimeFeature, IConnectionEndPointFeature
{
    private const uint UsualInterest = Native.EpollIn | Native.EpollRdHup | Native.EpollEdge;
    private const int FeatureCount = 12;

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
    private int _disposed;
    private bool _wantsWritable;
    private bool _isClosing;
    private bool _isClosed;
    private bool _toldClosed;

    public LoopConnection(Loop loop, int fd, EndPoint? local, EndPoint? remote)
    {
        Loop = loop;
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
        _features.Set<IConnectionScheduler>(loop);
    }

    public Loop Loop { get; }

    public IEventLoop EventLoop => Loop;

    int IEventLoopFeature.Descriptor => Fd;

    public long UnsentBytes => _writer.UnsentBytes;

    public long MostUnread
    {
        get => _writer.MostUnread;
        set => _writer.MostUnread = value;
    }

    public void Send(ReadOnlySpan<byte> message) => _writer.Append(message);

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

    /// <summary>On the loop: the socket may have input that was not received yet.</summary>
    public bool IsReadable { get; set; }

    /// <summary>On the loop: the peer has closed its side, or all; an end of stream is still to be received.</summary>
    public bool HasHungUp { get; private set; }

    /// <summary>On the loop: all that was received has been consumed, and more is waited for.</summary>
    public bool AwaitsInput => _reader.AwaitsInput;

    /// <summary>On the loop: in the list of those to be read from, and of those to be sent to.</summary>
    public bool IsQueuedToRead { get; set; }

    public bool IsQueuedToSend { get; set; }

    public override void Abort(ConnectionAbortedException abortReason) =>
        Loop.RunOrPost(static self => ((LoopConnection)self!).AbortOnLoop(), this);

    /// <summary>What was flushed still goes out, at the peer's pace, then the socket is closed. Abort cuts that short.</summary>
    public override async ValueTask DisposeAsync()
    {
        await base.DisposeAsync();
        if (Interlocked.Exchange(ref _disposed, 1) == 0)
        {
            _reader.Complete();
            _writer.Complete();
            Loop.Post(static self => ((LoopConnection)self!).CloseWhenDrained(), this);
        }
        await _closed.Task;
    }

    /// <summary>On the loop: from here on it gets its events.</summary>
    public void Attach()
    {
        if (!Loop.TryAdd(Fd, UsualInterest, this)) OnBroken();
    }

    public void OnEvents(uint events)
    {
        const uint Failed = Native.EpollHup | Native.EpollErr;
        if ((events & (Native.EpollRdHup | Failed)) != 0)
        {
            HasHungUp = true;
            TellClosed();
        }
        if ((events & (Native.EpollOut | Failed)) != 0) _writer.Unblock();
        if ((events & ~Native.EpollOut) != 0)
        {
            IsReadable = true;
            _reader.Receive();
        }
    }

    public void OnLoopStopping()
    {
        AbortOnLoop();
        Close();
    }

    public void Receive()
    {
        if (IsReadable) _reader.Receive();
    }

    public void Send()
    {
        _writer.Send();
        if (_isClosing && _writer.IsDrained) Close();
    }

    /// <summary>On the loop: a call on the socket failed for good.</summary>
    public void OnBroken()
    {
        HasHungUp = true;
        TellClosed();
        _writer.Break();
        _reader.End();
        if (_isClosing) Loop.QueueSend(this);
    }

    /// <summary>On the loop: nothing more is received or sent.</summary>
    public void AbortOnLoop()
    {
        if (_isClosed) return;
        _ = Native.Shutdown(Fd, Native.ShutdownBoth);
        OnBroken();
    }

    /// <summary>On the loop. Edge-triggered interest in writing costs events on some sockets, so it is asked for only in need.</summary>
    public void WantsWritable(bool wants)
    {
        if (wants == _wantsWritable) return;
        _wantsWritable = wants;
        // Changing the interest also makes the kernel look again: room that came up since the send is not missed.
        Loop.Change(Fd, wants ? UsualInterest | Native.EpollOut : UsualInterest);
    }

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
        TellClosed();
        // The descriptor's number may soon be another's: whatever is still asked of this connection must not touch it.
        _writer.Break();
        _reader.End();
        Loop.CloseAtEndOfRound(Fd);
        Loop.Release();
        _closed.SetResult();
    }

    private void TellClosed()
    {
        if (_toldClosed) return;
        _toldClosed = true;
        // Whoever registered for it may do anything: not on the loop.
        ThreadPool.UnsafeQueueUserWorkItem(static source => source.Cancel(), _closedSource, preferLocal: false);
    }
}
