using System.Globalization;

namespace RedisClone.Engine.Migrating;

/// <summary>Where a MIGRATE transfers keys to, as the client named it.</summary>
internal sealed record MigrationTarget(string Host, string Port, long Database, string? User, string? Password)
{
    /// <summary>Whether this server and the target are nodes of a cluster. The target then imports the slots of the keys.</summary>
    public bool IsInCluster { get; init; }

    /// <summary>The name of cached connections to the target.</summary>
    public string Address => $"{Host}:{Port}";

    /// <summary>The port as a number; 0, to which no connection succeeds, for anything else.</summary>
    public int PortNumber => int.TryParse(Port, CultureInfo.InvariantCulture, out int port) && port is > 0 and <= ushort.MaxValue ? port : 0;
}
