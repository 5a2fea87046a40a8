using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Shards;
using RedisClone.Journal;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;
using RedisClone.Memory;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Durability;

/// <summary>
/// The server's side of the journal. It passes effects to the journal, holds replies until what they saw is safe, and
/// loads the data at startup.
/// </summary>
internal sealed class JournalKeeper : IEffectSink, IJournalObserver, IDisposable
{
    /// <summary>Bytes of units that commands append at the same time, beyond the backlog at which commands wait.</summary>
    private const long ReservedUnits = 1 << 20;

    private readonly ServerCore _server;
    private readonly JournalEngine _engine;
    private readonly Lock _addingLoop = new();
    private LoopRounds[] _loops = [];
    private readonly PoolGate _pool;
    private readonly int _maxLoops;

    /// <summary>
    /// Held while a rewrite begins or installs its base, and while the journal is turned on or off, so that neither happens
    /// in the middle of the other.
    /// </summary>
    private readonly Lock _turning = new();

    private volatile JournalDirectory? _directory;
    private readonly DurableWaiters _waiters = new();
    private long _closedBytes;
    private bool _attached;
    private volatile bool _awaitsBase;

    public JournalKeeper(ServerCore server)
    {
        _server = server;
        _maxLoops = server.Config.IoLoopCount;
        _pool = new PoolGate(this);
        _engine = new JournalEngine(_maxLoops, PolicyOf(server.Config.AppendFsync), this, HeapLimit.IsSmall ? Limits.JournalBacklog + ReservedUnits : 0)
        {
            MostKept = Limits.JournalBacklog,
        };
    }

    public JournalEngine Engine => _engine;

    /// <summary>The sizes of the written groups in bytes. Only the thread with the writer's role adds to it.</summary>
    public LatencyHistogram GroupSizes { get; } = new();

    /// <summary>The durations of the flushes in ticks. Only the thread with the writer's role adds to it.</summary>
    public LatencyHistogram FlushTimes { get; } = new();

    /// <summary>Bytes of effects that are not durable yet.</summary>
    public long BytesAtRisk => _engine.State == JournalState.Off ? 0 : Math.Max(0, _engine.Lsn - _engine.DurableLsn);

    /// <summary>What the start read from the journal; null if it has read none.</summary>
    public JournalReport? Recovered { get; private set; }

    /// <summary>The number of commands that the start skipped, see <see cref="ReplayErrors"/>.</summary>
    public long LoadErrors { get; private set; }

    public bool IsOn => _engine.State != JournalState.Off;

    /// <summary>The reason why the journal has failed; empty if it has not.</summary>
    public string Failure => _engine.State == JournalState.Failed ? _engine.Failure : "";

    /// <summary>
    /// The reason why writes are refused, or empty. During the rebuild after a failure, no file that a start reads contains a
    /// new write. Writes are admitted then only if their replies wait until the rebuild is installed.
    /// </summary>
    public string WriteRefusal => _engine.Policy == FlushPolicy.Always || Failure.Length > 0 ? Failure : _engine.RecoversFrom;

    /// <summary>
    /// The error reply for a read of data that will never be durable. It is null unless the journal has failed and replies
    /// wait for the disk.
    /// </summary>
    public string? NeverDurable => _engine.State == JournalState.Failed && _engine.Policy == FlushPolicy.Always ? Errors.JournalFailed(_engine.Failure) : null;

    /// <summary>
    /// The LSN up to which output may leave. With <c>always</c>, output waits until the effects that it saw are durable; otherwise
    /// until they are written, unless a flush postpones the writes.
    /// </summary>
    public long OpenUpTo
    {
        get
        {
            JournalState state = _engine.State;
            if (state == JournalState.Off) return long.MaxValue;
            if (_engine.Policy == FlushPolicy.Always) return _engine.DurableLsn;
            if (_engine.LostAfter is not long.MaxValue and long written) return written;
            return state == JournalState.Rebuilding || _engine.PostponesWrites ? long.MaxValue : _engine.WrittenLsn;
        }
    }

    /// <summary>A journal that failed releases nothing more: what it has not made durable, or not written, may never be.</summary>
    public bool IsFinal => _engine.State == JournalState.Failed || HasLost;

    /// <summary>
    /// Whether the journal has failed under a policy other than <c>always</c>, and memory has effects that are in no file. Reads may
    /// show them; the replies to their own commands must not leave (<see cref="IsLost"/>).
    /// </summary>
    public bool HasLost => _engine.LostAfter != long.MaxValue && _engine.Policy != FlushPolicy.Always;

