using System.Net;
using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using RedisClone.Transport.Sockets;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// A listening socket. It binds and listens with .NET's Socket, because speed does not matter there. One event loop accepts
/// connections and distributes them over all event loops. Accepted sockets inherit the socket options that are set here.
/// </summary>
[SupportedOSPlatform("linux")]
internal sealed class EventLoopListener : IConnectionListener, ILoopTarget
{
    private const int AcceptsPerRound = 64;
    private const int PauseMilliseconds = 100;

    /// <summary>
    /// Descriptors that are reserved for the process. If none is left, the runtime cannot start a thread and ends the process.
    /// </summary>
    private const int ReservedDescriptors = 64;

    /// <summary>The descriptors that must be left for connections, and for the files that are opened after the listening socket.</summary>
    private const int LeastDescriptors = 32;

    internal static readonly long DescriptorCeiling = Native.DescriptorLimit() - ReservedDescriptors;

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
        _fd = DescriptorOf(_socket);
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

    /// <summary>Sets keepalive for the connections that are accepted from now on.</summary>
    public void SetKeepAlive(int seconds)
    {
        if (EndPoint is not IPEndPoint) return;
        try
        {
            TcpKeepAlive.Apply(_socket, seconds);
        }
        catch (ObjectDisposedException)
        {
            // The listener is closed.
        }
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
        Span<byte> peer = stackalloc byte[Native.MaxAddressBytes];
        for (int i = 0; i < AcceptsPerRound; i++)
        {
            int fd = Native.Accept(_fd, peer, out int length);
            if (fd >= DescriptorCeiling)
            {
                Refuse(fd);
                PauseAccepting("too many open files");
                return;
            }
            if (fd >= 0)
            {
                if (!TryTake(fd, peer[..length])) return;
                continue;
            }
            if (fd == -Native.WouldBlock) return;
            // These errors concern one connection that was not established. Any other error (EMFILE, for example) concerns all
            // connections.
            if (fd is -Native.Interrupted or -Native.ConnectionAborted or -Native.NotPermitted or -Native.ProtocolError) continue;
            PauseAccepting($"errno {-fd}");
            return;
        }
    }

    public void OnLoopStopping() => Unbind();

    /// <summary>The descriptor is watched level-triggered: epoll reports again a backlog that one round did not empty.</summary>
    private void Attach()
    {
        if (!_isUnbound && !_loop.TryAdd(_fd, Native.EpollIn, this)) Unbind();
    }

    /// <summary>
    /// Serves a connection, or refuses it. Returns false if there is no memory for it. The descriptor is closed on every path that
    /// does not hand it over.
    /// </summary>
    private bool TryTake(int fd, ReadOnlySpan<byte> peer)
    {
        LoopConnection? attached = null;
        bool isOpen = false;
        try
        {
            isOpen = _loop.Options.TryOpen();
            if (!isOpen)
            {
                Refuse(fd);
                return true;
            }
            Loop loop = _chooseLoop();
            bool isUnix = EndPoint is UnixDomainSocketEndPoint;
            EndPoint? local = isUnix ? EndPoint : Decode(Native.LocalAddress(fd));
            var connection = new LoopConnection(loop, fd, local, isUnix ? EndPoint : Decode(peer));
            connection.Post(static connection => ((LoopConnection)connection!).Attach(), connection);
            loop.Claim();
            attached = connection;
            _accepted.Writer.TryWrite(connection);
            _isPaused = false;
            return true;
        }
        catch (Exception e)
        {
            // Once the connection is attached to its event loop, the connection closes the descriptor.
            if (attached is null)
            {
                _ = Native.Close(fd);
                if (isOpen) _loop.Options.Closed();
            }
            else
            {
                Drop(attached);
            }
            PauseAccepting(e.GetType().Name);
            _loop.Options.Failed(_log, e, "A connection could not be accepted");
            return false;
        }
    }

    private void Refuse(int fd)
    {
        // The socket is new, so it takes the few bytes at once.
        Native.SendAtOnce(fd, _loop.Options.Refusal);
        _ = Native.Close(fd);
    }

    private static void Drop(LoopConnection connection)
    {
        connection.Abort();
        _ = connection.DisposeAsync().AsTask();
    }

    /// <summary>Without the pause, a backlog that cannot be accepted would wake the event loop continuously.</summary>
    private void PauseAccepting(string reason)
    {
        bool wasPaused = _isPaused;
        _isPaused = true;
        _resume.Change(PauseMilliseconds, Timeout.Infinite);
        _loop.Change(_fd, 0);
        if (!wasPaused) _log.LogWarning("Cannot accept connections on {EndPoint} for now: {Reason}.", EndPoint, reason);
    }

    /// <summary>Runs on a timer, where nothing handles an exception. Without memory it tries again later.</summary>
    private void ResumeAccepting()
    {
        try
        {
            _loop.Post(
                static self =>
                {
                    var listener = (EventLoopListener)self!;
                    if (!listener._isUnbound) listener._loop.Change(listener._fd, Native.EpollIn);
                },
                this);
        }
        catch (OutOfMemoryException)
        {
            _resume.Change(PauseMilliseconds, Timeout.Infinite);
        }
    }

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

    private EndPoint? Decode(ReadOnlySpan<byte> address)
    {
        if (address.Length == 0) return null;
        var decoded = new SocketAddress(EndPoint.AddressFamily, address.Length);
        address.CopyTo(decoded.Buffer.Span);
        return EndPoint.Create(decoded);
    }

    private static int DescriptorOf(Socket socket) => (int)socket.SafeHandle.DangerousGetHandle();

    private static Socket Listen(EndPoint endPoint, EventLoopOptions options)
    {
        Socket? socket = null;
        try
        {
            socket = ListenSocket.CreateBound(endPoint, options.UnixSocketMode);
            int least = DescriptorOf(socket) + LeastDescriptors;
            if (least > DescriptorCeiling)
            {
                socket.Dispose();
                throw new IOException(
                    $"the process may open {DescriptorCeiling + ReservedDescriptors} files (ulimit -n), but needs at least {least + ReservedDescriptors}");
            }
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
