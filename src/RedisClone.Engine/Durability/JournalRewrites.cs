using RedisClone.Journal;
using RedisClone.Journal.Reading;
using RedisClone.Memory;

namespace RedisClone.Engine.Durability;

/// <summary>
/// The rewrites of the journal: a snapshot becomes its base, and a new increment begins at that moment. A rewrite begins on
/// demand, when the journal has grown, or to repair a journal that has failed.
/// </summary>
internal sealed class JournalRewrites(ServerCore server, SnapshotSlot slot)
{
    /// <summary>The error of writes until the rewrite after a copy succeeds.</summary>
    public const string NotBegun = "the journal of the present data has not begun";

    private JournalKeeper? _keeper;
    private volatile LoneBaseJob? _loneBase;
    private bool _scheduled;
    private bool _isRequested;
    private RetryTime _retry = new(firstDelay: 5000, longestDelay: 60_000);
    private volatile bool _isSuspended;
    private volatile bool _isRestoreDue;

    /// <summary>
    /// The server's only journal keeper. It exists also while the journal is off, because sessions have LSNs of it and
    /// connections wait in it.
    /// </summary>
    public JournalKeeper Keeper => _keeper ??= new JournalKeeper(server);

    /// <summary>Ends the threads of the journal and releases its directory, at the end of the server.</summary>
    public void Release() => _keeper?.Dispose();

    public long Rewrites { get; private set; }

    public string? Failure { get; private set; }

    public long ConsecutiveFailures { get; private set; }

    /// <summary>The duration of the last rewrite in seconds; -1 if there was none.</summary>
    public long Seconds { get; private set; } = -1;

    public bool IsScheduled => _scheduled;

    /// <summary>Whether a rewrite is in progress or about to begin.</summary>
    public bool IsRunning => slot.Kind == SnapshotKind.Rewrite;

    /// <summary>
    /// Whether the journal was just turned on, or restarted after a failure, and its base is still being written. The files
    /// then have no complete copy of the data.
    /// </summary>
    public bool IsInitial => server.Journal is { Failure.Length: 0 } journal && server.Loading is null && journal.Engine.State != JournalState.Running;

    /// <summary>
    /// Starts or schedules a rewrite. <paramref name="answer"/> is the reply of BGREWRITEAOF, or its error if false is
    /// returned. The caller holds every shard.
    /// </summary>
    public bool TryStart(bool inTransaction, out string answer)
    {
        answer = "ERR Background append only file rewriting already in progress";
        if (IsRunning) return false;
        string? problem = null;
        if (!inTransaction && slot.TryStart(SnapshotKind.Rewrite, () => NewJob(isRequested: true, out problem), isHeld: false))
        {
            if (problem is not null)
            {
                server.Log.LogWarning("Can't rewrite the append only file: {Problem}", problem);
                answer = "ERR Can't execute an AOF background rewriting. Please check the server logs for more information.";
                return false;
            }
            answer = "Background append only file rewriting started";
        }
        else
        {
            _scheduled = true;
            answer = "Background append only file rewriting scheduled";
        }
        return true;
    }

    /// <summary>Whether the journal keeps nothing although it is configured. Writes of clients are refused then.</summary>
    public bool IsSuspended => _isSuspended && server.Config.AppendOnly;

    /// <summary>
    /// Whether the journal is off because the data was deleted for a copy that could not be loaded. A rewrite would replace the only data.
    /// </summary>
    public bool LacksData => IsSuspended && server.Journal is null && !_isRestoreDue;

    /// <summary>
    /// Turns the journal off until <see cref="Restore"/>, because all data will be replaced. The caller holds every shard.
    /// </summary>
    public void Suspend()
    {
        if (server.Journal is null) return;
        // Order: no write may find the journal off and be accepted.
        _isSuspended = true;
        TurnJournal(on: false);
    }

    /// <summary>
    /// Turns a suspended journal on again. If that fails, background work tries again. The journal stays suspended until its rewrite has
    /// begun, because it neither keeps a write before, nor holds back the reply.
    /// </summary>
    public void Restore()
    {
        if (!_isSuspended) return;
        string? problem = server.Config.AppendOnly ? TurnJournal(on: true) : null;
        _isRestoreDue = problem is not null;
        if (!server.Config.AppendOnly) _isSuspended = false;
        if (problem is null) return;
        _retry.Failed(ServerCore.UnixMilliseconds(), doubles: false);
        server.Log.LogError("{Problem} The server accepts no writes until it succeeds.", problem);
    }

