namespace RedisClone.Engine.Commands;

/// <summary>What the server must know about a command before it runs. The names are those of COMMAND INFO.</summary>
[Flags]
internal enum CommandFlags
{
    None = 0,
    Write = 1 << 0,
    ReadOnly = 1 << 1,
    DenyOom = 1 << 2,
    Admin = 1 << 3,
    PubSub = 1 << 4,
    NoScript = 1 << 5,
    Blocking = 1 << 6,
    Loading = 1 << 7,
    Stale = 1 << 8,
    SkipMonitor = 1 << 9,
    SkipSlowLog = 1 << 10,
    Fast = 1 << 11,
    NoAuth = 1 << 12,
    MayReplicate = 1 << 13,
    NoMulti = 1 << 14,
    AllowBusy = 1 << 15,
    NoAsyncLoading = 1 << 17,
    NoMandatoryKeys = 1 << 18,
    Protected = 1 << 19,

    /// <summary>Runs a script, whose commands are not known before.</summary>
    RunsScript = 1 << 16,

    /// <summary>
    /// May fail halfway for lack of memory, and a second run leads to the data of a whole one. A replay then repeats it.
    /// </summary>
    Repeatable = 1 << 20,

    /// <summary>Takes memory for data, so it is refused while the heap is nearly full, but unlike DenyOom not at maxmemory.</summary>
    NeedsRoom = 1 << 23,

    /// <summary>May change its keys in other databases than that of the session (MOVE, COPY).</summary>
    AnyDatabase = 1 << 24,

    /// <summary>Needs every shard (KEYS, FLUSHALL, functions …).</summary>
    AllShards = 1 << 25,

    /// <summary>Always takes long, so it always runs on a worker.</summary>
    Long = 1 << 26,

    /// <summary>Takes memory outside the data (SUBSCRIBE, WATCH …), so it is refused while the heap is full.</summary>
    Grows = 1 << 27,

    /// <summary>Runs at once inside MULTI instead of being queued (EXEC, DISCARD, WATCH, RESET, QUIT …).</summary>
    NotQueued = 1 << 28,

    /// <summary>Allowed for a RESP2 client with subscriptions.</summary>
    InSubscribedMode = 1 << 29,

    /// <summary>
    /// The reply says nothing about the data in the held shards, so it does not wait until their changes are durable.
    /// </summary>
    Blind = 1 << 30,
}

/// <summary>The arguments of a command that are channels, which the user must be allowed to use.</summary>
internal enum ChannelUse
{
    None,
    First,
    Each,

    /// <summary>Each argument is a pattern to subscribe to.</summary>
    EachPattern,
}

/// <summary>How a command uses a key, as COMMAND GETKEYSANDFLAGS shows it.</summary>
[Flags]
internal enum KeyFlags
{
    None = 0,

    // The use of the key: read, read and written, overwritten without a read, removed.
    RO = 1, RW = 2, OW = 4, RM = 8,

    // The use of the data in it: returned or copied, changed depending on it, added to, deleted from.
    Access = 16, Update = 32, Insert = 64, Delete = 128,
    NotKey = 256, Incomplete = 512, VariableFlags = 1024,
}
