using System.Buffers;
using System.Diagnostics;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal;

/// <summary>
/// The group-commit engine of the journal. All shards append to one stream. The thread that holds the writer role takes
/// everything that is pending and writes it as one group with one flush, while execution continues.
/// </summary>
/// <remarks>
/// The fsync policy decides which thread writes. With <c>always</c> the journal thread writes, so that event loops
/// execute and reply during a flush. It first lets the loops that are in a round finish, for less than the time of one
/// flush, because a group of fifty units costs no more than a group of one. A single unit gains nothing from this. Its
/// event loop writes it directly and saves two thread switches. With <c>everysec</c> and <c>no</c> replies wait for the
/// write, but not for a flush. Each loop writes the pending units at the end of its round, as Redis does, and the journal
/// thread flushes.
/// </remarks>
public sealed partial class JournalEngine : IDisposable
{
    /// <summary>
    /// The longest time for which writes are postponed while a flush is running. Redis postpones them for twice as
    /// long.
    /// </summary>
    private static readonly TimeSpan LongestPostponement = TimeSpan.FromSeconds(1);

    /// <summary>An event loop writes directly if at most this number of units is pending.</summary>
    private const int LonelyUnits = 1;

    private readonly MergeBuffer _buffer;
    private readonly JournalWriter _writer;
    private readonly IJournalObserver _observer;
    private readonly RoundTracker _rounds;
    private readonly WakeEvent _wake = new();
    private readonly SideFlush _sideFlush = new();
    private readonly Thread _thread;

    // The lock _role is the writer role. A flush that runs concurrently with writes holds _flushGate. A thread that replaces the
    // file takes both locks, _flushGate first.
    private readonly Lock _role = new();
    private readonly Lock _flushGate = new();

    private int _policy;
    private int _threadWaits;
    private bool _stopping;
    private bool _untold;
    private long _sideFlushStart;
    private long _nextFlush;
    private long _nextAttempt;
    private long _groups, _flushes, _delayedFlushes;
    private double _flushTicks;
    private string _failure = "";

    // After a failure, until a rebuild is installed: the stream after the first position was not written, up to the second.
    private long _lostAfter = long.MaxValue, _lostUpTo;

    /// <param name="loops">The number of event loops that report their rounds.</param>
    /// <param name="policy">The setting <c>appendfsync</c>.</param>
    /// <param name="observer">Receives the durable position and failures.</param>
    /// <param name="reserved">
    /// Bytes of pending units for which memory is allocated when the stream begins, for a process with a limited heap. 0 if it is
    /// allocated as needed.
    /// </param>
    public JournalEngine(int loops, FlushPolicy policy, IJournalObserver observer, long reserved = 0)
    {
        WriterTuning tuning = WriterTuning.Default;
        if (reserved > 0)
        {
            int segments = (int)(reserved / tuning.SegmentSize) + 1;
            tuning = tuning with { FirstSegments = segments, KeptSegments = segments };
        }
        _buffer = new(tuning);
        _writer = new(_buffer, tuning);
        _observer = observer;
        _rounds = new(loops);
        _policy = (int)policy;
        _thread = new(Run) { IsBackground = true, Name = "journal" };
        _thread.Start();
    }

    public JournalState State => _writer.State;

    /// <summary>The reason for the failure of the journal, or an empty string if it has not failed.</summary>
    public string Failure => State == JournalState.Failed ? Volatile.Read(ref _failure) : "";

    /// <summary>The reason of the failure that a running rebuild recovers from; otherwise empty.</summary>
    public string RecoversFrom => _writer.IsRecovering ? Volatile.Read(ref _failure) : "";

    /// <summary>The end of the stream: the position after the last appended unit.</summary>
    public long Lsn => _buffer.Lsn;

    public long WrittenLsn => _writer.WrittenLsn;

    public long DurableLsn => _writer.DurableLsn;

    /// <summary>
    /// After a failure, until a rebuild is installed: the position after which the stream was not written. Otherwise <see
    /// cref="long.MaxValue"/>.
    /// </summary>
    public long LostAfter => Volatile.Read(ref _lostAfter);

    /// <summary>Whether what ends at this position is in memory only, because of a failure.</summary>
    public bool IsLost(long lsn) => lsn > LostAfter && lsn <= Volatile.Read(ref _lostUpTo);

