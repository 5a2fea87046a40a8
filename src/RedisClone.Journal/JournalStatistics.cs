namespace RedisClone.Journal;

/// <summary>Counters of the writing, for INFO.</summary>
/// <param name="Groups">Groups written.</param>
/// <param name="Flushes">Flushes done.</param>
/// <param name="DelayedFlushes">
/// Writes of <c>everysec</c> that did not wait for a slow flush any longer (<c>aof_delayed_fsync</c>).
/// </param>
/// <param name="FlushMicroseconds">What a flush took lately, averaged.</param>
public readonly record struct JournalStatistics(
    long Groups, long Flushes, long DelayedFlushes, double FlushMicroseconds);