    /// <summary>Leaves the journal off, because there is no data. Its files are what a restart loads.</summary>
    public void StaySuspended() => _isRestoreDue = false;

    /// <summary>Has background work turn a suspended journal on again.</summary>
    public void RestoreSoon() => _isRestoreDue |= _isSuspended;

    /// <summary>
    /// Turns the journal on or off after <c>appendonly</c> was changed at runtime. Returns null, or an error.
    /// </summary>
    public string? TurnJournal(bool on)
    {
        if (on == server.Journal is not null) return null;
        if (!on)
        {
            if (IsRunning) server.Log.LogInformation("Killing running AOF rewrite child: there is none, the rewrite is cancelled");
            slot.Cancel(SnapshotKind.Rewrite);
            _scheduled = false;
            // Order: effects from here on are in no journal, and no client may be told that they are durable.
            JournalKeeper journal = server.Journal!;
            server.Journal = null;
            journal.TurnOff();
            if (!server.Config.AppendOnly) _isSuspended = false;
            return null;
        }
        return server.Shutdown.TurnJournalOn(TurnOn);
    }

    private string? TurnOn()
    {
        if (_loneBase is { } loneBase)
        {
            // Its directory becomes that of the journal, which begins with a base of its own.
            slot.Cancel(SnapshotKind.Rewrite);
            loneBase.LeaveDirectory();
        }
        if (Keeper.TakeDirectory() is { } problem)
        {
            server.Log.LogWarning("AOF can't be turned on: {Problem}", problem);
            return "Unable to turn on AOF. Check server logs.";
        }
        // appendfsync may have changed while the journal was off.
        Keeper.Adapt();
        // No effect counts as durable before the first base is installed, so that base is begun as soon as possible. It stays scheduled
        // until it begins: a job that lacks memory before is repeated.
        _scheduled = true;
        server.Journal = Keeper;
        slot.TryStart(SnapshotKind.Rewrite, () => new RewriteJob(this, server, Keeper), isHeld: false);
        return null;
    }

    /// <summary>
    /// Loads all data again from the append-only directory, into databases that <paramref name="empty"/> empties. Returns
    /// null, or the reason of a failure. The caller holds every shard.
    /// </summary>
    public string? Reload(Action empty)
    {
        slot.Cancel();
        if (server.Journal is { } journal) return journal.Reload(empty);
        using JournalDirectory? directory = JournalDirectory.TryOpen(server.Disk, JournalKeeper.NamesOf(server.Config), out string error);
        if (directory is null) return error;
        DataSet.Reload("the append-only directory", () =>
        {
            empty();
            using var loader = new JournalLoader(server);
            using HeapRelief.Patience patience = HeapRelief.BePatient(loader.MakeRoom);
            JournalReport report = new JournalReader(directory.Disk, directory.Names, directory.Manifest, new ReadOptions()).Read(loader);
            return report.Outcome is JournalOutcome.Clean or JournalOutcome.Cut ? null : report.ToString();
        });
        return null;
    }

    /// <summary>Begins a rewrite if one is due; called in every round of background work.</summary>
    public void Tend(long now)
    {
        if (slot.Kind != SnapshotKind.None || server.Loading is not null) return;
        if (_isRestoreDue && _retry.HasCome(now)) Restore();
        if (LacksData) return;
        if (!_scheduled && (!_retry.HasCome(now) || server.Journal is not { } journal || !(IsWanted(journal) || HasGrown(journal)))) return;
        slot.TryStart(SnapshotKind.Rewrite, () =>
        {
            ISnapshotJob? job = NewJob(_scheduled, out _);
            if (job is null) _scheduled = false;
            return job;
        }, isHeld: false);
    }

    /// <summary>Whether the journal has failed or could not begin, so that a rewrite is needed.</summary>
    private bool IsWanted(JournalKeeper journal) =>
        journal.Engine is { State: JournalState.Failed, AwaitsSpace: false }
        || (_isSuspended || Failure is not null) && journal.Engine.State == JournalState.Off;

    /// <summary>
    /// Creates the job, or returns null and the problem. If the server keeps no journal, the job opens the append-only directory
    /// for its duration, and the directory then contains only the base.
    /// </summary>
    private ISnapshotJob? NewJob(bool isRequested, out string? problem)
    {
        problem = LacksData ? NotBegun : null;
        if (problem is not null) return null;
        _isRequested = isRequested;
        if (server.Journal is { } journal) return new RewriteJob(this, server, journal);
        if (JournalDirectory.TryOpen(server.Disk, JournalKeeper.NamesOf(server.Config), out string error) is { } directory)
        {
            var job = new LoneBaseJob(this, server, directory);
            _loneBase = job;
            return job;
        }
        problem = error;
        return null;
    }