    /// <summary>
    /// The number of bytes in memory that are not yet written. Callers check it before they append, and wait if it is
    /// too high.
    /// </summary>
    public long BytesPending => IsKeeping ? _buffer.Lsn - _writer.WrittenLsn : 0;

    /// <summary>The length of the current increment, for INFO and for the triggers of a rewrite.</summary>
    public long IncrementSize => _writer.IncrementSize;

    /// <summary>
    /// The name of the current increment. Empty before the first write if that write opens a new increment.
    /// </summary>
    public string IncrementName => _writer.IncrementName;

    public FlushPolicy Policy
    {
        get => (FlushPolicy)Volatile.Read(ref _policy);
        set
        {
            Volatile.Write(ref _policy, (int)value);
            _wake.Set();
        }
    }

    /// <summary>
    /// Whether event loops do not write until a flush has ended, because a write to a file that is flushed may take as long as
    /// the flush. If the increment ends meanwhile, nothing is written until the flush has ended, and the result is false.
    /// </summary>
    public bool PostponesWrites =>
        !_buffer.IsSwitching && Volatile.Read(ref _sideFlushStart) is not 0 and long start && Stopwatch.GetElapsedTime(start) < LongestPostponement;

    /// <summary>
    /// Whether the journal has failed because a write found no space. It continues by itself once there is space. A rebuild would need more.
    /// </summary>
    public bool AwaitsSpace => _writer.AwaitsSpace;

    /// <summary>The most bytes that are kept while the journal awaits space.</summary>
    public long MostKept { get; init; } = 64 << 20;

    /// <summary>Simulates a slow disk in tests.</summary>
    public TimeSpan DelayBeforeWrites { get; set; }

    public JournalStatistics Statistics => new(
        Volatile.Read(ref _groups), Volatile.Read(ref _flushes), Volatile.Read(ref _delayedFlushes),
        _flushTicks * 1e6 / Stopwatch.Frequency);

    /// <summary>
    /// Starts the journal after recovery: truncates the files that recovery cut, flushes them and opens a new
    /// increment. Returns null, or the reason for a failure.
    /// </summary>
    /// <remarks>
    /// If only the space for the new increment is missing, the result is null and the journal has failed, as it fails while it
    /// runs. What recovery has read is durable then, and a rebuild continues the journal.
    /// </remarks>
    public string? Start(JournalDirectory directory, JournalReport report)
    {
        if (Lsn > report.Lsn)
            throw new InvalidOperationException("The stream has advanced without a journal. It requires a rebuild.");
        lock (_flushGate)
            lock (_role)
            {
                Manifest kept = Manifest.Empty;
                if (Guarded(() => kept = _writer.TakeOver(directory, report), isFinal: true) is { } error) return error;
                try
                {
                    _writer.Begin(report, kept);
                    NothingIsLost();
                    return null;
                }
                catch (Exception failure)
                {
                    Fail(failure);
                    return DiskFailure.IsLackOfSpace(failure) && !directory.Manifest.IsEmpty ? null : TextOf(failure);
                }
            }
    }

    /// <summary>
    /// Appends one unit (a command, or MULTI to EXEC, as RESP) and returns the position after it. The caller holds the
    /// shards of the unit. A unit that selects its databases itself is appended with database -1 and spells its SELECT
    /// commands in lower case. The call performs no I/O.
    /// </summary>
    public long Append(int database, ReadOnlySpan<byte> unit) => _buffer.Append(database, unit);

    /// <summary>Appends one unit without copying it. Its array must not change any more.</summary>
    /// <inheritdoc cref="Append(int, ReadOnlySpan{byte})"/>
    public long AppendGiven(int database, ArraySegment<byte> unit) => _buffer.AppendGiven(database, unit);

    /// <inheritdoc cref="Append(int, ReadOnlySpan{byte})"/>
    public long Append(int database, in ReadOnlySequence<byte> unit) => _buffer.Append(database, unit);

    /// <summary>
    /// An event loop calls this when it has found readable sockets, before it reads and executes their commands.
    /// </summary>
    public void RoundStarting(int loop) => _rounds.Start(loop);

