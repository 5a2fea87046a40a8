using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;
using RedisClone.Server.Net.Listening;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Net.Tls;

/// <summary>
/// Adds TLS to an endpoint. A handshake is expensive and does not authenticate the client, so the number of concurrent
/// handshakes and the duration of each are limited. If there are too many, a new one takes the place of the one that has lasted longest,
/// so that clients that stall their handshakes cannot lock out others.
/// </summary>
internal sealed class TlsHandshakes(ServerCore server, TlsServer tls)
{
    private static readonly CountedConnection Counted = new();

    private readonly ConnectionPlaces _places = new(Limits.TlsHandshakes);

    /// <summary>
    /// Counts the memory of a client's connection until TLS is disposed of, and closes the connection if there is none. The client could
    /// read a reason only after a handshake.
    /// </summary>
    public async Task CountAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        bool isOnLoop = connection.Features.Get<ILoopSocketFeature>() is not null;
        // The event loop has counted the connection as one without TLS.
        int bytes = Limits.BytesPerTlsConnection - (isOnLoop ? Limits.BytesPerConnection : 0);
        if (!server.ClientMemory.TryOpen(isLoop: false, bytes)) return;
        try
        {
            connection.Features.Set(Counted);
            if (isOnLoop) await RunOnLoopAsync(connection, next);
            else await next(connection);
        }
        finally
        {
            server.ClientMemory.Closed(bytes);
        }
    }

    public void Use(ListenOptions listen, TlsPeers peers)
    {
        listen.Use(next => connection => BeginAsync(connection, next));
        listen.UseHttps(new TlsHandshakeCallbackOptions
        {
            HandshakeTimeout = Limits.TlsHandshakePatience,
            OnConnection = _ => ValueTask.FromResult(tls.OptionsFor(peers)),
        });
        listen.Use(next => connection =>
        {
            // The place is only for the handshake.
            connection.Features.Get<ConnectionPlaces.Place>()?.Return();
            connection.Features.Get<HandshakePipe>()?.End();
            return next(connection);
        });
    }

    /// <summary>The event loop must not take or send the client's bytes beside TLS.</summary>
    private static async Task RunOnLoopAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        IDuplexPipe socket = connection.Transport;
        var handshake = new HandshakePipe(socket);
        connection.Features.Set<IEventLoopFeature>(null);
        connection.Features.Set(handshake);
        connection.Features.Set<IMemoryPoolFeature>(BlockPools.OfTls);
        connection.Transport = handshake;
        try
        {
            await next(connection);
        }
        finally
        {
            connection.Transport = socket;
        }
    }

    private async Task BeginAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        // Every handshake waits for its peer, so there is always a place.
        if (!_places.TryTake(connection, out ConnectionPlaces.Place? place, out ConnectionContext? former)) return;
        if (former is not null)
        {
            server.Statistics.Count(RareEvent.RejectedConnection);
            former.Abort();
        }
        try
        {
            connection.Features.Set(place);
            await next(connection);
        }
        catch (Exception failure) when (!place.IsReturned && failure is not OutOfMemoryException)
        {
            // Some malformed messages of a client make the handshake fail with other exceptions than those that are handled as failures.
            server.Log.LogDebug("The TLS handshake of {Client} failed: {Reason}", connection.RemoteEndPoint, failure.Message);
        }
        finally
        {
            place.Return();
        }
    }
}
