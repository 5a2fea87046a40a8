using RedisClone.Engine.Cluster.State;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.Health;

/// <summary>Decides whether the cluster serves clients: all slots have a working owner, and a majority of primaries is reachable.</summary>
internal sealed class ClusterHealth(ServerCore server, ClusterMember cluster)
{
    /// <summary>A primary waits after it has loaded its data, so that it learns of a failover before it serves writes.</summary>
    private const long StartDelay = 2000;

    private const long LeastRejoinDelay = 500, MostRejoinDelay = 5000;

    private long _firstLook;            // the first after the load
    private bool _hasBegun;
    private long _inMinorityAt;

    public void Update(long now)
    {
        ClusterState state = cluster.State;
        if (!_hasBegun) (_firstLook, _hasBegun) = (now, cluster.HasBegun);
        if (state.Myself.IsPrimary && !state.IsOk && now - _firstLook < StartDelay) return;
        bool isOk = !server.Config.ClusterRequireFullCoverage || CoversAll(state);
        state.Size = 0;
        int reachable = 0;
        foreach (ClusterNode node in state.All)
        {
            if (!node.IsPrimary || node.Slots.Count == 0) continue;
            state.Size++;
            if (!node.Has(NodeFlags.Failed | NodeFlags.PossiblyFailed)) reachable++;
        }
        if (reachable < state.Quorum)
        {
            isOk = false;
            _inMinorityAt = now;
        }
        if (isOk == state.IsOk) return;
        long delay = Math.Clamp(server.Config.ClusterNodeTimeout, LeastRejoinDelay, MostRejoinDelay);
        if (isOk && state.Myself.IsPrimary && now - _inMinorityAt < delay) return;
        server.Log.LogInformation("Cluster state changed: {State}", isOk ? "ok" : "fail");
        state.IsOk = isOk;
        state.SlotsChanged = true;
    }

    private static bool CoversAll(ClusterState state)
    {
        for (int slot = 0; slot < KeySlot.Count; slot++)
            if (state.OwnerOf(slot) is not { IsFailed: false }) return false;
        return true;
    }
}
