using System.Net;
using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using RedisClone.Transport.Sockets;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// A listening socket. The framework's own Socket binds and listens, for that is rare; one loop accepts from it and deals the
/// connections out to all loops. Socket options set here are inherited by what is accepted.
/// </summary>
[SupportedOSPlatform("linux")]
internal sealed class EventLoopListener : IConnectionListener, ILoopTarget
{
    private const int AcceptsPerRound = 64;
    private const int PauseMilliseconds = 100;

    /// <summary>
    /// Descriptors that connections never get: without any left, the runtime cannot even start a thread, and ends the process.
    /// </summary>
    private const int ReservedDescriptors = 64;

    private static readonly long DescriptorCeiling = Native.DescriptorLimit() - ReservedDescriptors;

    private readonly Loop _loop;
    private readonly Func<Loop> _chooseLoop;
    private readonly ILogger _log;
    private readonly Socket _socket;
    private readonly int _fd;
    private readonly Timer _resume;
    private readonly Channel<LoopConnection> _accepted =
        Channel.CreateUnbounded<LoopConnection>(new UnboundedChannelOptions { SingleWriter = true });
    private readonly TaskCompletionSource _unbound = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _isUnbound;
    private bool _isPaused;

    public EventLoopListener(EndPoint endPoint, Loop loop, Func<Loop> chooseLoop, ILogger log)
    {
        _loop = loop;
        _chooseLoop = chooseLoop;
        _log = log;
        _socket = Listen(endPoint, loop.Options);
        _fd = (int)_socket.SafeHandle.DangerousGetHandle();
        EndPoint = _socket.LocalEndPoint ?? endPoint;
        _resume = new Timer(static self => ((EventLoopListener)self!).ResumeAccepting(), this, Timeout.Infinite, Timeout.Infinite);
        _loop.Post(static self => ((EventLoopListener)self!).Attach(), this);
    }

    public EndPoint EndPoint { get; }

    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        while (await _accepted.Reader.WaitToReadAsync(cancellationToken))
        {
            if (_accepted.Reader.TryRead(out LoopConnection? connection)) return connection;
        }
        return null;
    }

    public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        _loop.Post(static self => ((EventLoopListener)self!).Unbind(), this);
        return new ValueTask(_unbound.Task.WaitAsync(cancellationToken));
    }

    public async ValueTask DisposeAsync()
    {
        await UnbindAsync();
        while (_accepted.Reader.TryRead(out LoopConnection? connection))
        {
            connection.Abort();
            await connection.DisposeAsync();
        }
    }

    public void OnEvents(uint events)
    {
        for (int i = 0; i < AcceptsPerRound; i++)
        {
            int fd = Native.Accept(_fd, out byte[] peer);
            if (fd >= DescriptorCeiling)
            {
                _ = Native.Close(fd);
                PauseAccepting("too many open files");
                return;
            }
            if (fd >= 0)
            {
                if (TryTake(fd, peer)) continue;
                return;
            }
            if (fd == -Native.WouldBlock) return;
            // These are about one connection that did not come to be; anything else (EMFILE ...) is about all of them.
            if (fd is -Native.Interrupted or -Native.ConnectionAborted or -Native.NotPermitted or -Native.ProtocolError) continue;
            PauseAccepting($"errno {-fd}");
            return;
        }
    }

    public void OnLoopStopping() => Unbind();

    /// <summary>Level-triggered: what a round leaves in the backlog is reported again.</summary>
    private void Attach()
    {
        if (!_isUnbound && !_loop.TryAdd(_fd, Native.EpollIn, this)) Unbind();
    }

    /// <summary>False when there is no memory for one more connection.</summary>
    private bool TryTake(int fd, byte[] peer)
    {
        LoopConnection? attached = null;
        try
        {
            Loop loop = _chooseLoop();
            bool isUnix = EndPoint is UnixDomainSocketEndPoint;
            EndPoint? local = isUnix ? EndPoint : Decode(Native.LocalAddress(fd));
            var connection = new LoopConnection(loop, fd, local, isUnix ? EndPoint : Decode(peer));
            loop.Post(static connection => ((LoopConnection)connection!).Attach(), connection);
            loop.Claim();
            attached = connection;
            _accepted.Writer.TryWrite(connection);
            _isPaused = false;
            return true;
        }
        catch (Exception e)
        {
            _loop.Options.Failed(_log, e, "A connection could not be accepted");
            // Once its loop knows it, the descriptor is the connection's to close.
            if (attached is null) _ = Native.Close(fd);
            else Drop(attached);
            PauseAccepting(e.GetType().Name);
            return false;
        }
    }

    private static void Drop(LoopConnection connection)
    {
        connection.Abort();
        _ = connection.DisposeAsync().AsTask();
    }

    /// <summary>Without this, a backlog that cannot be accepted would wake the loop over and over.</summary>
    private void PauseAccepting(string reason)
    {
        if (!_isPaused) _log.LogWarning("Cannot accept connections on {EndPoint} for now: {Reason}.", EndPoint, reason);
        _isPaused = true;
        _loop.Change(_fd, 0);
        _resume.Change(PauseMilliseconds, Timeout.Infinite);
    }

    private void ResumeAccepting() => _loop.Post(
        static self =>
        {
            var listener = (EventLoopListener)self!;
            if (!listener._isUnbound) listener._loop.Change(listener._fd, Native.EpollIn);
        },
        this);

    private void Unbind()
    {
        if (_isUnbound) return;
        _isUnbound = true;
        _loop.Remove(_fd);
        _socket.Dispose();
        _resume.Dispose();
        _accepted.Writer.Complete();
        _unbound.SetResult();
    }

    private EndPoint? Decode(byte[] address)
    {
        if (address.Length == 0) return null;
        var decoded = new SocketAddress(EndPoint.AddressFamily, address.Length);
        address.CopyTo(decoded.Buffer);
        return EndPoint.Create(decoded);
    }

    private static Socket Listen(EndPoint endPoint, EventLoopOptions options)
    {
        Socket? socket = null;
        try
        {
            socket = ListenSocket.CreateBound(endPoint, options.UnixSocketMode);
            socket.Blocking = false;
            if (endPoint is IPEndPoint)
            {
                socket.NoDelay = true;
                TcpKeepAlive.Apply(socket, options.KeepAliveSeconds);
            }
            socket.Listen(options.Backlog);
            return socket;
        }
        catch (SocketException error)
        {
            socket?.Dispose();
            if (error.SocketErrorCode == SocketError.AddressAlreadyInUse) throw new AddressInUseException(error.Message, error);
            throw;
        }
    }
}
