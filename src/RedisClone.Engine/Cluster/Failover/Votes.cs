using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.Failover;

/// <summary>The votes of this node as a primary: at most one in each epoch. The caller holds the lock of the cluster.</summary>
internal sealed class Votes(ServerCore server, ClusterMember cluster)
{
    private const int TimeoutsBetweenVotes = 2;

    /// <summary>Votes for a replica that wants to take over, or logs the reason against it.</summary>
    public void Consider(ClusterNode candidate, in BusMessage request, long now)
    {
        ClusterState state = cluster.State;
        if (!state.Myself.IsPrimary || state.Myself.Slots.Count == 0) return;
        if (Objection(state, candidate, request, now) is { } objection)
        {
            server.Log.LogWarning("Failover auth denied to {Node}: {Reason}", candidate.Label, objection);
            return;
        }
        state.LastVoteEpoch = state.CurrentEpoch;
        candidate.Primary!.VotedAt = now;
        // The vote counts only once the disk has it: a restart must not vote again in this epoch.
        state.Later(Pending.Save | Pending.Flush);
        cluster.Finish();
        cluster.Bus.Send(candidate.Link, MessageType.AuthAck, cluster.Bus.Messages.Plain(MessageType.AuthAck));
        server.Log.LogInformation("Failover auth granted to {Node} for epoch {Epoch}", candidate.Label, state.CurrentEpoch);
    }

    private string? Objection(ClusterState state, ClusterNode candidate, in BusMessage request, long now)
    {
        if (request.CurrentEpoch < state.CurrentEpoch) return "its epoch is over";
        if (state.LastVoteEpoch == state.CurrentEpoch) return "already voted in this epoch";
        if (candidate.IsPrimary) return "it is a master";
        if (candidate.Primary is not { } primary) return "its master is unknown";
        if (!primary.IsFailed && !request.Has(MessageLayout.ForceAck)) return "its master is up";
        if (now - primary.VotedAt < server.Config.ClusterNodeTimeout * TimeoutsBetweenVotes) return "voted for another replica of its master a moment ago";
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            if (!SlotSet.Contains(request.Slots, slot) || state.IsUnclaimed(slot) || state.OwnerOf(slot)!.ConfigEpoch <= request.ConfigEpoch) continue;
            return $"slot {slot} has an owner of a later epoch";
        }
        return null;
    }
}
