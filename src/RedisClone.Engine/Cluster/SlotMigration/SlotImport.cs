using System.Globalization;
using RedisClone.Configuration;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Replication.Following;
using RedisClone.Protocol;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>
/// One attempt of the destination of a slot migration: requests the slots from their owner, applies the snapshot and the stream, and
/// takes the slots over when the stream ends. Until then the slots are those of another node, so their keys are hidden from clients. The
/// keys of an attempt that fails are removed. The lock of the cluster protects the state.
/// </summary>
internal sealed class SlotImport(ServerCore server, ClusterMember cluster, SlotTask task) : IStreamOwner
{
    /// <summary>How long the source may take to see that this node has taken over, before the connection is closed.</summary>
    private static readonly TimeSpan Farewell = TimeSpan.FromSeconds(5);

    /// <summary>
    /// The milliseconds within which the replicas must acknowledge the keys, and within which the journal must begin. The source waits for
    /// longer before it asks.
    /// </summary>
    private const long Patience = 3000;

    private static readonly TimeSpan DiskPoll = TimeSpan.FromMilliseconds(1);

    private readonly CancellationTokenSource _end = new();
    private volatile SlotLink? _link;
    private volatile bool _isOver, _isFilling;
    private volatile string? _failure;
    private long _snapshot = -1;        // its length in bytes
    private long _applied;              // bytes of the snapshot and of the stream

    /// <summary>Whether keys of the slots may be added.</summary>
    public bool IsFilling => _isFilling;

    /// <summary>How much of the snapshot is applied, or null if none is being applied. Any thread may read it.</summary>
    public LongWork? Progress
    {
        get
        {
            long total = Volatile.Read(ref _snapshot), applied = Interlocked.Read(ref _applied);
            return _isOver || total <= 0 || applied >= total ? null
                : new LongWork(LongWorkKind.SlotImport, true, applied, total, LongWork.Since(task.StartedAt));
        }
    }

    /// <summary>Whether a further attempt may succeed.</summary>
    public bool MayRetry { get; private set; } = true;

    public void Start() => _ = Task.Run(RunAsync);

    /// <summary>Ends the attempt. Nothing is applied after the caller's hold of the lock, except what is being applied now.</summary>
    public void Stop(SlotTaskState state, string error)
    {
        if (_isOver) return;
        (_isOver, _isFilling) = (true, false);
        (task.State, task.Error) = (state, error);
        _end.Cancel();
        _link?.Dispose();
        cluster.Drop.Start(task.Slots);
        server.Log.LogWarning("Slot migration {Id}: importing {Slots} ended: {Reason}", task.Id, task.SlotsText, error);
    }

    /// <summary>Tells the source what is applied of the stream, and detects a source that is silent.</summary>
    public void Tend(long now)
    {
        if (_link is not { } link) return;
        if (link.Channel.IsSilent(now, server.Config.ReplTimeout * 1000L)) link.Dispose();
        long offset = Interlocked.Read(ref _applied) - _snapshot;
        if (_snapshot < 0 || offset < 0) return;
        if (task.State == SlotTaskState.TakesSnapshot) task.State = SlotTaskState.FollowsStream;
        link.Post("ACK", offset.ToString(CultureInfo.InvariantCulture));
    }

    bool IStreamOwner.IsCurrent => !_isOver && _failure is null;

    /// <summary>
    /// The source sends writes of the slots, and nothing else. A source that sends something else has an error or lies, so the import does
    /// not begin again.
    /// </summary>
    string? IStreamOwner.Refuse(CommandRow row, in Request request, int database)
    {
        (int inside, int outside) = SlotFeed.CountKeys(row, request, task.Slots);
        // PFCOUNT only reads, but it stores its result in the key.
        bool changes = row.IsWrite || row.Has(CommandFlags.ReadOnly) && row.Has(CommandFlags.MayReplicate);
        if (changes && inside > 0 && outside == 0 && database == 0) return null;
        MayRetry = false;
        return $"The source node sent '{row.FullName}', which is not a write of these slots alone";
    }

