using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;

namespace RedisClone.Engine.Cluster.Health;

/// <summary>Confirms failures of nodes by the reports of a majority of the primaries. The caller holds the lock of the cluster.</summary>
internal sealed class FailureReports(ServerCore server, ClusterMember cluster)
{
    private const int ValidityTimeouts = 2, UndoTimeouts = 2;

    /// <summary>Milliseconds for which a report counts.</summary>
    public long Validity => server.Config.ClusterNodeTimeout * ValidityTimeouts;

    /// <summary>Marks a node that may have failed as failed, and tells all nodes, if a majority agrees.</summary>
    public void ConfirmIfPossible(ClusterNode node, long now)
    {
        if (!node.Has(NodeFlags.PossiblyFailed) || node.IsFailed) return;
        ClusterState state = cluster.State;
        int reports = node.CountFailureReports(now, Validity) + (state.Myself.IsPrimary ? 1 : 0);
        if (reports < state.Quorum) return;
        server.Log.LogInformation("Marking node {Node} as failing (quorum reached).", node.Label);
        node.Flags = node.Flags & ~NodeFlags.PossiblyFailed | NodeFlags.Failed;
        node.FailedAt = now;
        cluster.Bus.Broadcast(MessageType.Fail, cluster.Bus.Messages.Fail(node));
        state.Later(Pending.Save | Pending.Health);
    }

    /// <summary>
    /// Ends the failure of a node that answers again. A primary with slots waits, because a replica of it may be elected.
    /// </summary>
    public void ClearIfPossible(ClusterNode node, long now)
    {
        bool mayReturn = node.IsReplica || node.Slots.Count == 0 || now - node.FailedAt > server.Config.ClusterNodeTimeout * UndoTimeouts;
        if (!mayReturn) return;
        server.Log.LogInformation("Clear FAIL state for node {Node}: it is reachable again.", node.Label);
        node.Flags &= ~NodeFlags.Failed;
        cluster.State.Later(Pending.Save | Pending.Health);
    }
}
