using System.Buffers;
using System.Diagnostics;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal;

/// <summary>
/// The merged-write engine: bytes in, "durable up to N" out. All shards append to one stream; whoever holds the writer's
/// role takes all that has come together and writes it as one group, with one flush, while execution goes on.
/// </summary>
/// <remarks>
/// Who writes. In <c>always</c> the journal's own thread, so that loops execute and reply during the flush; it lets loops
/// that are in a round finish first, for less than one flush time, since a group costs the same for one unit as for fifty. A
/// unit that is alone gains nothing from that: its loop writes it itself and saves two thread switches. In <c>everysec</c>
/// and <c>no</c> no reply waits, and each loop writes what is there at the end of its round, as Redis does; the thread
/// flushes.
/// </remarks>
public sealed partial class JournalEngine : IDisposable
{
    /// <summary>So long a write is put off while a flush is running; Redis puts it off for twice as long.</summary>
    private static readonly TimeSpan LongestPostponement = TimeSpan.FromSeconds(1);

    /// <summary>A loop with this many units or fewer open writes them itself.</summary>
    private const int LonelyUnits = 1;

    private readonly MergeBuffer _buffer = new(WriterTuning.Default);
    private readonly JournalWriter _writer;
    private readonly IJournalObserver _observer;
    private readonly RoundTracker _rounds;
    private readonly WakeEvent _wake = new();
    private readonly Thread _thread;

    // The writer's role. A flush beside the writing holds _flushGate; whoever replaces the file takes both, _flushGate first.
    private readonly Lock _role = new();
    private readonly Lock _flushGate = new();

    private int _policy;
    private int _threadWaits;
    private bool _stopping;
    private bool _untold;
    private long _sideFlushStart;
    private long _nextFlush;
    private long _groups, _flushes, _delayedFlushes;
    private double _flushTicks;
    private string _failure = "";

    /// <param name="loops">How many event loops announce their rounds.</param>
    /// <param name="policy">The setting <c>appendfsync</c>.</param>
    /// <param name="observer">Is told what becomes durable.</param>
    public JournalEngine(int loops, FlushPolicy policy, IJournalObserver observer)
    {
        _writer = new(_buffer, WriterTuning.Default);
        _observer = observer;
        _rounds = new(loops);
        _policy = (int)policy;
        _thread = new(Run) { IsBackground = true, Name = "journal" };
        _thread.Start();
    }

    public JournalState State => _writer.State;

    /// <summary>Why the journal failed; empty while it has not.</summary>
    public string Failure => State == JournalState.Failed ? Volatile.Read(ref _failure) : "";

    /// <summary>The end of the stream: the position behind the last unit appended.</summary>
    public long Lsn => _buffer.Lsn;

    public long WrittenLsn => _writer.WrittenLsn;

    public long DurableLsn => _writer.DurableLsn;

    /// <summary>
    /// What is held in memory until it is written. Callers look at it before they append, and wait when it is too much.
    /// </summary>
    public long BytesPending => IsKeeping ? _buffer.Lsn - _writer.WrittenLsn : 0;

    /// <summary>The length of the increment, for INFO and for the rewrite triggers.</summary>
    public long IncrementSize => _writer.IncrementSize;

    /// <summary>The name of the file that the increment is in; empty until the first write where a new one begins with it.</summary>
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

    /// <summary>A slow disk, for tests.</summary>
    public TimeSpan DelayBeforeWrites { get; set; }

    public JournalStatistics Statistics => new(
        Volatile.Read(ref _groups), Volatile.Read(ref _flushes), Volatile.Read(ref _delayedFlushes), _flushTicks * 1e6 / Stopwatch.Frequency);

    /// <summary>
    /// Starts on what recovery read: truncates what it cut, flushes, opens a new increment. The reason when that fails.
    /// </summary>
    public string? Start(JournalDirectory directory, JournalReport report)
    {
        if (Lsn > report.Lsn) throw new InvalidOperationException("The stream has gone on without a journal: that takes a rebuild.");
        lock (_flushGate)
            lock (_role)
                return Guarded(() => _writer.Start(directory, report), isFinal: true);
    }

