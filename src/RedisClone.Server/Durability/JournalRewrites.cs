using Microsoft.Extensions.Logging;
using RedisClone.Journal;

namespace RedisClone.Server.Durability;

/// <summary>
/// The journal's rewrites: a snapshot of one moment becomes its base, and a new increment begins there. On demand, when the journal has grown, and by
/// itself when it has failed, since that makes it whole again.
/// </summary>
internal sealed class JournalRewrites(ServerCore server, SnapshotSlot slot)
{
    private const long FirstRetry = 5000, LongestRetry = 300_000;

    private bool _scheduled;
    private long _retryAt;
    private long _patience;

    public long Rewrites { get; private set; }

    public string? Failure { get; private set; }

    public long ConsecutiveFailures { get; private set; }

    /// <summary>Seconds that the last one took, -1 when there was none.</summary>
    public long Seconds { get; private set; } = -1;

    public bool IsScheduled => _scheduled;

    /// <summary>Whether a rewrite is under way or about to begin.</summary>
    public bool IsRunning => slot.Kind == SnapshotKind.Rewrite;

    /// <summary>BGREWRITEAOF's answer, or its refusal. The caller holds every shard.</summary>
    public bool TryStart(bool inTransaction, out string answer)
    {
        answer = "ERR the append only file is not in use";
        if (server.Journal is not { } journal) return false;
        answer = "ERR Background append only file rewriting already in progress";
        if (IsRunning) return false;
        if (!inTransaction && slot.TryClaim(SnapshotKind.Rewrite))
        {
            slot.Start(new RewriteJob(this, server, journal));
            answer = "Background append only file rewriting started";
        }
        else
        {
            _scheduled = true;
            answer = "Background append only file rewriting scheduled";
        }
        return true;
    }

    /// <summary>As soon as it can be: for a journal that was just turned on. Nothing of it counts before it has its first base.</summary>
    public void StartSoon()
    {
        if (server.Journal is { } journal && slot.TryClaim(SnapshotKind.Rewrite)) slot.StartWhenHeld(new RewriteJob(this, server, journal));
        else _scheduled = true;
    }

    /// <summary>Ten times a second.</summary>
    public void Tend(long now)
    {
        if (server.Journal is not { } journal || slot.Kind != SnapshotKind.None || server.Loading is not null) return;
        if (!_scheduled && (now < _retryAt || !(journal.Engine.State is JournalState.Failed or JournalState.Off || HasGrown(journal)))) return;
        if (!slot.TryClaim(SnapshotKind.Rewrite)) return;
        _scheduled = false;
        slot.StartWhenHeld(new RewriteJob(this, server, journal));
    }

    private bool HasGrown(JournalKeeper journal)
    {
        int percentage = server.Config.AutoAofRewritePercentage;
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
            server.Log.LogWarning("Background AOF rewrite was called off");
            return;
        }
        Failure = failure;
        if (failure is null)
        {
            (ConsecutiveFailures, _retryAt, _patience) = (0, 0, 0);
            Rewrites++;
            server.Log.LogInformation("Background AOF rewrite finished successfully");
            return;
        }
        ConsecutiveFailures++;
        _patience = Math.Clamp(_patience * 2, FirstRetry, LongestRetry);
        _retryAt = ServerCore.UnixMilliseconds() + _patience;
        server.Log.LogWarning("Background AOF rewrite failed: {Failure}", failure);
    }

    private sealed class RewriteJob(JournalRewrites rewrites, ServerCore server, JournalKeeper journal) : ISnapshotJob
    {
        private readonly bool _asRdb = server.Config.AofUseRdbPreamble;
        private long _lsn;

        public SnapshotOrder Mark()
        {
            server.Log.LogInformation("Background append only file rewriting started");
            SnapshotOrder order = journal.BeginBase(_asRdb);
            _lsn = order.Lsn;
            return order;
        }

        public string? Publish() => journal.InstallBase(_lsn, _asRdb);

        public void Ended(SnapshotRun run, string? failure)
        {
            if (failure is not null) journal.Engine.AbandonBase();
            rewrites.Ended(run, failure);
        }
    }
}
