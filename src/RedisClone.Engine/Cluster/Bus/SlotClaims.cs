using RedisClone.Engine.Cluster.State;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.Bus;

/// <summary>Takes the slots that a primary claims, if its epoch is later than that of their present owner.</summary>
internal sealed class SlotClaims(ServerCore server, ClusterMember cluster)
{
    private ClusterState State => cluster.State;

    public void Take(ClusterNode claimant, ulong epoch, ReadOnlySpan<byte> slots)
    {
        ClusterNode myself = State.Myself;
        if (claimant == myself) return;
        ClusterNode? leader = myself.IsPrimary ? myself : myself.Primary;
        bool isReplaced = false;
        int lost = 0;
        var lostOfMine = new SlotSet();
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            ClusterNode? owner = State.OwnerOf(slot);
            if (!SlotSet.Contains(slots, slot))
            {
                if (owner == claimant) State.NotClaimed.Add(slot);
                continue;
            }
            if (owner == claimant)
            {
                State.NotClaimed.Remove(slot);
                continue;
            }
            // An import ends with CLUSTER SETSLOT.
            if (State.Importing[slot] is not null || !State.IsUnclaimed(slot) && owner!.ConfigEpoch >= epoch) continue;
            if (owner == myself) lostOfMine.Add(slot);
            if (owner is not null && owner == leader)
            {
                isReplaced = true;
                lost++;
                if (owner != myself && !State.NotClaimed.Contains(slot)) State.RemovableOfPrimary.NoteLost(slot);
            }
            State.Assign(slot, claimant);
            State.Later(Pending.Save | Pending.Health | Pending.Flush);
        }
        bool mayMove = server.Config.ClusterAllowReplicaMigration || SlotSet.CountOf(slots) == lost;
        if (isReplaced && leader!.Slots.Count == 0 && mayMove)
        {
            server.Log.LogInformation("Configuration change detected. Reconfiguring myself as a replica of {Node}", claimant.Label);
            cluster.Follow(claimant);
        }
        else if (myself.Primary?.Primary is { } top && top != myself)
        {
            server.Log.LogInformation("I'm a sub-replica! Reconfiguring myself from {Former} to {Node}", myself.Primary.Label, top.Label);
            cluster.Follow(top);
        }
        else if (lostOfMine.Count > 0)
            cluster.RemoveKeysOf(lostOfMine);
    }
}