    /// <summary>
    /// Appends one unit (a command, or MULTI to EXEC, as RESP) and returns the position behind it. The caller holds the
    /// unit's shards. A unit that selects databases itself is appended with database -1, and selects them in lower case.
    /// Never does I/O.
    /// </summary>
    public long Append(int database, ReadOnlySpan<byte> unit) => _buffer.Append(database, unit);

    /// <inheritdoc cref="Append(int, ReadOnlySpan{byte})"/>
    public long Append(int database, in ReadOnlySequence<byte> unit) => _buffer.Append(database, unit);

    /// <summary>The loop has found sockets readable, and goes on to read and execute.</summary>
    public void RoundStarting(int loop) => _rounds.Start(loop);

    /// <summary>
    /// The loop has executed what it read, and holds no shard. It may find its units durable when this returns.
    /// </summary>
    public void RoundEnding(int loop)
    {
        _rounds.End(loop);

        // Race: the thread announces that it waits, then looks for rounds and pending units; the loop does the opposite.
        // Without a full fence on both sides each could miss the other.
        Interlocked.MemoryBarrier();
        if (!_buffer.HasPending || !IsKeeping) return;
        if (Policy == FlushPolicy.Always)
        {
            if (_buffer.OpenUnits > LonelyUnits || !TryWriteHere(flush: true)) WakeThread();
        }
        else if (MayWriteDuringFlush() && !TryWriteHere(flush: false))
        {
            WakeThread();
        }
    }

    /// <summary>For a producer that is not an event loop, after it has let go of its shards.</summary>
    public void Appended()
    {
        Interlocked.MemoryBarrier();
        if (_buffer.HasPending) WakeThread();
    }

    /// <summary>Ten times a second, with no shard held: what was put off during a long flush, and nobody came to write since, is written.</summary>
    public void Tend()
    {
        if (Policy == FlushPolicy.Always || Volatile.Read(ref _sideFlushStart) == 0) Appended();
        else if (_buffer.HasPending && IsKeeping && MayWriteDuringFlush()) TryWriteHere(flush: false);
    }

    /// <summary>
    /// Ends the increment exactly here and returns the position, for which a base is to be made: <see
    /// cref="JournalNames.TemporaryBase"/>, then <see cref="InstallBase"/> or <see cref="AbandonBase"/>. The caller holds
    /// all shards. Does no I/O; one base at a time.
    /// </summary>
    public long SwitchIncrement()
    {
        long lsn = _buffer.Switch();
        WakeThread();
        return lsn;
    }

    /// <summary>
    /// Begins anew where the journal is off or has failed: from the position returned on, for which a base is to be made as
    /// for <see cref="SwitchIncrement"/>, the stream is kept again. Nothing becomes durable before the base is installed.
    /// The caller holds all shards.
    /// </summary>
    public long BeginRebuild(JournalDirectory directory)
    {
        lock (_flushGate)
            lock (_role)
            {
                if (IsKeeping) throw new InvalidOperationException("A journal that is being kept is not begun anew.");
                return _writer.BeginRebuild(directory);
            }
    }

    /// <summary>
    /// The base for <paramref name="lsn"/> is complete: it takes the place of what was before, which is deleted. The reason
    /// when it cannot be installed; then the rotation is over.
    /// </summary>
    public string? InstallBase(long lsn, bool rdb)
    {
        string? error = TryInstallBase(lsn, rdb);
        if (error is null) DeleteHistory();
        return error;
    }

    public void AbandonBase()
    {
        lock (_flushGate)
            lock (_role)
                Abandon();
    }

    /// <summary>
    /// Writes and flushes everything appended so far, on this thread. False when the journal has failed or is off.
    /// </summary>
    public bool Flush()
    {
        lock (_flushGate)
            lock (_role)
                return IsKeeping && Write(flush: true, maySwitch: true);
    }

