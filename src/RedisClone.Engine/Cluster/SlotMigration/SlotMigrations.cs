using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Metrics;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>
/// The slot migrations of this node: at most one at a time, as the destination or as the source, and those that have ended. Except for
/// <see cref="Importing"/> and <see cref="Flushed"/>, the caller holds the lock of the cluster.
/// </summary>
internal sealed class SlotMigrations(ServerCore server, ClusterMember cluster)
{
    private const int MostArchived = 32;
    private const long LeastDelay = 1000, MostDelay = 30_000;
    private const string IsBusy = "another ASM task is already in progress";

    private readonly List<SlotTask> _archive = [];
    private SlotTask? _importTask;
    private SlotImport? _import;        // the present attempt, or the last one if it has failed
    private SlotExport? _export;
    private long _retryAt;

    /// <summary>What this node tells about slots that it has just taken over.</summary>
    public SlotAnnouncement Announcement { get; } = new(server, cluster);

    /// <summary>The migration in progress, and then those that have ended, the latest first.</summary>
    public IEnumerable<SlotTask> All => Current is { } current ? [current, .. _archive] : _archive;

    private SlotTask? Current => _importTask ?? _export?.Migration;

    /// <summary>How far the import of slots is, or null.</summary>
    public LongWork? Importing => Volatile.Read(ref _import)?.Progress;

    /// <summary>Whether keys of a slot of another node are being added.</summary>
    public bool IsFilling(int slot) => _import is { IsFilling: true } && _importTask!.Slots.Contains(slot);

    /// <summary>Begins to import slots. Null, with an error without its code, if that is not possible.</summary>
    public SlotTask? Import(SlotSet slots, out string error)
    {
        if (FindSource(slots, out error) is not { } source) return null;
        if (source == cluster.State.Myself) error = "this node is already the owner of the slot range";
        else if (_importTask is { State: SlotTaskState.Failed }) CancelImport("Cancelled due to new import requested");
        if (error.Length == 0 && Current is not null) error = IsBusy;
        if (error.Length > 0) return null;
        _importTask = new SlotTask(NodeId.New(), slots, source.Name, cluster.State.Myself.Name, isImport: true, ServerCore.UnixMilliseconds());
        server.Log.LogInformation("Slot migration {Id}: importing {Slots} from {Node}", _importTask.Id, _importTask.SlotsText, source.Name);
        Attempt();
        return _importTask;
    }

    /// <summary>Begins to send slots to the node that imports them. Null, or the error that refuses it, without its code.</summary>
    public string? Export(IClientConnection connection, string id, string destination, SlotSet slots)
    {
        ClusterState state = cluster.State;
        if (!NodeId.IsValid(id)) return "invalid task ID";
        if (connection.Session.Replica is not null) return "the connection is that of a replica";
        if (FindSource(slots, out string error) is not { } source) return error;
        if (source != state.Myself) return "this node is not the owner of the slots";
        if (state.Find(destination) is not { IsPrimary: true, IsMyself: false }) return "the destination node is not known or not a master";
        if (!state.IsOk) return "the cluster is down";
        if (cluster.ManualFailover.HoldsWrites || Current is not null) return IsBusy;
        _archive.RemoveAll(task => task.Id == id);
        var task = new SlotTask(id, slots, state.Myself.Name, destination, isImport: false, ServerCore.UnixMilliseconds());
        task.StartedAt = task.CreatedAt;
        Volatile.Write(ref _export, new SlotExport(server, cluster, task, connection));
        server.Log.LogInformation("Slot migration {Id}: {Node} imports {Slots}", id, destination, task.SlotsText);
        _export.Begin();
        return null;
    }

    /// <summary>Notes how much of the stream the destination has applied.</summary>
    public void Acknowledge(IClientConnection from, long offset, long now) => _export?.Acknowledge(from, offset, now);

    /// <summary>
    /// Answers a source that asks whether this node has taken slots over: the epoch with which it did, or null. It does not take them over
    /// any more then.
    /// </summary>
    /// <param name="isKnown">False if the source must ask again, because it must not remove its keys yet.</param>
    public ulong? Outcome(string id, SlotSet slots, out bool isKnown)
    {
        isKnown = cluster.State.Unannounced is null;
        ClusterNode myself = cluster.State.Myself;
        bool ownsAll = true;
        foreach ((int first, int last) in slots.Ranges())
            for (int slot = first; slot <= last; slot++) ownsAll &= myself.Slots.Contains(slot);
        if (ownsAll) return myself.ConfigEpoch;
        if (_importTask?.Id == id) Stop("The source node has ended the migration");
        return null;
    }

