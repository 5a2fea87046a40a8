using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Net.Tls;

/// <summary>
/// Puts TLS under an endpoint. A handshake costs much and proves nothing of the client, so only so many may be under way, each only for so
/// long: whoever stalls them keeps others out for no longer than that.
/// </summary>
internal sealed class TlsHandshakes(ServerCore server, TlsServer tls)
{
    private int _underWay;

    public void Use(ListenOptions listen)
    {
        listen.Use(next => connection => BeginAsync(connection, next));
        listen.UseHttps(new TlsHandshakeCallbackOptions
        {
            HandshakeTimeout = Limits.TlsHandshakePatience,
            OnConnection = _ => ValueTask.FromResult(tls.Options),
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

    /// <summary>A place among the handshakes, given back once: when it is done, or when the connection ends before that.</summary>
    private sealed class Ticket(TlsHandshakes owner)
    {
        private int _returned;

        public void Return()
        {
            if (Interlocked.Exchange(ref _returned, 1) == 0) Interlocked.Decrement(ref owner._underWay);
        }
    }
}
