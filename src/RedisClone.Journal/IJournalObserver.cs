namespace RedisClone.Journal;

/// <summary>
/// Receives the progress of the journal. The calls come from the thread that holds the writer role, so an
/// implementation must only pass the information on.
/// </summary>
public interface IJournalObserver
{
    /// <summary>The stream is durable up to this position. Positions never decrease.</summary>
    void OnDurable(long lsn);

    /// <summary>
    /// The position up to which the stream was passed to the operating system has moved, without a flush. Or writes are
    /// postponed from now on, because a flush runs beside them.
    /// </summary>
    void OnWritten() { }

    /// <summary>A group of this number of bytes was written.</summary>
    void OnGroup(long bytes) { }

    /// <summary>A flush took this number of stopwatch ticks. Under <c>always</c>, replies may have waited for it.</summary>
    void OnFlushed(long ticks) { }

    /// <summary>A write or a flush failed. Nothing more becomes durable until a rebuild succeeds, or <see cref="OnResumed"/> is called.</summary>
    void OnFailed(string reason);

    /// <summary>A journal that awaited space continues. Everything before is durable.</summary>
    void OnResumed() { }
}
