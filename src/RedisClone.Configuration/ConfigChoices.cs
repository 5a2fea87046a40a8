namespace RedisClone.Configuration;

/// <summary>The values of enumerated parameters, in the order in which error messages list them.</summary>
internal static class ConfigChoices
{
    public static readonly (string, ServerLogLevel)[] LogLevel =
    [
        ("debug", ServerLogLevel.Debug), ("verbose", ServerLogLevel.Verbose), ("notice", ServerLogLevel.Notice),
        ("warning", ServerLogLevel.Warning), ("nothing", ServerLogLevel.Nothing),
    ];

    public static readonly (string, LogFormat)[] LogFormat = [("text", Configuration.LogFormat.Text), ("json", Configuration.LogFormat.Json)];

    public static readonly (string, SupervisedMode)[] Supervised =
    [
        ("upstart", SupervisedMode.Upstart), ("systemd", SupervisedMode.Systemd), ("auto", SupervisedMode.Auto), ("no", SupervisedMode.No),
    ];

    /// <summary>"yes" precedes its synonym "relative", because CONFIG GET prints the first word of a value.</summary>
    public static readonly (string, OomScoreMode)[] OomScoreAdj =
    [
        ("no", OomScoreMode.No), ("yes", OomScoreMode.Relative), ("relative", OomScoreMode.Relative), ("absolute", OomScoreMode.Absolute),
    ];

    public static readonly (string, MaxMemoryPolicy)[] MaxMemoryPolicy =
    [
        ("volatile-lru", Configuration.MaxMemoryPolicy.VolatileLru), ("volatile-lfu", Configuration.MaxMemoryPolicy.VolatileLfu),
        ("volatile-random", Configuration.MaxMemoryPolicy.VolatileRandom), ("volatile-ttl", Configuration.MaxMemoryPolicy.VolatileTtl),
        ("allkeys-lru", Configuration.MaxMemoryPolicy.AllKeysLru),
        ("allkeys-lfu", Configuration.MaxMemoryPolicy.AllKeysLfu), ("allkeys-random", Configuration.MaxMemoryPolicy.AllKeysRandom),
        ("noeviction", Configuration.MaxMemoryPolicy.NoEviction),
    ];

    public static readonly (string, ClusterEndpointType)[] ClusterEndpointType =
    [
        ("ip", Configuration.ClusterEndpointType.Ip), ("hostname", Configuration.ClusterEndpointType.HostName),
        ("unknown-endpoint", Configuration.ClusterEndpointType.Unknown),
    ];

    public static readonly (string, AppendFsync)[] AppendFsync =
        [("everysec", Configuration.AppendFsync.Everysec), ("always", Configuration.AppendFsync.Always), ("no", Configuration.AppendFsync.No)];

    public static readonly (string, ShutdownOptions)[] Shutdown =
    [
        ("default", ShutdownOptions.Default), ("save", ShutdownOptions.Save), ("nosave", ShutdownOptions.NoSave),
        ("now", ShutdownOptions.Now), ("force", ShutdownOptions.Force),
    ];

    public static readonly (string, TlsAuthClients)[] TlsAuthClients =
        [("no", Configuration.TlsAuthClients.No), ("yes", Configuration.TlsAuthClients.Yes), ("optional", Configuration.TlsAuthClients.Optional)];

    public static readonly (string, TlsAuthClientsUser)[] TlsAuthClientsUser =
        [("off", Configuration.TlsAuthClientsUser.Off), ("cn", Configuration.TlsAuthClientsUser.CommonName)];

    public static readonly (string, ProtectedAction)[] Protected =
        [("no", ProtectedAction.No), ("yes", ProtectedAction.Yes), ("local", ProtectedAction.Local)];

    public static readonly (string, bool)[] AclPubsubDefault = [("allchannels", true), ("resetchannels", false)];

    public static readonly (string, DisklessLoad)[] DisklessLoad =
    [
        ("disabled", Configuration.DisklessLoad.Disabled), ("on-empty-db", Configuration.DisklessLoad.OnEmptyDatabase),
        ("swapdb", Configuration.DisklessLoad.Swap),
    ];

    public static readonly (string, TransportKind)[] Transport =
        [("auto", TransportKind.Auto), ("eventloop", TransportKind.EventLoop), ("sockets", TransportKind.Sockets)];
}
