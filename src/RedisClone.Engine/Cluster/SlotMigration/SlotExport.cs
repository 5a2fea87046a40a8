using System.Globalization;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>
/// The source of a slot migration: sends a snapshot of the slots and then their stream to the destination, which is the only replica of
/// that stream. When the destination has nearly everything, all writes pause, the stream ends, and the destination takes the slots
/// over. The bus tells this node. The lock of the cluster protects the state.
/// </summary>
/// <remarks>
/// Once the stream has ended, only the destination knows whether it has taken over. If the connection breaks then, this node asks it
/// until it answers, and serves the slots again only if the answer is no.
/// </remarks>
internal sealed class SlotExport : ISnapshotJob
{
    private const long SignInterval = 1000;
    private const int AnswerSize = 4096;
    private static readonly TimeSpan AskInterval = TimeSpan.FromMilliseconds(200);

    private readonly ServerCore _server;
    private readonly ClusterMember _cluster;
    private readonly SlotFeed _feed;
    private readonly Replica _replica;
    private readonly HeldTask _endStream;
    private readonly string _path;
    private volatile bool _holdsWrites;
    private bool _isMarked, _isAnswered, _asks, _isOver;
    private long _nextSign;

    public SlotExport(ServerCore server, ClusterMember cluster, SlotTask task, IClientConnection connection)
    {
        (_server, _cluster, Migration) = (server, cluster, task);
        _feed = new SlotFeed(server, task.Slots);
        _endStream = new HeldTask(server, EndStream, "A slot migration failed unexpectedly");
        _path = server.Snapshots.TemporaryPath(Snapshots.ForSlots);
        _replica = connection.AsReplica(_feed.Stream);
        _replica.Await();
        task.State = SlotTaskState.WaitsForSnapshot;
    }

    public SlotTask Migration { get; }

    private bool IsNearEnd => _feed.Stream.Offset - _replica.Acknowledged <= _server.Config.ClusterSlotMigrationHandoffMaxLagBytes;

    private bool IsLost => _replica.Connection.IsClosed || _isMarked && !_feed.Stream.HasFollowers;

    /// <summary>Whether writes have been paused for the longest time allowed.</summary>
    private bool IsPauseTooLong(long now) => now - Migration.PausedAt > _server.Config.ClusterSlotMigrationWritePauseTimeout;

    /// <summary>Begins, as soon as no other snapshot is in progress.</summary>
    public void Begin() => _server.Snapshots.Slot.TryStart(SnapshotKind.Slots, () => this, isHeld: false);

    /// <summary>Notes what the destination has applied of the stream.</summary>
    public void Acknowledge(IClientConnection from, long offset, long now)
    {
        if (from != _replica.Connection) return;
        _isAnswered = true;
        _replica.Acknowledge(offset, 0, now);
    }

    public void Tend(long now)
    {
        bool isSilent = _replica.State == ReplicaState.Follows && now - _replica.AcknowledgedAt > _server.Config.ReplTimeout * 1000L;
        if (Migration.State == SlotTaskState.AwaitsTakeover)
        {
            if (IsLost || IsPauseTooLong(now)) Ask();
        }
        else if (_feed.Failure is { } failure) Fail(failure);
        else if (IsLost || isSilent || _replica.IsStuck(now, _server.Config.ReplTimeout * 1000L)) Fail("The connection to the destination node is lost");
        else if (Migration.State == SlotTaskState.PausesWrites && IsPauseTooLong(now)) Fail("A command runs for too long");
        else if (Migration.State == SlotTaskState.WaitsForSnapshot) Begin();
        else if (Migration.State == SlotTaskState.SendsSnapshot && _replica.State == ReplicaState.Follows) Migration.State = SlotTaskState.SendsStream;
        else if (Migration.State == SlotTaskState.SendsStream && _isAnswered && IsNearEnd) PauseWrites(now);
        if (_isOver || _replica.HasSnapshot || now < _nextSign) return;
        _nextSign = now + SignInterval;
        _replica.Step();
    }

    /// <summary>Ends the migration if the slots have another owner.</summary>
    public void Look()
    {
        ClusterState state = _cluster.State;
        int mine = 0;
        foreach ((int first, int last) in Migration.Slots.Ranges())
            for (int slot = first; slot <= last; slot++)
                if (state.OwnerOf(slot) == state.Myself) mine++;
        if (mine == 0 && Migration.State == SlotTaskState.AwaitsTakeover) End(SlotTaskState.Completed, "");
        else if (!state.Myself.IsPrimary) Fail("This node is a replica now");
        else if (mine < Migration.Slots.Count) Fail("Slots have another owner now");
    }

    /// <summary>Ends the migration by the request of a client. If the destination may have taken over, its answer decides.</summary>
    public void Cancel(string reason)
    {
        if (Migration.State == SlotTaskState.AwaitsTakeover) Ask();
        else End(SlotTaskState.Canceled, reason);
    }

    private void Fail(string reason) => End(SlotTaskState.Failed, reason);

    private void End(SlotTaskState state, string error)
    {
        if (_isOver) return;
        _isOver = true;
        (Migration.State, Migration.Error) = (state, error);
        _server.Effects.Detach(_feed);
        Release();
        if (_cluster.State.Unsettled is not null) _cluster.State.Unsettle(null);
        _replica.Connection.Kill();
        _cluster.Migrations.Archive(Migration);
    }