    private bool HasGrown(JournalKeeper journal)
    {
        int percentage = server.Config.AutoAofRewritePercentage;
        // A rewrite would begin a rebuild, which drops what waits for space.
        if (journal.Engine.AwaitsSpace) return false;
        long size = journal.Size, old = Math.Max(journal.SizeAtRewrite, 1);
        if (percentage == 0 || size <= server.Config.AutoAofRewriteMinSize || (double)size * 100 / old - 100 < percentage) return false;
        server.Log.LogInformation("Starting automatic rewriting of AOF on {Growth:F0}% growth", (double)size * 100 / old - 100);
        return true;
    }

    private void Ended(SnapshotRun run, string? failure)
    {
        Seconds = run.Seconds;
        if (run.IsCancelled)
        {
            server.Log.LogWarning("Background AOF rewrite was cancelled");
            // SAVE or DEBUG RELOAD cancelled it, so it is repeated. A journal that was turned off does not need it.
            _scheduled = server.Config.AppendOnly;
            return;
        }
        Failure = failure;
        if (failure is null)
        {
            ConsecutiveFailures = 0;
            _retry.Succeeded();
            Rewrites++;
            server.Log.LogInformation("Background AOF rewrite finished successfully");
            return;
        }
        ConsecutiveFailures++;
        // A client may repeat its request at any time. An attempt that fails at once costs little, and writes may be refused until one succeeds.
        _retry.Failed(ServerCore.UnixMilliseconds(), doubles: !_isRequested && run.Seconds > 0);
        server.Log.LogWarning("Background AOF rewrite failed: {Failure}", failure);
    }

    private sealed class RewriteJob(JournalRewrites rewrites, ServerCore server, JournalKeeper journal) : ISnapshotJob
    {
        private readonly bool _asRdb = server.Config.AofUseRdbPreamble;
        private long _lsn;

        public void Prepare() => journal.PrepareBase();

        public SnapshotOrder? Mark()
        {
            rewrites._scheduled = false;
            try
            {
                // From here on, the state of the journal decides about writes: it has failed if this rewrite fails.
                if (journal.BeginBase(_asRdb, rewrites._isSuspended ? NotBegun : "") is not { } order) return null;
                rewrites._isSuspended = false;
                server.Log.LogInformation("Background append only file rewriting started");
                _lsn = order.Lsn;
                return order;
            }
            catch
            {
                // Nothing else ends a rebuild that no job continues.
                journal.Engine.AbandonBase();
                rewrites._scheduled = true;
                throw;
            }
        }

        public string? Publish() => journal.InstallBase(_lsn, _asRdb);

        public void Ended(SnapshotRun run, string? failure)
        {
            if (failure is not null)
            {
                journal.Engine.AbandonBase();
                // Without its first base the journal keeps nothing, so it must not let the server confirm more.
                if (!run.IsCancelled && server.Journal == journal && !journal.IsOn) rewrites._isSuspended = true;
            }
            rewrites.Ended(run, failure);
        }
    }

    /// <summary>A rewrite on a server that keeps no journal. It locks the append-only directory until it ends or the journal is turned on.</summary>
    private sealed class LoneBaseJob(JournalRewrites rewrites, ServerCore server, JournalDirectory directory) : ISnapshotJob
    {
        private readonly bool _asRdb = server.Config.AofUseRdbPreamble;
        private readonly Lock _leaving = new();
        private bool _hasLeft;

        public SnapshotOrder? Mark()
        {
            rewrites._scheduled = false;
            lock (_leaving)
            {
                if (_hasLeft) return null;
                server.Log.LogInformation("Background append only file rewriting started");
                return new SnapshotOrder(directory.Disk, directory.Names.PathOf(directory.Names.TemporaryBase), _asRdb, lsn: 0);
            }
        }

        public string? Publish()
        {
            lock (_leaving) return _hasLeft ? "the journal was turned on" : directory.InstallLoneBase(_asRdb);
        }

        /// <summary>Unlocks the directory, and nothing is published from here on. Can be called more than once.</summary>
        public void LeaveDirectory()
        {
            lock (_leaving)
            {
                if (!_hasLeft) directory.Dispose();
                _hasLeft = true;
                if (rewrites._loneBase == this) rewrites._loneBase = null;
            }
        }

        public void Ended(SnapshotRun run, string? failure)
        {
            LeaveDirectory();
            rewrites.Ended(run, failure);
        }
    }
}
