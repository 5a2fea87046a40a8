using System.Net;
using RedisClone.Configuration;
using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Replication.Following;

namespace RedisClone.Server.Net.Bus;

/// <summary>Connects to the bus of other nodes, by TCP or TLS.</summary>
internal sealed class BusConnector(IPrimaryConnector connector, ServerConfig config) : IBusConnector
{
    public async ValueTask<IBusConnection> ConnectAsync(string ip, int port, CancellationToken end) =>
        new Connected(await connector.ConnectAsync(ip, port, config.TlsCluster, end));

    /// <summary>The IP address of one side of a connection, in the form of messages of the bus.</summary>
    public static string IpOf(EndPoint? side)
    {
        if (side is not IPEndPoint { Address: { } address }) return "";
        return (address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address).ToString();
    }

    private sealed class Connected(IPrimaryConnection connection) : IBusConnection
    {
        public Stream Input => connection.Stream;

        public Stream Output => connection.Stream;

        public string PeerIp { get; } = Ip(connection.PeerName);

        public string LocalIp { get; } = Ip(connection.LocalName);

        public void Dispose() => connection.Dispose();

        /// <summary>The address in a name of a client, such as 127.0.0.1:6379 or [::1]:6379.</summary>
        private static string Ip(string name) => IPEndPoint.TryParse(name, out IPEndPoint? side) ? IpOf(side) : "";
    }
}