    public bool IsLost(long lsn) => _engine.IsLost(lsn);

    /// <summary>
    /// Whether clients write faster than the disk. Commands that write must then wait, because the pending bytes are in
    /// memory.
    /// </summary>
    public bool IsBehind => _engine.BytesPending > Limits.JournalBacklog;

    public long DurableLsn => _engine.DurableLsn;

    /// <summary>
    /// The LSN up to which the commands of clients are durable, or -1 while the first base is not installed. Effects between
    /// turning the journal on and the start of the base are only in that base.
    /// </summary>
    public long SafeLsn => _awaitsBase ? -1 : _engine.DurableLsn;

    public static FlushPolicy PolicyOf(AppendFsync setting) => setting switch
    {
        AppendFsync.Always => FlushPolicy.Always,
        AppendFsync.No => FlushPolicy.No,
        _ => FlushPolicy.EverySecond,
    };

    /// <summary>Adopts a changed setting of appendfsync.</summary>
    public void Adapt()
    {
        _engine.Policy = PolicyOf(_server.Config.AppendFsync);
        TellGates();
        if (_waiters.Any) FlushSoon();
    }

    /// <summary>
    /// Loads the journal from its directory and continues it. Returns null, or the reason why the server must not start.
    /// </summary>
    public string? Start()
    {
        if (TakeDirectory(isStart: true) is { } problem) return problem;
        FoundFingerprint = FingerprintOfFiles();
        return Begin(_directory!);
    }

    /// <summary>The fingerprint of the files that the start has read; 0 if there were none.</summary>
    public long FoundFingerprint { get; private set; }

    /// <summary>The fingerprint of the files now; 0 if there are none, or if they cannot be read.</summary>
    public long FingerprintOfFiles()
    {
        try
        {
            return _directory?.Fingerprint() ?? 0;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return 0;
        }
    }

    /// <summary>The size in bytes of all files that a startup would read.</summary>
    public long Size => _closedBytes + _engine.IncrementSize;

    /// <summary>The value of <see cref="Size"/> after the last rewrite, or at startup.</summary>
    public long SizeAtRewrite { get; private set; }

    /// <summary>Prepares <see cref="BeginBase"/> while no shard is held. What fails here, fails there too.</summary>
    public void PrepareBase()
    {
        // The end of the increment requires a flush, for which replies wait. This leaves little to it.
        _engine.FlushAhead();
        lock (_turning)
        {
            try
            {
                _directory?.Restore();
            }
            catch (Exception failure) when (DiskFailure.Is(failure))
            {
                _server.Log.LogWarning("The append-only directory was removed, and cannot be created again: {Failure}", failure.Message);
            }
        }
    }

    /// <summary>
    /// Ends the current increment and returns where the base for this moment is to be written; null if the journal was turned
    /// off meanwhile. A journal that has failed or was not running begins a new increment. The caller holds every shard.
    /// </summary>
    /// <param name="asRdb">The form of the base.</param>
    /// <param name="lack">Why the files are not those of the data, or an empty string.</param>
    public SnapshotOrder? BeginBase(bool asRdb, string lack = "")
    {
        lock (_turning)
        {
            if (_directory is not { } directory) return null;
            long size = Size;
            long lsn = _engine.State == JournalState.Running ? _engine.SwitchIncrement() : _engine.BeginRebuild(directory, lack);
            _closedBytes = size;
            if (!_attached) Attach();
            return new SnapshotOrder(directory.Disk, directory.Names.PathOf(directory.Names.TemporaryBase), asRdb, lsn);
        }
    }

    /// <summary>Installs a complete base. Returns null, or the reason of a failure.</summary>
    public string? InstallBase(long lsn, bool asRdb)
    {
        lock (_turning)
        {
            if (_directory is null) return "the journal was turned off";
            if (_engine.InstallBase(lsn, asRdb) is { } failure) return failure;
            Begun();
            return null;
        }
    }

    /// <summary>
    /// Opens the journal directory without reading its files, because a rewrite will write all data from memory. Returns
    /// null, or the reason of a failure.
    /// </summary>
    public string? TakeDirectory(bool isStart = false)
    {
        lock (_turning)
        {
            _awaitsBase = true;
            _directory = JournalDirectory.TryOpen(_server.Disk, NamesOf(_server.Config), out string error, isStart);
            return _directory is null ? error : null;
        }
    }

    public static JournalNames NamesOf(ServerConfig config) => new(config.PathOf(""), config.AppendDirname, config.AppendFilename);

