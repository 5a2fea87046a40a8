namespace RedisClone.Journal;

/// <summary>The times at which the journal is flushed: the setting <c>appendfsync</c>.</summary>
public enum FlushPolicy
{
    Always,
    EverySecond,
    No,
}

/// <summary>The state of the journal.</summary>
public enum JournalState
{
    /// <summary>There is no journal. Units receive positions and are discarded.</summary>
    Off,

    Running,

    /// <summary>
    /// The journal writes to a new increment whose base is not complete. Nothing becomes durable before the base is
    /// installed.
    /// </summary>
    Rebuilding,

    /// <summary>
    /// A write or a flush has failed. The state lasts until a rebuild on working storage succeeds, or, if only space was missing, until the
    /// write succeeds.
    /// </summary>
    Failed,
}
