namespace RedisClone.Engine.Replication.Following;

/// <summary>Opens connections to a primary, or to the target of MIGRATE. The engine knows no sockets.</summary>
internal interface IPrimaryConnector
{
    /// <summary>Connects. Every failure is an <see cref="IOException"/> with a reason for the log.</summary>
    ValueTask<IPrimaryConnection> ConnectAsync(string host, int port, bool encrypts, CancellationToken end);
}

/// <summary>The other side refused the connection, or cannot be reached. The system knows that without a wait.</summary>
internal sealed class RefusedConnectionException(string reason, Exception cause) : IOException(reason, cause);

/// <summary>The primary's data were received and could not be loaded. The next attempt is likely to end in the same way.</summary>
internal sealed class UnloadableCopyException(string reason) : IOException(reason);

/// <summary>A connection to a primary. <see cref="IDisposable.Dispose"/> also ends a pending read.</summary>
internal interface IPrimaryConnection : IDisposable
{
    Stream Stream { get; }

    /// <summary>The address of the primary, as CLIENT LIST shows it.</summary>
    string PeerName { get; }

    string LocalName { get; }

    /// <summary>The descriptor of the socket, or -1.</summary>
    long Descriptor { get; }
}