    /// <summary>
    /// Loads all data again from the files, into databases that <paramref name="empty"/> empties. The caller holds every
    /// shard.
    /// </summary>
    public string? Reload(Action empty)
    {
        if (_directory is not { } directory) return "there is no append-only directory";
        if (_engine.State != JournalState.Running) return "the journal has no complete base";
        if (Stop() is { } failure) return failure;
        DataSet.Reload("the journal", () =>
        {
            empty();
            return Begin(directory);
        });
        return null;
    }

    private static string Advice(JournalDirectory directory, JournalReport report) => report.Reason == LoadRoom.LacksMemory
        ? "Start the server with more memory: this reason is no damage of the file"
        : $"The offline command \"verify {directory.Names.Root}\" shows the damage, \"repair {directory.Names.Root}\" copies what is intact";

    private string? Begin(JournalDirectory directory)
    {
        if (directory.Unnamed.Count > 0)
            _server.Log.LogWarning(
                "{Manifest} does not name {Files}, which have commands. If the manifest is an older one, stop the server and " +
                    "restore the newest: the files are left as they are",
                directory.Names.Manifest, string.Join(", ", directory.Unnamed));
        var reader = new JournalReader(directory.Disk, directory.Names, directory.Manifest, new ReadOptions(_server.Config.AofLoadTruncated));
        JournalReport report;
        using (var loader = new JournalLoader(_server))
        using (HeapRelief.BePatient(loader.MakeRoom))
        {
            _server.Loading?.Measure(() => reader.TotalBytes, () => reader.BytesRead + loader.SnapshotOffset);
            report = reader.Read(loader);
            LoadErrors = loader.Errors.Count;
        }
        Recovered = report;
        if (report.Outcome == JournalOutcome.Absent) return BeginEmpty();
        if (report.Outcome == JournalOutcome.Refused)
            return $"The journal cannot be loaded: {report.Reason} ({report.File}, offset {report.Offset}). {Advice(directory, report)}";
        if (report.Outcome == JournalOutcome.Cut)
            _server.Log.LogWarning("The journal ends in {File} at offset {Offset}: {Reason}; {Bytes} bytes are cut",
                report.File, report.Offset, report.Reason, report.CutBytes);
        if (LoadErrors > 0)
            _server.Log.LogWarning("{Count} commands of the journal answered with an error and were skipped, so the data may lack changes", LoadErrors);
        _server.Log.LogInformation("DB loaded from append only file: {Units} units, up to position {Lsn}", report.Units, report.Lsn);
        if (_engine.Start(directory, report) is { } reason) return $"The journal cannot be started: {reason}";
        Attach();
        Begun();
        return null;
    }

    /// <summary>Called when the files contain all data.</summary>
    private void Begun()
    {
        _awaitsBase = false;
        WakeWaiters();
        MeasureFiles();
        SizeAtRewrite = Size;
    }

    /// <summary>
    /// Begins a new journal with a base of the current, empty data, as Redis does. The caller holds every shard.
    /// </summary>
    private string? BeginEmpty()
    {
        UnreadData.WarnBesideNewJournal(_server);
        bool asRdb = _server.Config.AofUseRdbPreamble;
        if (BeginBase(asRdb) is not { } order) return "there is no append-only directory";
        using var run = new SnapshotRun(_server, order);
        string? failure = run.WriteHeld() ?? InstallBase(order.Lsn, asRdb);
        if (failure is null) return null;
        _engine.AbandonBase();
        return $"The journal cannot be started: {failure}";
    }

    private void Attach()
    {
        _server.Effects.Attach(this);
        _attached = true;
    }

    /// <summary>Measures all files except the increment that is being written. A file that cannot be opened counts as empty.</summary>
    private void MeasureFiles()
    {
        JournalDirectory directory = _directory!;
        long bytes = 0;
        foreach (ManifestFile file in directory.Manifest.Files)
        {
            if (file.Name == _engine.IncrementName) continue;
            try
            {
                using IDiskFile opened = directory.Disk.Open(directory.Names.PathOf(file.Name), DiskOpen.Read);
                bytes += opened.Length;
            }
            catch (Exception failure) when (DiskFailure.Is(failure))
            {
                // Only the next automatic rewrite depends on the size.
            }
        }
        _closedBytes = bytes;
    }