    /// <summary>
    /// Copies the journal as it is at one moment into a directory that must not exist yet, while it goes on; a server starts
    /// on the copy. Null, or why there is no copy.
    /// </summary>
    public string? Backup(JournalNames target)
    {
        JournalDirectory source;
        Manifest manifest;
        long lastLength;
        lock (_flushGate)
            lock (_role)
            {
                if (State != JournalState.Running || !Write(flush: true, maySwitch: true)) return "there is no journal that is whole";
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

    /// <summary>Writes and flushes everything, seals the increment, and turns the journal off. It can be started again.</summary>
    public string? Stop()
    {
        lock (_flushGate)
            lock (_role)
            {
                string? error = Guarded(_writer.Stop, isFinal: true);
                if (error is null) Tell();
                return error;
            }
    }

    public void Dispose()
    {
        Volatile.Write(ref _stopping, true);
        _wake.Set();
        _thread.Join();
        Stop();
        _wake.Dispose();
    }

    private bool IsKeeping => State is JournalState.Running or JournalState.Rebuilding;

    private string? TryInstallBase(long lsn, bool rdb)
    {
        lock (_flushGate)
            lock (_role)
            {
                if (!_writer.HasSwitched(lsn)) Write(flush: false, maySwitch: true);
                if (!IsKeeping) return State == JournalState.Failed ? Failure : "the journal was turned off";
                string? error = Guarded(() => _writer.InstallBase(lsn, rdb), isFinal: false);
                if (error is not null)
                {
                    // While running, the old base and all increments still are a whole journal; a rebuild has failed.
                    Volatile.Write(ref _failure, error);
                    Abandon();
                    return error;
                }
                Tell();
                return null;
            }
    }

    /// <summary>What waits for a rebuild that is given up would wait for ever: whoever observes is to look again.</summary>
    private void Abandon()
    {
        _writer.AbandonBase();
        Tell();
    }

    /// <summary>
    /// Deletes the files that the manifest calls history. To delete gigabytes takes its time, so nobody is kept from writing
    /// meanwhile; a crash leaves the rest to the next start.
    /// </summary>
    private void DeleteHistory()
    {
        IReadOnlyList<ManifestFile> files;
        lock (_role) files = _writer.History;
        if (files.Count == 0) return;
        Guarded(() => _writer.DeleteFiles(files), isFinal: false);
        lock (_flushGate)
            lock (_role)
                Guarded(() => _writer.Forget(files), isFinal: false);
    }

    /// <summary>
    /// Writes on this thread, if nobody else is writing. False when something is left for the journal's own thread.
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

        // Race: a producer that found the role taken left its unit to us. It appended before it tried; we look after letting go.
        Interlocked.MemoryBarrier();
        return !_buffer.HasPending;
    }

    /// <summary>Under the role: writes what is pending, as the policy wants it. False when it failed.</summary>
    private bool Write(bool flush, bool maySwitch)
    {
        // The caller looked before it had the role.
        if (!IsKeeping) return false;
        try
        {
            bool fillAhead = Policy == FlushPolicy.Always;
            if (DelayBeforeWrites > TimeSpan.Zero && _buffer.HasPending) Thread.Sleep(DelayBeforeWrites);
            while (_writer.WriteNext(fillAhead, maySwitch)) _groups++;
            if (!flush || !_writer.HasUnflushed) return true;
            long start = Stopwatch.GetTimestamp();
            _writer.Flush();
            long took = Stopwatch.GetTimestamp() - start;
            _flushTicks += (took - _flushTicks) / 8;
            _observer.OnFlushed(took);
            _flushes++;
        }
        catch (Exception error)
        {
            Fail(error);
            return false;
        }
        Tell();
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
    /// Whatever the error is, a lack of memory too: what the file has by now is not known, so nothing is acknowledged any more.
    /// </summary>
    private void Fail(Exception error)
    {
        string reason = TextOf(error);
        Volatile.Write(ref _failure, reason);
        try
        {
            _writer.Fail();
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

    /// <summary>
    /// Passes on how far the stream is durable. When that fails for lack of memory, the journal's thread tries again: clients
    /// wait for it.
    /// </summary>
    private void Tell()
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

    /// <summary>Never empty: an empty text means that there is no failure.</summary>
    private static string TextOf(Exception error) => error.Message is { Length: > 0 } text ? text : error.GetType().Name;

    private bool MayWriteDuringFlush()
    {
        long start = Volatile.Read(ref _sideFlushStart);
        if (start == 0) return true;
        if (Stopwatch.GetElapsedTime(start) < LongestPostponement) return false;
        Interlocked.Increment(ref _delayedFlushes);
        return true;
    }

    private void WakeThread()
    {
        if (Volatile.Read(ref _threadWaits) != 0 && Interlocked.Exchange(ref _threadWaits, 0) != 0) _wake.Set();
    }
}