    /// <summary>
    /// An event loop calls this after it has executed its commands and released all shards. Its units may be durable
    /// when the call returns.
    /// </summary>
    public void RoundEnding(int loop)
    {
        _rounds.End(loop);

        // Race: the journal thread sets its wait flag and then checks for rounds and pending units, and the loop does
        // the two steps in the opposite order. Without a full fence on both sides each could miss the other's change.
        Interlocked.MemoryBarrier();
        if (!_buffer.HasPending || !IsKeeping) return;
        if (Policy == FlushPolicy.Always)
        {
            if (_buffer.OpenUnits > LonelyUnits || !TryWriteHere(flush: true)) WakeThread();
        }
        else
        {
            WriteOrWake();
        }
    }

    /// <summary>Called by a producer that is not an event loop, after it has released its shards.</summary>
    public void Appended()
    {
        Interlocked.MemoryBarrier();
        if (!_buffer.HasPending) return;
        if (Policy != FlushPolicy.Always && IsKeeping) WriteOrWake();
        else WakeThread();
    }

    /// <summary>Has the journal thread write what was appended. The call performs no I/O, so the caller may hold shards.</summary>
    public void Hurry()
    {
        Interlocked.MemoryBarrier();
        if (_buffer.HasPending) WakeThread();
    }

    /// <summary>
    /// Called ten times a second, without any shard held. Writes the units that a long flush postponed, in case no
    /// later round writes them.
    /// </summary>
    public void Tend()
    {
        Appended();
    }

    /// <summary>
    /// Writes and flushes everything appended so far, on the calling thread. Returns false if the journal has failed or
    /// is off.
    /// </summary>
    public bool Flush()
    {
        lock (_flushGate)
            lock (_role)
                return IsKeeping && Write(flush: true, maySwitch: true);
    }

    /// <summary>
    /// Copies the journal, as of one moment, into a directory that must not exist yet. The journal continues during the
    /// copy, and a server can start from the copy. Returns null, or the reason for a failure.
    /// </summary>
    public string? Backup(JournalNames target)
    {
        JournalDirectory source;
        Manifest manifest;
        long lastLength;
        lock (_flushGate)
            lock (_role)
            {
                if (State != JournalState.Running || !Write(flush: true, maySwitch: true))
                    return "there is no complete journal";
                (source, manifest, lastLength) = _writer.Extent;
                _writer.Backups++;
            }
        try
        {
            return JournalBackup.Copy(source, manifest, lastLength, target);
        }
        finally
        {
            lock (_role) _writer.Backups--;
            DeleteHistory();
        }
    }

    /// <summary>
    /// Writes and flushes everything, seals the increment and turns the journal off. The journal can be started again.
    /// </summary>
    public string? Stop()
    {
        lock (_flushGate)
            lock (_role)
            {
                string? unsaved = AwaitsSpace ? Guarded(_writer.Resume, isFinal: false) : null;
                string? error = Guarded(_writer.Stop, isFinal: true);
                if (error is not null) return error;
                NothingIsLost();
                NotifyObserver();
                return unsaved;
            }
    }

    public void Dispose()
    {
        Volatile.Write(ref _stopping, true);
        _wake.Set();
        _thread.Join();
        Stop();
        _sideFlush.Dispose();
        _wake.Dispose();
    }

    private bool IsKeeping => State is JournalState.Running or JournalState.Rebuilding;

    /// <summary>Writes without a flush on the calling thread. If that is not possible now, the journal thread does it.</summary>
    private void WriteOrWake()
    {
        if (MayWriteDuringFlush() && !TryWriteHere(flush: false)) WakeThread();
    }

    /// <summary>
    /// Writes on the calling thread unless another thread is writing. Returns false if units remain for the journal
    /// thread.
    /// </summary>
    private bool TryWriteHere(bool flush)
    {
        if (!_role.TryEnter()) return false;
        try
        {
            Write(flush, maySwitch: false);
        }
        finally
        {
            _role.Exit();
        }

        // Race: a producer that found the role taken relies on its holder. The producer appends before it tries to take
        // the role, so this thread checks for pending units after releasing it.
        Interlocked.MemoryBarrier();
        return !_buffer.HasPending;
    }

