namespace RedisClone.Server.Commands;

/// <summary>What the server needs to know of a command before it runs it; the names are those that COMMAND INFO shows.</summary>
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

    /// <summary>Changes the session or the order of things for what follows (AUTH, SELECT, MULTI …): ends a prefetched batch.</summary>
    EndsBatch = 1 << 24,

    /// <summary>Needs every shard (KEYS, FLUSHALL, scripts …).</summary>
    AllShards = 1 << 25,

    /// <summary>Long by kind: never run on an I/O thread.</summary>
    Long = 1 << 26,

    /// <summary>Takes memory that is none of the data's (SUBSCRIBE, WATCH …): refused while the heap is full.</summary>
    Grows = 1 << 27,

    /// <summary>Runs right away inside MULTI instead of being queued (EXEC, DISCARD, WATCH, RESET, QUIT …).</summary>
    NotQueued = 1 << 28,

    /// <summary>Allowed for a RESP2 client that is in subscribed mode.</summary>
    InSubscribedMode = 1 << 29,

    /// <summary>Answers nothing about the data in the shards that it holds: its reply does not wait until that is durable.</summary>
    Blind = 1 << 30,
}

/// <summary>Which arguments of a command are channels that a user must be allowed to use.</summary>
internal enum ChannelUse
{
    None,
    First,
    Each,

    /// <summary>Patterns to listen by.</summary>
    EachPattern,
}

/// <summary>What a command does with a key that it names, as COMMAND GETKEYSANDFLAGS tells.</summary>
[Flags]
internal enum KeyFlags
{
    None = 0,

    // The key: read, read and written, overwritten unread, removed.
    RO = 1, RW = 2, OW = 4, RM = 8,

    // What users keep in it: told or copied, changed by what is there, added to, deleted from.
    Access = 16, Update = 32, Insert = 64, Delete = 128,
    NotKey = 256, Incomplete = 512, VariableFlags = 1024,
}
