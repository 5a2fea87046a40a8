using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Server.Net.Tls;

/// <summary>
/// Adds TLS to an endpoint. A handshake is expensive and does not authenticate the client, so the number of concurrent
/// handshakes and the duration of each are limited. If there are too many, a new one takes the place of the one that has lasted longest,
/// so that clients that stall their handshakes cannot lock out others.
/// </summary>
internal sealed class TlsHandshakes(ServerCore server, TlsServer tls)
{
    private readonly Lock _gate = new();

    /// <summary>The handshakes begin with the one that has lasted longest.</summary>
    private readonly LinkedList<Ticket> _underWay = new();

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
        var ticket = new Ticket(this, connection);
        Take(ticket);
        try
        {
            connection.Features.Set(ticket);
            await next(connection);
        }
        finally
        {
            ticket.Return();
        }
    }

    private void Take(Ticket ticket)
    {
        Ticket? former = null;
        lock (_gate)
        {
            if (_underWay.Count >= Limits.TlsHandshakes)
            {
                former = _underWay.First!.Value;
                _underWay.RemoveFirst();
            }
            _underWay.AddLast(ticket.Node);
        }
        if (former is null) return;
        server.Statistics.Count(RareEvent.RejectedConnection);
        former.Connection.Abort();
    }

    /// <summary>
    /// A place among the concurrent handshakes. It is returned after the handshake, or when the connection ends earlier.
    /// </summary>
    private sealed class Ticket
    {
        private readonly TlsHandshakes _owner;

        public Ticket(TlsHandshakes owner, ConnectionContext connection)
        {
            (_owner, Connection) = (owner, connection);
            Node = new LinkedListNode<Ticket>(this);
        }

        public ConnectionContext Connection { get; }

        /// <summary>The entry in the list; in none if the place was returned or lost.</summary>
        public LinkedListNode<Ticket> Node { get; }

        public void Return()
        {
            lock (_owner._gate) Node.List?.Remove(Node);
        }
    }
}
