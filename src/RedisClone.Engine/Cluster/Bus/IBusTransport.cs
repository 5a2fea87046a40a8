namespace RedisClone.Engine.Cluster.Bus;

/// <summary>A connection between two nodes. <see cref="IDisposable.Dispose"/> also ends pending reads and writes.</summary>
internal interface IBusConnection : IDisposable
{
    Stream Input { get; }

    Stream Output { get; }

    /// <summary>The IP address of the other node.</summary>
    string PeerIp { get; }

    /// <summary>The IP address of this node in this connection.</summary>
    string LocalIp { get; }
}

/// <summary>Connects to the bus of other nodes. The engine knows no sockets.</summary>
internal interface IBusConnector
{
    /// <summary>Connects. Every failure is an <see cref="IOException"/>.</summary>
    ValueTask<IBusConnection> ConnectAsync(string ip, int port, CancellationToken end);
}