    /// <summary>
    /// Appends a unit of effects to the journal. The keyspace has the change already, so after a failure memory and journal
    /// differ, and only a restart resolves that. A failed attempt has appended nothing, so it is repeated while memory is missing.
    /// </summary>
    long IEffectSink.Append(EffectBuffer unit)
    {
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                return unit.TryGive(out ArraySegment<byte> given)
                    ? _engine.AppendGiven(unit.Database, given)
                    : _engine.Append(unit.Database, unit.Unit);
            }
            catch (Exception e)
            {
                if (e is not OutOfMemoryException || !MemoryReserve.TryWait(attempt))
                    Fatal.End("The effects of a command could not be added to the journal", e);
            }
        }
    }

    void IJournalObserver.OnDurable(long lsn)
    {
        TellGates();
        WakeWaiters();
    }

    void IJournalObserver.OnWritten() => TellGates();

    void IJournalObserver.OnGroup(long bytes) => GroupSizes.Add(bytes);

    void IJournalObserver.OnFlushed(long ticks)
    {
        FlushTimes.Add(ticks);
        if (_engine.Policy == FlushPolicy.Always && IsOn) _server.Latency.Note(LatencyEvents.JournalFlush, ticks);
    }

    void IJournalObserver.OnFailed(string reason)
    {
        _server.Log.LogError(
            "The journal has failed: {Reason}. Writes are refused until {Remedy}", reason,
            _engine.AwaitsSpace ? "there is space; the journal tries again every second" : "a rewrite succeeds");
        TellGates();
    }

    void IJournalObserver.OnResumed() => _server.Log.LogInformation("The journal has found space and continues. Writes are accepted again");

    public LoopRounds RoundsOf(IEventLoop loop)
    {
        lock (_addingLoop)
        {
            foreach (LoopRounds known in _loops)
                if (known.Loop == loop) return known;
            var rounds = new LoopRounds(Math.Min(_loops.Length, _maxLoops - 1), loop, this);
            Volatile.Write(ref _loops, [.. _loops, rounds]);
            loop.OutputGate ??= rounds;
            return rounds;
        }
    }

    /// <summary>
    /// Registers a connection without an event loop whose replies have seen effects that are not durable yet. The connection is
    /// resumed once they are durable or the journal has failed.
    /// </summary>
    public void Hold(long lsn, IClientConnection connection)
    {
        _pool.Gate.Add(lsn, connection);
        // Race: the LSN may have become durable after the connection checked it and before it was registered. That report did
        // not include the connection.
        if (ReleasedLsn >= lsn) _pool.Durable();
    }

    /// <summary>Resumes a blocked client once an LSN is durable (WAITAOF).</summary>
    public void WakeWhenDurable(long lsn, Waiter waiter)
    {
        _waiters.Add(lsn, waiter);
        FlushSoon();
        // Race: the LSN may have become durable before the waiter was registered.
        WakeWaiters();
    }

    /// <summary>Has everything flushed for a client that waits for it, at the next flush of the policy at the latest.</summary>
    public void FlushSoon()
    {
        // With appendfsync no, the operating system may write much later.
        if (_engine.Policy == FlushPolicy.No) ThreadPool.UnsafeQueueUserWorkItem(static engine => engine.Flush(), _engine, preferLocal: false);
        else AppendedElsewhere();
    }

    /// <summary>Wakes the waiters whose LSN is safe, or all of them if there is no journal any more.</summary>
    private void WakeWaiters()
    {
        if (_waiters.Any) _waiters.Wake(_directory is null ? long.MaxValue : SafeLsn);
    }

    /// <summary>Called after a thread that is not an event loop has appended units of effects.</summary>
    public void AppendedElsewhere() => _engine.Appended();

    public string? Stop()
    {
        _server.Effects.Detach(this);
        _attached = false;
        return _engine.Stop();
    }

    /// <summary>Turns the journal off and closes its directory. It can be turned on again.</summary>
    public void TurnOff()
    {
        lock (_turning)
        {
            if (Stop() is { } failure) _server.Log.LogError("The journal could not be closed: {Failure}", failure);
            _directory?.Dispose();
            _directory = null;
        }
        WakeWaiters();
    }

    public void Dispose()
    {
        lock (_turning)
        {
            _engine.Dispose();
            _directory?.Dispose();
            // A rewrite that has not begun yet finds no directory.
            _directory = null;
        }
    }

    /// <summary>
    /// The LSN up to which waiting connections are resumed. A journal that failed resumes all of them, and they are closed.
    /// </summary>
    public long ReleasedLsn => IsFinal ? long.MaxValue : OpenUpTo;

    private void TellGates()
    {
        foreach (LoopRounds rounds in Volatile.Read(ref _loops)) rounds.Moved();
        _pool.Durable();
    }
}
