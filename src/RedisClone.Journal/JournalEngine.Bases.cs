using System.Diagnostics;
using RedisClone.Journal.Format;

namespace RedisClone.Journal;

/// <summary>The rewrites: a new base replaces the files before it, while the stream goes on.</summary>
public sealed partial class JournalEngine
{
    /// <summary>The longest flush that may be left for the end of an increment, and the flushes that are made for that.</summary>
    private static readonly TimeSpan ShortFlush = TimeSpan.FromMilliseconds(2);
    private const int FlushesAhead = 4;

    /// <summary>
    /// Flushes while event loops execute and reply, before <see cref="SwitchIncrement"/>. The end of an increment waits for a
    /// flush, and replies may wait for it. What is written during a flush is left for the next, which is shorter.
    /// </summary>
    public void FlushAhead()
    {
        if (!IsKeeping)
        {
            // A rebuild takes this lock while all shards are held, and a flush of the journal that failed may still be running. The next
            // attempt to continue waits for the rebuild.
            lock (_flushGate) Volatile.Write(ref _nextAttempt, Stopwatch.GetTimestamp() + Stopwatch.Frequency);
            return;
        }
        for (int i = 0; i < FlushesAhead && IsKeeping && Policy != FlushPolicy.Always; i++)
        {
            lock (_flushGate)
            {
                long took = FlushBeside(mayPostpone: Policy == FlushPolicy.EverySecond);
                // The flush of the next second would delay the switch.
                Volatile.Write(ref _nextFlush, Stopwatch.GetTimestamp() + Stopwatch.Frequency);
                if (took < ShortFlush.TotalSeconds * Stopwatch.Frequency) return;
            }
        }
    }

    /// <summary>
    /// Ends the increment at the current position and returns that position. The caller then writes a base for the
    /// position as <see cref="JournalNames.TemporaryBase"/> and calls <see cref="InstallBase"/> or
    /// <see cref="AbandonBase"/>. The caller holds all shards. The call performs no I/O. Only one base may be in
    /// progress.
    /// </summary>
    public long SwitchIncrement()
    {
        long lsn = _buffer.Switch();
        WakeThread();
        return lsn;
    }

    /// <summary>
    /// Restarts a journal that is off or has failed. If it has continued by itself, the call only ends the increment. The stream is kept
    /// again from the returned position on, for which the caller writes a base as for <see cref="SwitchIncrement"/>. Nothing becomes
    /// durable before that base is installed. The caller holds all shards.
    /// </summary>
    /// <param name="directory">The files.</param>
    /// <param name="lack">
    /// Why the files are not those of the data, or an empty string. The journal has failed then if the rebuild fails.
    /// </param>
    public long BeginRebuild(JournalDirectory directory, string lack = "")
    {
        lock (_flushGate)
            lock (_role)
            {
                if (State == JournalState.Rebuilding) throw new InvalidOperationException("A journal that is rebuilt cannot be rebuilt.");
                if (State == JournalState.Running)
                {
                    // A journal that awaited space has continued meanwhile.
                    WakeThread();
                    return _buffer.Switch();
                }
                if (lack.Length > 0) Volatile.Write(ref _failure, lack);
                long lsn = _writer.BeginRebuild(directory, recovers: lack.Length > 0);
                if (LostAfter != long.MaxValue) Volatile.Write(ref _lostUpTo, lsn);
                return lsn;
            }
    }

    /// <summary>
    /// Installs the complete base for position <paramref name="lsn"/>. It replaces the older files, which are deleted.
    /// Returns null, or the reason for a failure. The rewrite ends in both cases.
    /// </summary>
    public string? InstallBase(long lsn, bool rdb)
    {
        string? error = TryInstallBase(lsn, rdb);
        if (error is null) DeleteHistory();
        else Guarded(_writer.DeleteBase, isFinal: false);
        return error;
    }

    public void AbandonBase()
    {
        lock (_flushGate)
            lock (_role)
                Abandon();
    }

    private string? TryInstallBase(long lsn, bool rdb)
    {
        lock (_flushGate)
        {
            string? error = null;
            bool onlyAppends;
            lock (_role)
            {
                if (!_writer.HasSwitched(lsn)) Write(flush: false, maySwitch: true);
                if (!IsKeeping) return State == JournalState.Failed ? Failure : "the journal was turned off";
                if (!_writer.HasSwitched(lsn)) return "the next increment could not be created";
                onlyAppends = _writer.OnlyAppends;
                if (!onlyAppends && (error = Guarded(() => _writer.InstallBase(lsn, rdb), isFinal: false)) is null) NothingIsLost();
            }
            // Replies do not wait for the disk here, because writes go on.
            if (onlyAppends) error = Guarded(() => _writer.InstallBase(lsn, rdb), isFinal: false);
            lock (_role)
            {
                if (error is null)
                {
                    NotifyObserver();
                    return null;
                }
                // While the journal runs, the old base and all increments are still a complete journal. A rebuild, however, has
                // failed.
                if (State != JournalState.Failed) Volatile.Write(ref _failure, error);
                Abandon();
                return error;
            }
        }
    }

    /// <summary>
    /// Abandons the base. Clients that wait for a failed rebuild would wait forever, so the observer is called to check
    /// the state again.
    /// </summary>
    private void Abandon()
    {
        _writer.AbandonBase();
        if (LostAfter != long.MaxValue) Volatile.Write(ref _lostUpTo, long.MaxValue);
        NotifyObserver();
    }

    /// <summary>
    /// Deletes the files that the manifest lists as history. Deleting gigabytes takes time, so no lock is held and
    /// writes continue. After a crash, the next start deletes the remaining files.
    /// </summary>
    private void DeleteHistory()
    {
        IReadOnlyList<ManifestFile> files;
        lock (_role) files = _writer.History;
        if (files.Count == 0) return;
        Guarded(() => _writer.DeleteFiles(files), isFinal: false);
        lock (_flushGate)
        {
            lock (_role)
            {
                if (!_writer.OnlyAppends)
                {
                    Guarded(() => _writer.Forget(files), isFinal: false);
                    return;
                }
            }
            Guarded(() => _writer.Forget(files), isFinal: false);
        }
    }
}