    /// <summary>Cancels the migration with an ID, or any. Returns the number of migrations that were cancelled.</summary>
    public int Cancel(string? id, string reason)
    {
        if (Current is not { } current || id is not null && current.Id != id) return 0;
        if (_importTask is not null) CancelImport(reason);
        else _export!.Cancel(reason);
        return 1;
    }

    /// <summary>Cancels an import because a client has removed all keys. The caller holds every shard, and not the lock.</summary>
    public void Flushed()
    {
        lock (cluster.Gate)
            if (_importTask is not null) CancelImport("Cancelled because all keys were removed");
    }

    /// <summary>Advances the migration, ten times a second.</summary>
    public void Tend(long now)
    {
        _export?.Tend(now);
        _import?.Tend(now);
        Announcement.Tend();
        if (_importTask is not { State: SlotTaskState.Failed } failed) return;
        if (_import is { MayRetry: false }) EndImport(SlotTaskState.Failed, failed.Error);
        else if (_retryAt == 0) _retryAt = now + Math.Min(MostDelay, LeastDelay << (int)Math.Min(failed.Retries, 5));
        else if (now >= _retryAt) Retry(failed);
    }

    /// <summary>Looks whether the slots of the migration, or the role of this node, have changed.</summary>
    public void Look()
    {
        _export?.Look();
        if (_importTask is null) return;
        if (!cluster.State.Myself.IsPrimary) CancelImport("This node is a replica now");
        else if (_importTask.State != SlotTaskState.Failed && FindSource(_importTask.Slots, out string error)?.Name != _importTask.Source)
            Stop(error.Length > 0 ? error : "The slots have another owner now");
    }

    /// <summary>Keeps a migration that has ended for CLUSTER MIGRATION STATUS.</summary>
    public void Archive(SlotTask task)
    {
        task.EndedAt = ServerCore.UnixMilliseconds();
        if (task == _importTask) (_importTask, _import) = (null, null);
        else Volatile.Write(ref _export, null);
        _archive.Insert(0, task);
        if (_archive.Count > MostArchived) _archive.RemoveAt(MostArchived);
        server.Log.LogInformation("Slot migration {Id}: {State} {Error}", task.Id, task.StateName, task.Error);
    }

    private void Attempt()
    {
        _retryAt = 0;
        _importTask!.StartedAt = ServerCore.UnixMilliseconds();
        _importTask.State = SlotTaskState.None;
        _import = new SlotImport(server, cluster, _importTask);
        _import.Start();
    }

    /// <summary>Tries again after a failure, perhaps with another owner of the slots.</summary>
    private void Retry(SlotTask failed)
    {
        if (FindSource(failed.Slots, out string error) is { IsMyself: false } source)
        {
            failed.Source = source.Name;
            failed.Retries++;
            Attempt();
        }
        else
        {
            EndImport(SlotTaskState.Failed, error.Length > 0 ? error : "This node is the owner of the slots already");
        }
    }

    private void Stop(string reason) => _import?.Stop(SlotTaskState.Failed, reason);

    private void CancelImport(string reason)
    {
        _import?.Stop(SlotTaskState.Canceled, reason);
        EndImport(SlotTaskState.Canceled, reason);
    }

    private void EndImport(SlotTaskState state, string error)
    {
        (_importTask!.State, _importTask.Error) = (state, error);
        Archive(_importTask);
    }

    /// <summary>The node that serves all of the slots. Null, with an error, if they cannot be moved.</summary>
    private ClusterNode? FindSource(SlotSet slots, out string error)
    {
        ClusterState state = cluster.State;
        ClusterNode? source = null;
        error = "";
        if (!state.Myself.IsPrimary) error = "slot migration not allowed on replica.";
        else if (Array.Exists(state.Importing, static node => node is not null) || Array.Exists(state.Migrating, static node => node is not null))
            error = "all slot states must be STABLE to start a slot migration task.";
        foreach ((int first, int last) in slots.Ranges())
        {
            if (error.Length == 0 && _importTask is { State: not SlotTaskState.Failed } other && other.Slots != slots && Overlap(other.Slots, first, last))
                error = $"overlapping import exists for slot range: {first}-{last}";
            for (int slot = first; slot <= last && error.Length == 0; slot++)
            {
                ClusterNode? owner = state.OwnerOf(slot);
                source ??= owner;
                if (owner is null) error = $"slot has no owner: {slot}";
                else if (owner != source) error = "slots belong to different source nodes";
            }
        }
        return error.Length == 0 ? source : null;
    }

    private static bool Overlap(SlotSet slots, int first, int last)
    {
        for (int slot = first; slot <= last; slot++)
            if (slots.Contains(slot)) return true;
        return false;
    }
}
