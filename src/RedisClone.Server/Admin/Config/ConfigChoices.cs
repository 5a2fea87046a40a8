namespace RedisClone.Server.Admin;

/// <summary>The values of enumerated parameters, in the order in which error messages list them.</summary>
internal static class ConfigChoices
{
    public static readonly (string, ServerLogLevel)[] LogLevel =
    [
        ("debug", ServerLogLevel.Debug), ("verbose", ServerLogLevel.Verbose), ("notice", ServerLogLevel.Notice),
        ("warning", ServerLogLevel.Warning), ("nothing", ServerLogLevel.Nothing),
    ];

    public static readonly (string, LogFormat)[] LogFormat = [("text", Admin.LogFormat.Text), ("json", Admin.LogFormat.Json)];

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
        ("volatile-lru", Admin.MaxMemoryPolicy.VolatileLru), ("volatile-lfu", Admin.MaxMemoryPolicy.VolatileLfu),
        ("volatile-random", Admin.MaxMemoryPolicy.VolatileRandom), ("volatile-ttl", Admin.MaxMemoryPolicy.VolatileTtl),
        ("allkeys-lru", Admin.MaxMemoryPolicy.AllKeysLru),
        ("allkeys-lfu", Admin.MaxMemoryPolicy.AllKeysLfu), ("allkeys-random", Admin.MaxMemoryPolicy.AllKeysRandom),
        ("noeviction", Admin.MaxMemoryPolicy.NoEviction),
    ];

    public static readonly (string, AppendFsync)[] AppendFsync =
        [("everysec", Admin.AppendFsync.Everysec), ("always", Admin.AppendFsync.Always), ("no", Admin.AppendFsync.No)];

    public static readonly (string, ShutdownOptions)[] Shutdown =
    [
        ("default", ShutdownOptions.Default), ("save", ShutdownOptions.Save), ("nosave", ShutdownOptions.NoSave),
        ("now", ShutdownOptions.Now), ("force", ShutdownOptions.Force),
    ];

    public static readonly (string, TlsAuthClients)[] TlsAuthClients =
        [("no", Admin.TlsAuthClients.No), ("yes", Admin.TlsAuthClients.Yes), ("optional", Admin.TlsAuthClients.Optional)];

    public static readonly (string, TlsAuthClientsUser)[] TlsAuthClientsUser =
        [("off", Admin.TlsAuthClientsUser.Off), ("cn", Admin.TlsAuthClientsUser.CommonName)];

    public static readonly (string, ProtectedAction)[] Protected =
        [("no", ProtectedAction.No), ("yes", ProtectedAction.Yes), ("local", ProtectedAction.Local)];

    public static readonly (string, bool)[] AclPubsubDefault = [("allchannels", true), ("resetchannels", false)];

    public static readonly (string, TransportKind)[] Transport =
        [("auto", TransportKind.Auto), ("eventloop", TransportKind.EventLoop), ("sockets", TransportKind.Sockets)];
}