    void IStreamOwner.Applied(ReadOnlySpan<byte> bytes, int database)
    {
        Interlocked.Add(ref _applied, bytes.Length);
        if (server.Eviction is { IsOn: true, IsOver: true }) _failure = "This node has not enough memory for the slots";
    }

    void IStreamOwner.LeftPart()
    {
        // A failed import deletes what it has brought.
    }

    /// <summary>The source asks for the offset once, after its last write.</summary>
    async ValueTask<bool> IStreamOwner.AnswerAsync()
    {
        if (Interlocked.Read(ref _applied) < _snapshot) throw new InvalidDataException("The source node ended the stream within its snapshot");
        lock (cluster.Gate)
            if (!_isOver) task.State = SlotTaskState.TakesOver;
        await MakeDurableAsync().ConfigureAwait(false);
        await AwaitReplicasAsync().ConfigureAwait(false);
        lock (cluster.Gate)
        {
            if (!_isOver) TakeOver();
        }
        return false;
    }

    private async Task RunAsync()
    {
        string failure;
        try
        {
            await ImportAsync().ConfigureAwait(false);
            return;
        }
        catch (Exception e) when (e is IOException or InvalidDataException or ObjectDisposedException or OperationCanceledException)
        {
            failure = _failure ?? e.Message;
        }
        catch (Exception bug)
        {
            failure = bug.Message;
            server.Failures.WorkFailed("A slot migration failed unexpectedly", bug);
        }
        lock (cluster.Gate) Stop(SlotTaskState.Failed, failure);
    }

    private async Task ImportAsync()
    {
        ReplicaOf? address;
        lock (cluster.Gate)
        {
            if (_isOver) return;
            task.State = SlotTaskState.Connecting;
            address = cluster.State.Find(task.Source) is { } source ? cluster.AddressOf(source) : null;
        }
        // A client could not write these keys either.
        if (server.DiskRefusal is { } refusal) throw new IOException(refusal);
        cluster.Drop.Run(task.Slots);
        RefuseKeptKeys();
        lock (cluster.Gate) _isFilling = !_isOver;
        using SlotLink link = await SlotLink.OpenAsync(server, address, _end.Token).ConfigureAwait(false);
        _link = link;
        lock (cluster.Gate)
            if (!_isOver) task.State = SlotTaskState.AwaitsReply;
        TakeLength(await link.AskAsync("START", task.Id, [task.Destination, .. task.SlotWords]).ConfigureAwait(false));
        var run = new StreamRun(server, link.Connection, link.Dispose) { IsStrict = true };
        server.Sessions.Add(run.Client.Session);
        try
        {
            await new StreamApplier(server, this, link.Channel, run, database: 0).RunAsync(_end.Token).ConfigureAwait(false);
        }
        finally
        {
            server.Sessions.Remove(run.Client.Session);
        }
        await AwaitCloseAsync(link).ConfigureAwait(false);
    }

    /// <summary>
    /// Refuses slots that still have keys. An interrupted migration of redis-cli has left them here, and they may be nowhere else: what an
    /// import has left is removed.
    /// </summary>
    private void RefuseKeptKeys()
    {
        if (cluster.Drop.Occupied(task.Slots) is not [int slot, ..]) return;
        MayRetry = false;
        throw new IOException(
            $"This node has keys of slot {slot}, which may be the only ones: set the slot to importing here, and use redis-cli --cluster fix");
    }

    /// <summary>Takes the length of the snapshot, whose commands and those of the stream follow.</summary>
    private void TakeLength(string reply)
    {
        if (reply[0] == '$' && long.TryParse(reply[1..], NumberStyles.None, CultureInfo.InvariantCulture, out long length))
        {
            lock (cluster.Gate)
            {
                if (_isOver) return;
                task.State = SlotTaskState.TakesSnapshot;
                // The keys of an import that ends with the process are removed at the next start.
                cluster.State.Removable.UnionWith(task.Slots);
                cluster.State.Later(Pending.Save | Pending.Flush);
                TakeEpoch();
            }
            Volatile.Write(ref _snapshot, length);
            return;
        }
        // A server of another kind, or an earlier version, does not know the command.
        MayRetry = !reply.Contains("unknown", StringComparison.OrdinalIgnoreCase);
        const string foreign = "The source node is another server, or an earlier version: move the slots with MIGRATE, as redis-cli does";
        throw new IOException(MayRetry ? $"The source node refused: {reply[1..]}" : foreign);
    }

