using RedisClone.Engine.Cluster;
using RedisClone.Engine.Commands;

namespace RedisClone.Admin.Commands.Cluster;

/// <summary>The operations of DEBUG that disturb the bus.</summary>
internal static class ClusterDebug
{
    public static void EndLinks(ref CommandContext c)
    {
        if (!c.Is(2, "kill"u8)) c.FailSyntax();
        else if (c.Server.Cluster is not { } cluster) c.Fail("ERR Debug option only available for cluster mode enabled setup!");
        else
        {
            lock (cluster.Gate) EndLinks(ref c, cluster);
        }
    }

    public static void IgnoreMessages(ref CommandContext c)
    {
        long type = c.Int64(2);
        if (c.Failed) return;
        c.Server.Debug.IgnoredBusMessages = type;
        c.Reply.Ok();
    }

    private static void EndLinks(ref CommandContext c, ClusterMember cluster)
    {
        bool all = c.Is(3, "all"u8), to = all || c.Is(3, "to"u8), from = all || c.Is(3, "from"u8);
        if (cluster.State.Find(c.Text(4)) is not { } node) c.Fail($"ERR Unknown node {c.Echo(4)}");
        else if (!to && !from) c.Fail($"ERR Unknown direction {c.Echo(3)}");
        else
        {
            if (to) node.Link?.Close();
            if (from) node.Inbound?.Close();
            c.Reply.Ok();
        }
    }
}
