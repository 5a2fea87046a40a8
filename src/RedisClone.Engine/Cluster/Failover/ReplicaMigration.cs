using RedisClone.Engine.Cluster.State;

namespace RedisClone.Engine.Cluster.Failover;

/// <summary>
/// Moves this node, a replica of a primary with several, to a primary that has lost all of its replicas. The caller holds the lock of the
/// cluster.
/// </summary>
internal sealed class ReplicaMigration(ServerCore server, ClusterMember cluster)
{
    /// <summary>Milliseconds for which a primary must be without a replica.</summary>
    private const long Patience = 5000;

    public void Consider(long now)
    {
        ClusterState state = cluster.State;
        if (!server.Config.ClusterAllowReplicaMigration || !state.IsOk || state.Myself.Primary is not { } primary) return;
        int working = primary.Replicas.Count(static replica => !replica.Has(NodeFlags.Failed | NodeFlags.PossiblyFailed));
        ClusterNode[] primaries = [.. state.All.Where(static node => node.IsPrimary && !node.Has(NodeFlags.Handshake | NodeFlags.NoAddress))];
        int most = primaries.Where(static node => !node.IsFailed).Select(static node => node.WorkingReplicas).DefaultIfEmpty().Max();
        ClusterNode? target = null;
        foreach (ClusterNode node in primaries)
        {
            bool isOrphan = !node.IsFailed && node.Has(NodeFlags.MigrateTo) && node.WorkingReplicas == 0 && node.Slots.Count > 0;
            node.OrphanedSince = !isOrphan ? 0 : node.OrphanedSince > 0 ? node.OrphanedSince : now;
            if (isOrphan) target ??= node;
        }
        if (target is null || most < 2 || primary.WorkingReplicas != most || working <= server.Config.ClusterMigrationBarrier) return;
        // Of all replicas that could move, the one with the lowest name does.
        string first = primaries.Where(node => node.WorkingReplicas == most).SelectMany(static node => node.Replicas)
            .Where(static replica => !replica.IsFailed).Select(static replica => replica.Name).Min(StringComparer.Ordinal)!;
        if (first != state.Myself.Name || now - target.OrphanedSince <= Patience) return;
        server.Log.LogInformation("Migrating to orphaned master {Node}", target.Label);
        cluster.Follow(target);
    }
}
