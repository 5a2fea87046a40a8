using System.Text;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Commands.Generic;

namespace RedisClone.Admin.Commands.Cluster;

/// <summary>The subcommands of CLUSTER that change the nodes, their roles and epochs.</summary>
internal static class NodeCommands
{
    public static void MyId(ref CommandContext c, ClusterMember cluster) => c.Reply.BulkString(cluster.State.Myself.Name);

    public static void MyShardId(ref CommandContext c, ClusterMember cluster) => c.Reply.BulkString(cluster.State.Myself.ShardId);

    public static void Meet(ref CommandContext c, ClusterMember cluster)
    {
        if (!c.HasAtMost(5)) return;
        long port = c.Int64(3, $"ERR Invalid base port specified: {c.Echo(3)}");
        long busPort = c.Args.Count == 5 ? c.Int64(4, $"ERR Invalid bus port specified: {c.Echo(4)}") : port + Configuration.ServerConfig.BusPortDistance;
        if (c.Failed) return;
        bool isValid = port is > 0 and <= ushort.MaxValue && busPort is > 0 and <= ushort.MaxValue;
        if (!isValid || !cluster.Meet(c.Text(2), (int)port, (int)busPort)) c.Fail($"ERR Invalid node address specified: {c.Echo(2)}:{c.Echo(3)}");
        else c.Reply.Ok();
    }

    public static void Forget(ref CommandContext c, ClusterMember cluster)
    {
        ClusterState state = cluster.State;
        string name = c.Text(2);
        if (state.Find(name) is not { } node)
        {
            if (state.IsForgotten(name, c.Now)) c.Reply.Ok();
            else c.Fail($"ERR Unknown node {c.Echo(2)}");
            return;
        }
        if (node.IsMyself) c.Fail("ERR I tried hard but I can't forget myself...");
        else if (state.Myself.Primary == node) c.Fail("ERR Can't forget my master!");
        if (c.Failed) return;
        state.Forget(name, c.Now);
        state.Remove(node);
        state.Later(Pending.Health | Pending.Save);
        c.Reply.Ok();
    }

    public static void Replicate(ref CommandContext c, ClusterMember cluster)
    {
        ClusterNode myself = cluster.State.Myself;
        if (Find(ref c, cluster) is not { } node) return;
        if (node.IsMyself) c.Fail("ERR Can't replicate myself");
        else if (node.IsReplica) c.Fail("ERR I can only replicate a master, not a replica.");
        else if (myself.IsPrimary && (myself.Slots.Count > 0 || c.Server.Snapshots.HasKeys))
            c.Fail("ERR To set a master the node must be empty and without assigned slots.");
        if (c.Failed) return;
        cluster.Follow(node);
        c.Reply.Ok();
    }

    public static void Failover(ref CommandContext c, ClusterMember cluster)
    {
        if (!c.HasAtMost(3)) return;
        bool isTakeover = c.Args.Count == 3 && c.Is(2, "takeover"u8), isForced = isTakeover || c.Args.Count == 3 && c.Is(2, "force"u8);
        ClusterNode myself = cluster.State.Myself;
        if (c.Args.Count == 3 && !isForced) c.FailSyntax();
        else if (myself.IsPrimary) c.Fail("ERR You should send CLUSTER FAILOVER to a replica");
        else if (myself.Primary is not { } primary) c.Fail("ERR I'm a replica but my master is unknown to me");
        else if (!isForced && (primary.IsFailed || primary.Link is null)) c.Fail("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE");
        if (c.Failed) return;
        c.Server.Log.LogInformation(isTakeover ? "Taking over the master (user request)." : "Manual failover user request accepted.");
        if (isTakeover)
        {
            cluster.State.BumpEpoch();
            cluster.ReplacePrimary();
        }
        else
        {
            cluster.ManualFailover.Begin(c.Now, isForced);
        }
        c.Reply.Ok();
    }

    public static void Reset(ref CommandContext c, ClusterMember cluster)
    {
        if (!c.HasAtMost(3)) return;
        bool isHard = c.Args.Count == 3 && c.Is(2, "hard"u8);
        if (c.Args.Count == 3 && !isHard && !c.Is(2, "soft"u8)) c.FailSyntax();
        else if (cluster.State.Myself.IsPrimary && c.Server.Snapshots.HasKeys) c.Fail("ERR CLUSTER RESET can't be called with master nodes containing keys");
        if (c.Failed) return;
        bool wasReplica = cluster.State.Myself.IsReplica;
        cluster.Reset(isHard);
        if (wasReplica) DatabaseCommands.EmptyAll(ref c);
        c.Reply.Ok();
    }

    public static void BumpEpoch(ref CommandContext c, ClusterMember cluster)
    {
        string word = cluster.State.BumpEpoch() ? "BUMPED" : "STILL";
        c.Reply.SimpleString(Encoding.ASCII.GetBytes($"{word} {cluster.State.Myself.ConfigEpoch}"));
    }

    public static void SetConfigEpoch(ref CommandContext c, ClusterMember cluster)
    {
        ClusterState state = cluster.State;
        long epoch = c.Int64(2);
        if (c.Failed) return;
        if (epoch < 0) c.Fail($"ERR Invalid config epoch specified: {epoch}");
        else if (state.All.Length > 1) c.Fail("ERR The user can assign a config epoch only when the node does not know any other node.");
        else if (state.Myself.ConfigEpoch != 0) c.Fail("ERR Node config epoch is already non-zero");
        if (c.Failed) return;
        state.Myself.ConfigEpoch = (ulong)epoch;
        state.CurrentEpoch = Math.Max(state.CurrentEpoch, (ulong)epoch);
        state.Later(Pending.Health | Pending.Save);
        c.Reply.Ok();
    }

    public static void SaveConfig(ref CommandContext c, ClusterMember cluster)
    {
        if (cluster.TrySave() is { } reason) c.Fail($"ERR error saving the cluster node config: {Errors.Spell(reason)}");
        else c.Reply.Ok();
    }

    public static void CountFailureReports(ref CommandContext c, ClusterMember cluster)
    {
        if (Find(ref c, cluster) is { } node) c.Reply.Integer(node.CountFailureReports(c.Now, cluster.Failures.Validity));
    }

    /// <summary>The node that the argument names, or null with an error.</summary>
    public static ClusterNode? Find(ref CommandContext c, ClusterMember cluster)
    {
        ClusterNode? node = cluster.State.Find(c.Text(2));
        if (node is null) c.Fail($"ERR Unknown node {c.Echo(2)}");
        return node;
    }
}
