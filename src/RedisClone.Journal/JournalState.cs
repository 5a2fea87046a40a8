namespace RedisClone.Journal;

/// <summary>When the journal is flushed: the setting <c>appendfsync</c>.</summary>
public enum FlushPolicy
{
    Always,
    EverySecond,
    No,
}

/// <summary>What the journal is doing.</summary>
public enum JournalState
{
    /// <summary>There is no journal; units are given positions and forgotten.</summary>
    Off,

    Running,

    /// <summary>Writing to a new increment whose base is not complete: nothing becomes durable until it is.</summary>
    Rebuilding,

    /// <summary>A write or a flush has failed. That is final, until a rebuild on healthy storage succeeds.</summary>
    Failed,
}
