using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;
using RedisClone.Storage.Memory;

namespace RedisClone.Admin.Info;

/// <summary>The cluster as this node sees it at one moment.</summary>
internal sealed class ClusterReading
{
    public ClusterReading(ClusterMember cluster)
    {
        lock (cluster.Gate)
        {
            ClusterState state = cluster.State;
            for (int slot = 0; slot < KeySlot.Count; slot++)
            {
                if (state.OwnerOf(slot) is not { } owner) continue;
                Assigned++;
                if (owner.IsFailed) Failed++;
                else if (owner.Has(NodeFlags.PossiblyFailed)) PossiblyFailed++;
            }
            IsOk = state.IsOk;
            KnownNodes = state.All.Length;
            Size = state.Size;
            CurrentEpoch = (long)state.CurrentEpoch;
            MyEpoch = (long)state.Myself.Leader.ConfigEpoch;
            Links = cluster.Bus.LinkCount;
        }
        Sent = [.. Enumerable.Range(0, MessageTypes.Count).Select(cluster.Bus.SentOf)];
        Received = [.. Enumerable.Range(0, MessageTypes.Count).Select(cluster.Bus.ReceivedOf)];
        LinksOverLimit = cluster.Bus.OverLimit;
        LinksRefused = cluster.Bus.Refused;
    }

    public bool IsOk { get; }

    /// <summary>Slots that a node serves.</summary>
    public int Assigned { get; }

    /// <summary>Slots whose node does not answer this node.</summary>
    public int PossiblyFailed { get; }

    /// <summary>Slots whose node has failed.</summary>
    public int Failed { get; }

    public int KnownNodes { get; }

    /// <summary>Primaries with slots.</summary>
    public int Size { get; }

    public long CurrentEpoch { get; }

    public long MyEpoch { get; }

    public int Links { get; }

    /// <summary>Messages by type.</summary>
    public long[] Sent { get; }

    public long[] Received { get; }

    public long LinksOverLimit { get; }

    public long LinksRefused { get; }
}