    private void Release()
    {
        if (_holdsWrites) _server.Pause.ReleaseWrites();
        _holdsWrites = false;
    }

    // ---- the snapshot

    SnapshotOrder? ISnapshotJob.Mark()
    {
        lock (_cluster.Gate)
        {
            if (_isOver) return null;
            _isMarked = true;
            Migration.State = SlotTaskState.SendsSnapshot;
            _feed.Stream.Open();
            _feed.Stream.Join(_replica);
            _server.Effects.Attach(_feed);
        }
        return new SnapshotOrder(_server.Disk, _path, asRdb: false) { Slots = Migration.Slots };
    }

    string? ISnapshotJob.Publish() => _server.Snapshots.HandOver(_path, open =>
    {
        lock (_cluster.Gate)
            if (!_isOver && !IsLost) _replica.Give(open());
    });

    void ISnapshotJob.Ended(SnapshotRun run, string? failure)
    {
        if (failure is null) return;
        lock (_cluster.Gate)
        {
            Fail($"The snapshot of the slots failed: {failure}");
            _cluster.Finish();
        }
    }

    // ---- the switch

    private void PauseWrites(long now)
    {
        (Migration.State, Migration.PausedAt) = (SlotTaskState.PausesWrites, now);
        _holdsWrites = true;
        _server.Pause.HoldWrites();
        _endStream.Begin();
    }

    /// <summary>Ends the stream while all shards are held: every later write sees that writes are held back.</summary>
    private void EndStream()
    {
        lock (_cluster.Gate)
        {
            if (_isOver || _feed.Failure is not null) return;
            _server.Effects.Detach(_feed);
            _feed.Stream.Say("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"u8);
            Migration.State = SlotTaskState.AwaitsTakeover;
        }
    }

    /// <summary>Asks whether the destination has taken over, because the connection to it is lost or it takes too long.</summary>
    private void Ask()
    {
        if (_asks) return;
        _replica.Connection.Kill();
        _server.Log.LogWarning("Slot migration {Id}: the destination has not answered. Asking whether it has taken over.", Migration.Id);
        _ = Task.Run(AskAsync);
        _asks = true;
    }

    /// <summary>Asks until there is an answer, whatever fails: writes to the slots wait for it.</summary>
    private async Task AskAsync()
    {
        for (bool isSettled = false; !isSettled;)
        {
            try
            {
                isSettled = await TrySettleAsync().ConfigureAwait(false);
                if (!isSettled) await Task.Delay(AskInterval).ConfigureAwait(false);
            }
            catch (Exception bug)
            {
                _server.Failures.WorkFailed("A slot migration failed unexpectedly", bug);
                Thread.Sleep(AskInterval);
            }
        }
    }

    /// <summary>Asks once. True if it is known that the destination has taken over, or that it never will.</summary>
    private async Task<bool> TrySettleAsync()
    {
        ClusterNode? node;
        lock (_cluster.Gate)
        {
            // A node that is forgotten does not claim the slots any more.
            node = _cluster.State.Find(Migration.Destination) is { } destination ? _cluster.State.PrimaryOfShard(destination) : null;
            if (node is null) Resume("The destination node is not known any more");
            if (_isOver) return true;
        }
        string answer;
        try
        {
            using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(1));
            using SlotLink link = await SlotLink.OpenAsync(_server, _cluster.AddressOf(node!), limit.Token, AnswerSize).ConfigureAwait(false);
            answer = await link.AskAsync("OUTCOME", Migration.Id, Migration.SlotWords).ConfigureAwait(false);
        }
        catch (Exception failure) when (failure is IOException or InvalidDataException or OperationCanceledException or ObjectDisposedException)
        {
            answer = "";
        }
        lock (_cluster.Gate)
        {
            if (_isOver) return true;
            if (answer == "+NONE") Resume("The destination node has not taken over");
            else if (answer.StartsWith("+TAKEN ", StringComparison.Ordinal) && ulong.TryParse(answer[7..], CultureInfo.InvariantCulture, out ulong epoch))
                Concede(node!, epoch);
            else if (IsPauseTooLong(ServerCore.UnixMilliseconds()) && _holdsWrites) HoldSlots();
            _cluster.Finish();
            return _isOver;
        }
    }

    /// <summary>Serves the slots again. The new epoch wins against a claim that this node has not heard of.</summary>
    private void Resume(string reason)
    {
        Fail(reason);
        _cluster.State.TakeNextEpoch();
        _cluster.FinishAndTell();
    }

    /// <summary>Accepts that the destination has the slots.</summary>
    private void Concede(ClusterNode owner, ulong epoch)
    {
        var claimed = new SlotSet();
        for (int slot = 0; slot < Storage.Memory.KeySlot.Count; slot++)
            if (owner.Slots.Contains(slot) || Migration.Slots.Contains(slot)) claimed.Add(slot);
        owner.ConfigEpoch = Math.Max(owner.ConfigEpoch, epoch);
        _cluster.Claims.Take(owner, owner.ConfigEpoch, claimed.Bytes);
    }

    /// <summary>Ends the pause of all writes. The slots of the migration alone are not served until the destination answers.</summary>
    private void HoldSlots()
    {
        _server.Log.LogWarning("Slot migration {Id}: {Slots} are not served until the destination node answers.", Migration.Id, Migration.SlotsText);
        _cluster.State.Unsettle(Migration.Slots);
        _cluster.Finish();
        Release();
    }
}
