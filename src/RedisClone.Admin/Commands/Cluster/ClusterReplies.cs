using System.Text;
using RedisClone.Admin.Info;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;

namespace RedisClone.Admin.Commands.Cluster;

/// <summary>The subcommands of CLUSTER that describe the cluster.</summary>
internal static class ClusterReplies
{
    public static void Nodes(ref CommandContext c, ClusterMember cluster)
    {
        var text = new StringBuilder();
        bool tls = cluster.IsEncrypted(c.Session);
        foreach (ClusterNode node in cluster.State.All)
        {
            if (node.IsInHandshake && node.Ip.Length == 0) continue;
            NodeLine.Append(text, cluster.State, node, tls, inFile: false);
            text.Append('\n');
        }
        c.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(text.ToString()));
    }

    public static void Replicas(ref CommandContext c, ClusterMember cluster)
    {
        if (NodeCommands.Find(ref c, cluster) is not { } primary) return;
        if (primary.IsReplica)
        {
            c.Fail("ERR The specified node is not a master");
            return;
        }
        c.Reply.ArrayHeader(primary.Replicas.Count);
        foreach (ClusterNode replica in primary.Replicas)
        {
            var line = new StringBuilder();
            NodeLine.Append(line, cluster.State, replica, cluster.IsEncrypted(c.Session), inFile: false);
            c.Reply.BulkString(line.ToString());
        }
    }

    public static void Info(ref CommandContext c, ClusterMember cluster)
    {
        var text = new InfoWriter();
        var reading = new ServerReading(c.Server);
        foreach (InfoRow row in ClusterInfo.State) row.Write(reading, text);
        c.Reply.Verbatim("txt"u8, Encoding.ASCII.GetBytes(text.ToString()));
    }

    public static void Links(ref CommandContext c, ClusterMember cluster)
    {
        BusLink[] links = [.. cluster.State.All.SelectMany(static node => new[] { node.Link, node.Inbound }).OfType<BusLink>()];
        c.Reply.ArrayHeader(links.Length);
        foreach (BusLink link in links)
        {
            c.Reply.MapHeader(6);
            c.Reply.Bulk("direction"u8);
            c.Reply.BulkString(link.IsInbound ? "from" : "to");
            c.Reply.Bulk("node"u8);
            c.Reply.BulkString(link.Node!.Name);
            c.Reply.Bulk("create-time"u8);
            c.Reply.Integer(link.CreatedAt);
            c.Reply.Bulk("events"u8);
            c.Reply.BulkString(link.PendingBytes > 0 ? "rw" : "r");
            c.Reply.Bulk("send-buffer-allocated"u8);
            c.Reply.Integer(link.PendingBytes);
            c.Reply.Bulk("send-buffer-used"u8);
            c.Reply.Integer(link.PendingBytes);
        }
    }

    public static void Slots(ref CommandContext c, ClusterMember cluster)
    {
        (ClusterNode Owner, int First, int Last)[] ranges =
        [
            .. cluster.State.All.Where(static node => node.IsPrimary)
                .SelectMany(static node => node.Slots.Ranges().Select(range => (node, range.First, range.Last))).OrderBy(static range => range.First),
        ];
        c.Reply.ArrayHeader(ranges.Length);
        foreach ((ClusterNode owner, int first, int last) in ranges)
        {
            ClusterNode[] replicas = [.. owner.Replicas.Where(static replica => !replica.IsFailed)];
            long own = c.Server.Replicas.Stream.Offset;
            replicas = [.. replicas.Where(replica => (replica.IsMyself ? own : replica.ReplicationOffset) != 0)];
            c.Reply.ArrayHeader(3 + replicas.Length);
            c.Reply.Integer(first);
            c.Reply.Integer(last);
            WriteNode(ref c, cluster, owner);
            foreach (ClusterNode replica in replicas) WriteNode(ref c, cluster, replica);
        }
    }

    private static void WriteNode(ref CommandContext c, ClusterMember cluster, ClusterNode node)
    {
        ClusterEndpointType type = c.Server.Config.ClusterPreferredEndpointType;
        c.Reply.ArrayHeader(4);
        if (type == ClusterEndpointType.Unknown) c.Reply.Null();
        else c.Reply.BulkString(node.Endpoint(type));
        c.Reply.Integer(node.ClientPort(cluster.IsEncrypted(c.Session)));
        c.Reply.BulkString(node.Name);
        bool showsIp = type != ClusterEndpointType.Ip, showsName = type != ClusterEndpointType.HostName && node.HostName.Length > 0;
        c.Reply.MapHeader((showsIp ? 1 : 0) + (showsName ? 1 : 0));
        if (showsIp)
        {
            c.Reply.Bulk("ip"u8);
            c.Reply.BulkString(node.Ip);
        }
        if (!showsName) return;
        c.Reply.Bulk("hostname"u8);
        c.Reply.BulkString(node.HostName);
    }

    public static void Shards(ref CommandContext c, ClusterMember cluster)
    {
        ClusterNode[][] shards =
        [
            .. cluster.State.All.Where(static node => !node.IsInHandshake).GroupBy(static node => node.ShardId)
                .Select(static shard => shard.OrderBy(static node => node.IsReplica).ToArray()),
        ];
        c.Reply.ArrayHeader(shards.Length);
        foreach (ClusterNode[] nodes in shards)
        {
            (int First, int Last)[] ranges = [.. nodes[0].Leader.Slots.Ranges()];
            c.Reply.MapHeader(2);
            c.Reply.Bulk("slots"u8);
            c.Reply.ArrayHeader(2 * ranges.Length);
            foreach ((int first, int last) in ranges)
            {
                c.Reply.Integer(first);
                c.Reply.Integer(last);
            }
            c.Reply.Bulk("nodes"u8);
            c.Reply.ArrayHeader(nodes.Length);
            foreach (ClusterNode node in nodes) WriteMember(ref c, c.Server, node);
        }
    }

    private static void WriteMember(ref CommandContext c, ServerCore server, ClusterNode node)
    {
        long offset = node.IsMyself ? server.Replicas.Stream.Offset : node.ReplicationOffset;
        int fields = 6 + (node.Port > 0 ? 1 : 0) + (node.TlsPort > 0 ? 1 : 0) + (node.HostName.Length > 0 ? 1 : 0);
        c.Reply.MapHeader(fields);
        Text(ref c, "id", node.Name);
        if (node.Port > 0) Number(ref c, "port", node.Port);
        if (node.TlsPort > 0) Number(ref c, "tls-port", node.TlsPort);
        Text(ref c, "ip", node.Ip);
        Text(ref c, "endpoint", node.Endpoint(server.Config.ClusterPreferredEndpointType));
        if (node.HostName.Length > 0) Text(ref c, "hostname", node.HostName);
        Text(ref c, "role", node.IsReplica ? "replica" : "master");
        Number(ref c, "replication-offset", offset);
        Text(ref c, "health", node.IsFailed ? "fail" : node.IsReplica && offset == 0 ? "loading" : "online");
    }

    private static void Text(ref CommandContext c, string name, string value)
    {
        c.Reply.BulkString(name);
        c.Reply.BulkString(value);
    }

    private static void Number(ref CommandContext c, string name, long value)
    {
        c.Reply.BulkString(name);
        c.Reply.Integer(value);
    }
}
