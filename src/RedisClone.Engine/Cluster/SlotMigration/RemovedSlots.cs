using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Durability;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>
/// The slots whose keys were removed because another node serves them. nodes.conf names a slot until neither a crash nor a failover can bring
/// its keys back: until the files that a start loads, and the replicas, have the removal.
/// </summary>
internal sealed class RemovedSlots(ServerCore server, ClusterMember cluster)
{
    private readonly Lock _gate = new();
    private readonly List<Removal> _removals = [];

    /// <summary>Adds slots whose keys were removed until now.</summary>
    public void Add(SlotSet slots)
    {
        JournalKeeper? journal = server.Journal;
        var removal = new Removal(slots, journal, journal?.Engine.Lsn ?? 0, server.Snapshots.Changes, server.Replicas.Stream.Offset);
        lock (_gate) _removals.Add(removal);
    }

    /// <summary>Forgets slots, because keys of them are removed once more.</summary>
    public void Forget(SlotSet slots)
    {
        lock (_gate)
            foreach (Removal removal in _removals) removal.Slots.ExceptWith(slots);
    }

    /// <summary>Ends what is safe; called in every round of the cluster's work. The caller holds the lock of the cluster.</summary>
    public void Tend()
    {
        while (TakeSafe() is { } slots) cluster.KeysAreGone(slots);
    }

    private SlotSet? TakeSafe()
    {
        lock (_gate)
        {
            int index = _removals.FindIndex(removal => IsOnDisk(removal) && HaveReplicas(removal));
            if (index < 0) return null;
            SlotSet slots = _removals[index].Slots;
            _removals.RemoveAt(index);
            return slots;
        }
    }

    /// <summary>
    /// Whether the replicas have the removal. One that has failed may come back, with its old data and without news of the slots, and replace this
    /// node.
    /// </summary>
    private bool HaveReplicas(in Removal removal) => cluster.HaveReplicas(removal.Offset, without: NodeFlags.NoFailover);

    /// <summary>Whether a restart loads data without the keys: from the journal, or without one from the dump file.</summary>
    private bool IsOnDisk(in Removal removal)
    {
        if (server.Journal is { } journal)
        {
            // The base of another journal is later than the removal.
            if (journal.SafeLsn >= (journal == removal.Journal ? removal.Lsn : 0)) return true;
            journal.FlushSoon();
            return false;
        }
        if (server.Config.AppendOnly) return false;
        Snapshots dump = server.Snapshots;
        return dump.ChangesSaved >= removal.Changes || !dump.IsSaving && !server.Disk.Exists(dump.Path);
    }

    /// <param name="Slots">The slots whose keys are removed.</param>
    /// <param name="Journal">The journal of that time, if there was one.</param>
    /// <param name="Lsn">The end of the journal after the removal.</param>
    /// <param name="Changes">The number of changes after the removal.</param>
    /// <param name="Offset">The end of the replication stream after the removal.</param>
    private readonly record struct Removal(SlotSet Slots, JournalKeeper? Journal, long Lsn, long Changes, long Offset);
}
