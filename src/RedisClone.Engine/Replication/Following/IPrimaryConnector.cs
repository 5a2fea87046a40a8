namespace RedisClone.Engine.Replication.Following;

/// <summary>Opens connections to a primary, or to the target of MIGRATE. The engine knows no sockets.</summary>
internal interface IPrimaryConnector
{
    /// <summary>Connects. Every failure is an <see cref="IOException"/> with a reason for the log.</summary>
    ValueTask<IPrimaryConnection> ConnectAsync(string host, int port, bool encrypts, CancellationToken end);
}

/// <summary>The other side refused the connection, or cannot be reached. The system knows that without a wait.</summary>
internal sealed class RefusedConnectionException(string reason, Exception cause) : IOException(reason, cause);

/// <summary>The other side has answered PSYNC, but with neither a stream nor a copy of the data.</summary>
internal sealed class RefusedStreamException(string answer) : IOException($"Unexpected reply to PSYNC from master: {answer}")
{
    /// <summary>Whether the other side does not take over because it is a primary already.</summary>
    public bool IsPrimaryAlready => answer.Contains("can't be sent to a master", StringComparison.Ordinal);

    /// <summary>Whether only a replica answers so. Before it looks at its role, a server may be busy, or deny the command to the user.</summary>
    public bool IsOfReplica =>
        answer.StartsWith("-NOMASTERLINK", StringComparison.Ordinal) || answer.Contains("must match my replid", StringComparison.Ordinal);
}

/// <summary>The primary's data could not be stored or loaded. The next attempt is likely to end in the same way.</summary>
internal sealed class UnloadableCopyException(string reason) : IOException(reason)
{
    public static UnloadableCopyException Unwritable(Exception failure) =>
        new($"The snapshot of the master cannot be written to the disk: {failure.Message}");
}

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