    /// <summary>
    /// Writes the pending units, and flushes them if <paramref name="flush"/> is set. The caller holds the writer role.
    /// Returns false on failure.
    /// </summary>
    private bool Write(bool flush, bool maySwitch)
    {
        // The caller checked the state before it took the role.
        if (!IsKeeping) return false;
        try
        {
            bool fillAhead = Policy == FlushPolicy.Always;
            if (DelayBeforeWrites > TimeSpan.Zero && _buffer.HasPending) Thread.Sleep(DelayBeforeWrites);
            for (long written = _writer.WrittenLsn; _writer.WriteNext(fillAhead, maySwitch); written = _writer.WrittenLsn)
            {
                _groups++;
                _observer.OnGroup(_writer.WrittenLsn - written);
            }
            if (!flush || !_writer.HasUnflushed)
            {
                NotifyWritten();
                return true;
            }
            long start = Stopwatch.GetTimestamp();
            _writer.Flush();
            long took = Stopwatch.GetTimestamp() - start;
            _flushTicks += (took - _flushTicks) / 8;
            _observer.OnFlushed(took);
            _flushes++;
        }
        catch (Exception error)
        {
            Fail(error, mayResume: DiskFailure.IsLackOfSpace(error));
            return false;
        }
        NotifyObserver();
        return true;
    }

    private string? Guarded(Action step, bool isFinal)
    {
        try
        {
            step();
            return null;
        }
        catch (Exception error)
        {
            if (isFinal) Fail(error);
            return TextOf(error);
        }
    }

    /// <summary>
    /// Ends the journal after any error, including a lack of memory. The content of the file is unknown at this point,
    /// so nothing more is acknowledged. After a write that found no space, the journal thread tries to continue.
    /// </summary>
    private void Fail(Exception error, bool mayResume = false)
    {
        string reason = TextOf(error);
        Volatile.Write(ref _failure, reason);
        Volatile.Write(ref _lostUpTo, long.MaxValue);
        Volatile.Write(ref _lostAfter, Math.Min(_lostAfter, _writer.WrittenLsn));
        Volatile.Write(ref _nextAttempt, Stopwatch.GetTimestamp() + Stopwatch.Frequency);
        try
        {
            mayResume = mayResume && _writer.TryAwaitSpace();
        }
        catch (Exception)
        {
            mayResume = false;
        }
        try
        {
            if (!mayResume) _writer.Fail();
        }
        catch (Exception)
        {
            // Closing the file reports the same failure again.
        }
        try
        {
            _observer.OnFailed(reason);
        }
        catch (Exception)
        {
            Volatile.Write(ref _untold, true);
        }
    }

    private void NothingIsLost()
    {
        Volatile.Write(ref _lostAfter, long.MaxValue);
        Volatile.Write(ref _lostUpTo, 0);
    }

    /// <summary>
    /// Reports the durable position to the observer. If the call fails for lack of memory, the journal thread repeats
    /// it, because clients wait for it.
    /// </summary>
    private void NotifyObserver()
    {
        try
        {
            Volatile.Write(ref _untold, false);
            _observer.OnDurable(_writer.DurableLsn);
        }
        catch (Exception)
        {
            Volatile.Write(ref _untold, true);
        }
    }

    /// <summary>
    /// Reports the written position to the observer. After a failure for lack of memory, the journal thread reports the durable
    /// position instead, and the observer looks at both.
    /// </summary>
    private void NotifyWritten()
    {
        try
        {
            _observer.OnWritten();
        }
        catch (Exception)
        {
            Volatile.Write(ref _untold, true);
        }
    }

    /// <summary>Returns a text that is never empty, because an empty text means that there is no failure.</summary>
    private static string TextOf(Exception error) => error.Message is { Length: > 0 } text ? text : error.GetType().Name;

    private bool MayWriteDuringFlush()
    {
        if (Volatile.Read(ref _sideFlushStart) == 0) return true;
        if (PostponesWrites || _buffer.IsSwitching) return false;
        Interlocked.Increment(ref _delayedFlushes);
        return true;
    }

    private void WakeThread()
    {
        if (Volatile.Read(ref _threadWaits) != 0 && Interlocked.Exchange(ref _threadWaits, 0) != 0) _wake.Set();
    }
}
