using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Metrics;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;
using RedisClone.Transport.Sockets;

namespace RedisClone.Server.Net;

/// <summary>Takes a new connection from the transport, and serves it or refuses it with a reason.</summary>
internal sealed class RedisConnectionHandler(ServerCore server) : ConnectionHandler
{
    public const string TooMany = "-ERR max number of clients reached\r\n";

    private const string Denied =
        "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode " +
        "connections are only accepted from the loopback interface. If you want to connect from external computers to Redis you may adopt one of the " +
        "following solutions: 1) Just disable protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting " +
        "to Redis from the same host the server is running, however MAKE SURE Redis is not publicly accessible from internet if you do so. Use CONFIG " +
        "REWRITE to make this change permanent. 2) Alternatively you can just disable the protected mode by editing the Redis configuration file, and " +
        "setting the protected mode option to 'no', and then restarting the server. 3) If you started the server manually just for testing, restart it " +
        "with the '--protected-mode no' option. 4) Set up an authentication password for the default user. NOTE: You only need to do one of the above " +
        "things in order for the server to start accepting connections from the outside.\r\n";

    private readonly SecurityCheck _security = new(server.Log);
    /// <summary>How often a connection above maxclients looks for room, and the milliseconds in between.</summary>
    private const int Looks = 20, LookMilliseconds = 10;

    private int _served;

    public override async Task OnConnectedAsync(ConnectionContext transport)
    {
        bool fits = TryEnter() || await HasRoomSoonAsync();
        // The event loop has counted its connections before it accepted them, TLS before their handshake.
        bool isCounted = transport.Features.Get<IEventLoopFeature>() is not null || transport.Features.Get<CountedConnection>() is not null;
        bool isOpen = isCounted || server.ClientMemory.TryOpen(isLoop: false);
        try
        {
            if (!isOpen) await WriteAsync(transport, TooMany);
            else if (!fits) await RefuseAsync(transport, TooMany);
            else if (IsDenied(transport)) await RefuseAsync(transport, Denied);
            else await ServeAsync(transport);
        }
        catch (Exception e) when (e is ConnectionResetException or ConnectionAbortedException or OperationCanceledException or IOException)
        {
            server.Log.LogDebug("A connection from {Peer} broke: {Reason}", transport.RemoteEndPoint, e.Message);
        }
        catch (Exception failure)
        {
            // Kestrel would log each failure with its stack.
            server.Failures.ConnectionFailed(failure);
        }
        finally
        {
            if (fits) Interlocked.Decrement(ref _served);
            if (isOpen && !isCounted) server.ClientMemory.Closed();
        }
    }

    private bool TryEnter()
    {
        if (Interlocked.Increment(ref _served) <= server.Config.MaxClients) return true;
        Interlocked.Decrement(ref _served);
        return false;
    }

    /// <summary>
    /// Thousands of clients may connect again at once. Another event loop or thread may see the end of their old connections later than this
    /// one sees the new connections.
    /// </summary>
    private async Task<bool> HasRoomSoonAsync()
    {
        for (int looks = 0; looks < Looks; looks++)
        {
            await Task.Delay(LookMilliseconds);
            if (TryEnter()) return true;
        }
        return false;
    }

    private async Task ServeAsync(ConnectionContext transport)
    {
        KeepAlive(transport);
        IConnectionScheduler scheduler = transport.Features.Get<IConnectionScheduler>() ?? PoolScheduler.Instance;
        var connection = new Connection(server, _security, transport, scheduler);
        LogInByCertificate(transport, connection.Session);
        try
        {
            server.Sessions.Add(connection.Session);
            server.Statistics.Count(RareEvent.AcceptedConnection);
            await connection.RunAsync();
            await connection.DrainAsync();
        }
        finally
        {
            server.Sessions.Remove(connection.Session);
            try
            {
                await connection.LeaveAsync();
            }
            catch (OutOfMemoryException failure)
            {
                // See Connection.RunAsync.
                server.Failures.ConnectionFailed(failure);
            }
            finally
            {
                connection.Session.HeldBytes = 0;
                server.ClientMemory.Forget(connection.Session);
            }
        }
    }

    /// <summary>Authenticates the client as the user that its certificate names, if that user exists and is enabled.</summary>
    private void LogInByCertificate(ConnectionContext transport, Session session)
    {
        if (server.Config.TlsAuthClientsUser != TlsAuthClientsUser.CommonName || server.Config.TlsAuthClients == TlsAuthClients.No) return;
        if (transport.Features.Get<ITlsConnectionFeature>()?.ClientCertificate is not { } certificate) return;
        string name = certificate.GetNameInfo(X509NameType.SimpleName, forIssuer: false);
        if (server.Access.Users.Find(Encoding.UTF8.GetBytes(name)) is not { Permissions.Enabled: true } user) return;
        session.User = user;
        session.Authenticated = true;
    }

    /// <summary>Without a password, only clients on this machine are served.</summary>
    private bool IsDenied(ConnectionContext transport) =>
        server.Config.ProtectedMode && server.Access.Users.Default.Permissions.NoPassword
            && !ClientAddress.IsLocal(transport.RemoteEndPoint, transport.LocalEndPoint);

    private async Task RefuseAsync(ConnectionContext transport, string why)
    {
        server.Statistics.Count(RareEvent.RejectedConnection);
        await WriteAsync(transport, why);
    }

    private static async Task WriteAsync(ConnectionContext transport, string text) =>
        await transport.Transport.Output.WriteAsync(Encoding.ASCII.GetBytes(text));

    /// <summary>
    /// Applies to Kestrel's sockets. The event loop sets keepalive on its listening socket, and accepted sockets inherit it.
    /// </summary>
    private void KeepAlive(ConnectionContext transport)
    {
        try
        {
            if (transport.Features.Get<IConnectionSocketFeature>()?.Socket is { ProtocolType: ProtocolType.Tcp } socket)
                TcpKeepAlive.Apply(socket, server.Config.TcpKeepAlive);
        }
        catch (Exception e) when (e is ObjectDisposedException or SocketException)
        {
            // The client has gone already. The first read ends the connection.
        }
    }
}