    /// <summary>
    /// Takes the epoch of the takeover long before it, and tells the nodes. If this node fails near the takeover, the replica that replaces
    /// it then takes a higher epoch, and wins when this node comes back. An epoch of the last moment could be the replica's too.
    /// </summary>
    private void TakeEpoch()
    {
        cluster.State.BumpEpoch();
        // Replicas also learn which slots are imported.
        cluster.FinishAndTell();
    }

    /// <summary>
    /// The source removes its keys after the takeover, so the keys must be on this disk before. A journal that appendonly demands and that
    /// has not begun keeps nothing.
    /// </summary>
    private async Task MakeDurableAsync()
    {
        long end = ServerCore.UnixMilliseconds() + Patience;
        JournalKeeper? journal;
        while ((journal = server.Journal) is not { IsOn: true })
        {
            if (!server.Config.AppendOnly) return;
            if (ServerCore.UnixMilliseconds() > end) throw new IOException(JournalRewrites.NotBegun);
            await Task.Delay(DiskPoll, _end.Token).ConfigureAwait(false);
        }
        long lsn = journal.Engine.Lsn;
        while (journal.SafeLsn < lsn)
        {
            _end.Token.ThrowIfCancellationRequested();
            if (server.Journal != journal && !server.Config.AppendOnly) return;
            if (server.Journal != journal) throw new IOException(JournalRewrites.NotBegun);
            if (journal.Failure.Length > 0) throw new IOException($"The journal has failed: {journal.Failure}");
            journal.Engine.Flush();
            if (journal.SafeLsn < lsn) await Task.Delay(DiskPoll).ConfigureAwait(false);
        }
    }

    /// <summary>
    /// The source removes its keys after the takeover, so a replica that may replace this node must have the keys before: also one whose
    /// link is down, or that is being copied to.
    /// </summary>
    private async Task AwaitReplicasAsync()
    {
        long offset = server.Replicas.Stream.Offset, end = ServerCore.UnixMilliseconds() + Patience;
        if (!HaveReplicas(offset)) server.Replicas.AskForOffsets();
        while (!HaveReplicas(offset))
        {
            if (ServerCore.UnixMilliseconds() > end) throw new IOException("A replica of this node does not acknowledge the keys");
            await Task.Delay(DiskPoll, _end.Token).ConfigureAwait(false);
        }
    }

    private bool HaveReplicas(long offset) =>
        cluster.HaveReplicas(offset, NodeFlags.Failed | NodeFlags.PossiblyFailed | NodeFlags.NoAddress | NodeFlags.NoFailover);

    /// <summary>Makes this node the owner of the slots. nodes.conf decides about a restart.</summary>
    private void TakeOver()
    {
        ClusterState state = cluster.State;
        (_isOver, _isFilling) = (true, false);
        // The source has a new epoch if it was replaced, or had a collision, during the import.
        bool isNewer = state.Find(task.Source) is not { } source || source.ConfigEpoch < state.Myself.ConfigEpoch;
        foreach ((int first, int last) in task.Slots.Ranges())
            for (int slot = first; slot <= last; slot++) state.Assign(slot, state.Myself);
        if (!isNewer) state.BumpEpoch();
        state.Later(Pending.Health | Pending.Save | Pending.Flush);
        (task.State, task.Error) = (SlotTaskState.Completed, "");
        cluster.Migrations.Archive(task);
        cluster.Migrations.Announcement.Begin(task.Slots);
    }

    /// <summary>Waits until the source has closed the connection, so that it does not take the end for a failure.</summary>
    private static async Task AwaitCloseAsync(SlotLink link)
    {
        using var limit = new CancellationTokenSource(Farewell);
        try
        {
            while (true)
            {
                await link.Channel.FillAsync(limit.Token).ConfigureAwait(false);
                link.Channel.Advance(link.Channel.Count);
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or OperationCanceledException)
        {
            // The expected end.
        }
    }
}
