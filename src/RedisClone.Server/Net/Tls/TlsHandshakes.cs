using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Server.Net.Tls;

/// <summary>
/// Adds TLS to an endpoint. A handshake is expensive and does not authenticate the client, so the number of concurrent
/// handshakes and the duration of each are limited. A client that stalls them can delay others only for that long.
/// </summary>
internal sealed class TlsHandshakes(ServerCore server, TlsServer tls)
{
    private int _underWay;

    public void Use(ListenOptions listen, bool forBrowsers = false)
    {
        listen.Use(next => connection => BeginAsync(connection, next));
        listen.UseHttps(new TlsHandshakeCallbackOptions
        {
            HandshakeTimeout = Limits.TlsHandshakePatience,
            OnConnection = _ => ValueTask.FromResult(forBrowsers ? tls.BrowserOptions : tls.Options),
        });
        listen.Use(next => connection =>
        {
            connection.Features.Get<Ticket>()?.Return();
            return next(connection);
        });
    }

    private async Task BeginAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        var ticket = new Ticket(this);
        try
        {
            if (Interlocked.Increment(ref _underWay) > Limits.TlsHandshakes)
            {
                server.Statistics.Count(RareEvent.RejectedConnection);
                connection.Abort();
                return;
            }
            connection.Features.Set(ticket);
            await next(connection);
        }
        finally
        {
            ticket.Return();
        }
    }

    /// <summary>
    /// A place among the concurrent handshakes. It is returned once: after the handshake, or when the connection ends earlier.
    /// </summary>
    private sealed class Ticket(TlsHandshakes owner)
    {
        private int _returned;

        public void Return()
        {
            if (Interlocked.Exchange(ref _returned, 1) == 0) Interlocked.Decrement(ref owner._underWay);
        }
    }
}
