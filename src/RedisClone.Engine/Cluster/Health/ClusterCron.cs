using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;

namespace RedisClone.Engine.Cluster.Health;

/// <summary>The periodic work of the cluster, ten times a second: links, pings, failures. The caller holds the lock of the cluster.</summary>
internal sealed class ClusterCron(ServerCore server, ClusterMember cluster)
{
    public static readonly TimeSpan Period = TimeSpan.FromMilliseconds(100);

    private const long LeastHandshake = 1000;

    /// <summary>Once a second a node is pinged that has been silent longest among this many random ones.</summary>
    private const int PingedRounds = 10, Candidates = 5;

    private long _rounds;

    private ClusterState State => cluster.State;

    public void Run(long now)
    {
        _rounds++;
        cluster.RefreshMyself();
        long patience = Math.Max(LeastHandshake, server.Config.ClusterNodeTimeout);
        cluster.Bus.TendLinks(now, patience);
        foreach (ClusterNode node in State.All) Connect(node, now, patience);
        if (_rounds % PingedRounds == 0) PingSilent();
        bool failed = false;
        foreach (ClusterNode node in State.All) failed |= Watch(node, now);
        cluster.ManualFailover.Tend(now);
        cluster.Migrations.Tend(now);
        cluster.Drop.Removed.Tend();
        if (State.Myself.IsReplica)
        {
            cluster.ManualFailover.Advance();
            cluster.Election.Advance(now);
            cluster.ReplicaMigration.Consider(now);
        }
        if (failed || !State.IsOk) State.Later(Pending.Health);
    }

    /// <summary>Opens the link to a node, or removes a node whose handshake took too long.</summary>
    private void Connect(ClusterNode node, long now, long patience)
    {
        if (node.Has(NodeFlags.Myself | NodeFlags.NoAddress)) return;
        if (node.IsInHandshake && now - node.CreatedAt > patience) State.Remove(node);
        else if (node.Link is null) cluster.Bus.Open(node);
    }

    private void PingSilent()
    {
        ClusterNode? silent = null;
        for (int i = 0; i < Candidates; i++)
        {
            ClusterNode node = State.All[Random.Shared.Next(State.All.Length)];
            if (node.Link is null || node.PingSent != 0 || node.Has(NodeFlags.Myself | NodeFlags.Handshake)) continue;
            if (silent is null || node.PongReceived < silent.PongReceived) silent = node;
        }
        if (silent?.Link is { } link) cluster.Bus.SendPing(link, MessageType.Ping);
    }

    /// <summary>Pings a node when it is due and notes that it does not answer; true if it may have failed since.</summary>
    private bool Watch(ClusterNode node, long now)
    {
        if (node.Has(NodeFlags.Myself | NodeFlags.NoAddress | NodeFlags.Handshake)) return false;
        long timeout = server.Config.ClusterNodeTimeout;
        long sincePing = now - node.PingSent, sinceData = now - node.DataReceived;
        // A connection may be dead although the node lives. A new one is tried at half of the timeout.
        if (node.Link is { } old && now - old.CreatedAt > timeout && node.PingSent > 0 && sincePing > timeout / 2 && sinceData > timeout / 2) old.Close();
        long interval = server.Config.ClusterPingInterval > 0 ? server.Config.ClusterPingInterval : timeout / 2;
        if (node.Link is { } link && (node.PingSent == 0 && now - node.PongReceived > interval || cluster.ManualFailover.Waits(node)))
        {
            cluster.Bus.SendPing(link, MessageType.Ping);
            return false;
        }
        if (node.PingSent == 0 || Math.Min(sincePing, sinceData) <= timeout || node.Has(NodeFlags.PossiblyFailed | NodeFlags.Failed)) return false;
        node.Flags |= NodeFlags.PossiblyFailed;
        if (State.Myself.IsPrimary && State.Size == 1) cluster.Failures.ConfirmIfPossible(node, now);
        return true;
    }
}
