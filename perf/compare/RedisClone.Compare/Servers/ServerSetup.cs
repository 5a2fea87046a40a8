using System.Net;
using System.Net.Sockets;

namespace RedisClone.Compare.Servers;

internal enum Durability
{
    /// <summary>Nothing is written to disk.</summary>
    None,

    /// <summary>A journal with an fsync every second.</summary>
    EverySecond,

    /// <summary>A journal with an fsync before each reply.</summary>
    Always,
}

/// <summary>The kind of the connections of a load. The requests around a load use TCP in each case.</summary>
internal enum Link
{
    Tcp,
    Unix,
    Tls,
}

/// <summary>The settings of a server for a workload, for all kinds of servers.</summary>
internal sealed record ServerSetup(int Port, string Directory, IReadOnlyList<int> Cores, Durability Durability)
{
    public Link Link { get; init; }

    /// <summary>The port of TLS. It is used only with <see cref="Link.Tls"/>.</summary>
    public int TlsPort { get; init; }

    /// <summary>The port of the studio and the metrics; 0 if no figures are read.</summary>
    public int HttpPort { get; init; }

    /// <summary>The port of the cluster bus; 0 if the server is not a node of a cluster.</summary>
    public int ClusterPort { get; init; }

    public string Socket => Path.Combine(Directory, "socket");

    /// <summary>The endpoint of a load without TLS.</summary>
    public EndPoint EndPoint => Link == Link.Unix ? new UnixDomainSocketEndPoint(Socket) : new IPEndPoint(IPAddress.Loopback, Port);
}
