namespace RedisClone.Journal;

/// <summary>Counters of the journal, for INFO.</summary>
/// <param name="Groups">The number of groups written.</param>
/// <param name="Flushes">The number of flushes.</param>
/// <param name="DelayedFlushes">
/// The number of writes under <c>everysec</c> that stopped waiting for a slow flush (<c>aof_delayed_fsync</c>).
/// </param>
/// <param name="FlushMicroseconds">The moving average of the duration of a flush.</param>
public readonly record struct JournalStatistics(
    long Groups, long Flushes, long DelayedFlushes, double FlushMicroseconds);
