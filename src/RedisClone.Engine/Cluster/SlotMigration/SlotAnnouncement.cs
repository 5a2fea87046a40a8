using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>
/// Tells the nodes that this node has taken slots over: first its own replicas, and then all others. The former owner removes its keys
/// when it learns of it. A replica that replaces this node must claim the slots from then on, so it has to know of them before. A replica
/// shows what it knows in the header of its messages. The caller holds the lock of the cluster.
/// </summary>
internal sealed class SlotAnnouncement(ServerCore server, ClusterMember cluster)
{
    private readonly HashSet<ClusterNode> _unaware = [];
    private long _endsAt;

    /// <summary>Begins with the replicas.</summary>
    public void Begin(SlotSet slots)
    {
        ClusterState state = cluster.State;
        _unaware.Clear();
        _unaware.UnionWith(state.Myself.Replicas);
        // The slots of an earlier takeover may still be unknown to a replica.
        (state.Unannounced ??= new SlotSet()).UnionWith(slots);
        _endsAt = ServerCore.UnixMilliseconds() + server.Config.ClusterNodeTimeout;
        // nodes.conf has the slots before any node is told.
        cluster.Finish();
        // A node answers a ping before it reads the slots, so the answer to the second one shows that it knows them.
        PingUnaware();
        Tend();
    }

    /// <summary>Notes the slots that a replica of this node ascribes to it.</summary>
    public void NoteKnown(ClusterNode replica, ReadOnlySpan<byte> slots)
    {
        if (cluster.State.Unannounced is not { } expected || !expected.IsPartOf(slots) || !_unaware.Remove(replica)) return;
        Tend();
    }

    /// <summary>Tells all nodes, once every replica knows of the slots, or does not answer for cluster-node-timeout.</summary>
    public void Tend()
    {
        ClusterState state = cluster.State;
        if (state.Unannounced is null) return;
        // Slots that have left this node meanwhile are not shown by its replicas.
        state.Unannounced.IntersectWith(state.Myself.Slots);
        if (!state.Myself.IsPrimary || state.Unannounced.Count == 0 || ServerCore.UnixMilliseconds() >= _endsAt) _unaware.Clear();
        // A replica without an address has another name now, and is never heard.
        _unaware.RemoveWhere(replica =>
            replica.Has(NodeFlags.Failed | NodeFlags.PossiblyFailed | NodeFlags.NoAddress) || replica.Primary != state.Myself);
        if (_unaware.Count > 0)
        {
            PingUnaware();
            return;
        }
        state.Unannounced = null;
        cluster.Bus.BroadcastPong();
    }

    private void PingUnaware()
    {
        foreach (ClusterNode replica in _unaware)
            if (replica.Link is { } link) cluster.Bus.PingAgain(link, MessageType.Ping);
    }
}
