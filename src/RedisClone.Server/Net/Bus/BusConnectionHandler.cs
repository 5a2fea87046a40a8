using Microsoft.AspNetCore.Connections;
using RedisClone.Engine;
using RedisClone.Engine.Cluster.Bus;

namespace RedisClone.Server.Net.Bus;

/// <summary>Serves the connections of other nodes of the cluster.</summary>
internal sealed class BusConnectionHandler(ServerCore server) : ConnectionHandler
{
    public override Task OnConnectedAsync(ConnectionContext connection) =>
        server.Cluster is { } cluster ? cluster.Bus.AcceptAsync(new Accepted(connection)) : Task.CompletedTask;

    private sealed class Accepted(ConnectionContext connection) : IBusConnection
    {
        public Stream Input { get; } = connection.Transport.Input.AsStream();

        public Stream Output { get; } = connection.Transport.Output.AsStream();

        public string PeerIp { get; } = BusConnector.IpOf(connection.RemoteEndPoint);

        public string LocalIp { get; } = BusConnector.IpOf(connection.LocalEndPoint);

        public void Dispose() => connection.Abort();
    }
}
