namespace RedisClone.Configuration;

// The types of parameters that are not numbers, strings or yes/no. ConfigChoices has the names of their values.

internal enum ServerLogLevel { Debug, Verbose, Notice, Warning, Nothing }

internal enum LogFormat { Text, Json }

internal enum SupervisedMode { No, Upstart, Systemd, Auto }

internal enum OomScoreMode { No, Relative, Absolute }

internal enum MaxMemoryPolicy
{
    VolatileLru, VolatileLfu, VolatileRandom, VolatileTtl,
    AllKeysLru, AllKeysLfu, AllKeysRandom,
    NoEviction,
}

internal enum AppendFsync { Everysec, Always, No }

internal enum TlsAuthClients { No, Yes, Optional }

internal enum TlsAuthClientsUser { Off, CommonName }

/// <summary>The connections that may use a feature that is off by default.</summary>
internal enum ProtectedAction { No, Yes, Local }

/// <summary>Where a replica puts the snapshot of its primary.</summary>
internal enum DisklessLoad { Disabled, OnEmptyDatabase, Swap }

/// <summary>The kind of address that a node of a cluster gives to clients.</summary>
internal enum ClusterEndpointType { Ip, HostName, Unknown }

internal enum TransportKind { Auto, EventLoop, Sockets }

[Flags]
internal enum ShutdownOptions { Default = 0, Save = 1, NoSave = 2, Now = 4, Force = 8 }

/// <summary>The classes of keyspace events, and the two kinds of channels, that notify-keyspace-events enables.</summary>
[Flags]
internal enum NotifyFlags
{
    None = 0,
    Keyspace = 1 << 0,
    Keyevent = 1 << 1,
    Generic = 1 << 2,
    String = 1 << 3,
    List = 1 << 4,
    Set = 1 << 5,
    Hash = 1 << 6,
    Zset = 1 << 7,
    Expired = 1 << 8,
    Evicted = 1 << 9,
    Stream = 1 << 10,
    KeyMiss = 1 << 11,
    Module = 1 << 13,
    New = 1 << 14,
    Overwritten = 1 << 15,
    TypeChanged = 1 << 16,

    /// <summary>The letter A. It excludes key misses and new, overwritten and type-changed keys.</summary>
    All = Generic | String | List | Set | Hash | Zset | Expired | Evicted | Stream | Module,
}

/// <summary>Takes a snapshot after this many seconds if there were at least this many changes.</summary>
internal readonly record struct SavePoint(long Seconds, int Changes);

internal enum ClientClass { Normal, Replica, PubSub }

/// <summary>The limits for unread replies in bytes: hard (at once) and soft (for this many seconds). 0 is no limit.</summary>
internal readonly record struct OutputBufferLimit(long Hard, long Soft, int SoftSeconds);

internal sealed record ReplicaOf(string Host, int Port);

/// <summary>A line of a configuration file that is not a parameter: an ACL user or a renamed command.</summary>
internal sealed record ConfigDirective(string[] Words, int Line, string Text);
