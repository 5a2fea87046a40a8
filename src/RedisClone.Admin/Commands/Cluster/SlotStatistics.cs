using System.Text;
using RedisClone.Engine;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Admin.Commands.Cluster;

/// <summary>CLUSTER SLOT-STATS: the keys and the use of the slots that this node, or its master, has.</summary>
internal static class SlotStatistics
{
    private static readonly (string Name, Func<SlotFigures, long> Read)[] s_counted =
    [
        ("cpu-usec", static figures => figures.Microseconds),
        ("network-bytes-in", static figures => figures.BytesIn),
        ("network-bytes-out", static figures => figures.BytesOut),
    ];

    public static void Run(ref CommandContext c, ClusterMember cluster)
    {
        if (c.Is(2, "slotsrange"u8) && c.Args.Count == 5) OfRange(ref c, cluster);
        else if (c.Is(2, "orderby"u8)) InOrder(ref c, cluster);
        else c.Fail($"ERR unknown subcommand or wrong number of arguments for '{c.Text(1)}'. Try CLUSTER HELP.");
    }

    private static void OfRange(ref CommandContext c, ClusterMember cluster)
    {
        int first = SlotCommands.Slot(ref c, 3);
        int last = c.Failed ? 0 : SlotCommands.Slot(ref c, 4);
        if (!c.Failed && first > last) c.Fail($"ERR Start slot number {first} is greater than end slot number {last}");
        if (!c.Failed) Reply(ref c, cluster, [.. Enumerable.Range(first, last - first + 1).Where(slot => IsOurs(cluster.State, slot))]);
    }

    private static void InOrder(ref CommandContext c, ClusterMember cluster)
    {
        if (Metric(ref c, cluster) is not { } metric)
        {
            c.Fail("ERR Unrecognized sort metric for ORDERBY.");
            return;
        }
        int most = KeySlot.Count, limits = 0, orders = 0;
        bool ascends = false;
        for (int i = 4; i < c.Args.Count; i++)
        {
            if (c.Is(i, "LIMIT"u8) && i + 1 < c.Args.Count)
            {
                most = (int)c.Int64(++i, 1, KeySlot.Count, "ERR Limit has to lie in between 1 and 16384 (maximum number of slots).");
                limits++;
            }
            else if (c.Is(i, "ASC"u8) || c.Is(i, "DESC"u8))
            {
                ascends = c.Is(i, "ASC"u8);
                orders++;
            }
            else
            {
                c.FailSyntax();
            }
            if (!c.Failed && (limits > 1 || orders > 1)) c.Fail("ERR Multiple filters of the same type are disallowed.");
            if (c.Failed) return;
        }
        ClusterState state = cluster.State;
        int[] slots = [.. Enumerable.Range(0, KeySlot.Count).Where(slot => IsOurs(state, slot))];
        // The sort is stable, so slots with equal figures stay in the order of their numbers.
        Reply(ref c, cluster, [.. (ascends ? slots.OrderBy(metric) : slots.OrderByDescending(metric)).Take(most)]);
    }

    private static Func<int, long>? Metric(ref CommandContext c, ClusterMember cluster)
    {
        if (c.Is(3, "key-count"u8))
        {
            ServerCore server = c.Server;
            return slot => SlotKeys.Count(server, slot);
        }
        if (cluster.Use is not { } use) return null;
        string name = c.Text(3);
        Func<SlotFigures, long>? read = Array.Find(s_counted, metric => metric.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Read;
        return read is null ? null : slot => read(use.Of(slot));
    }

    private static bool IsOurs(ClusterState state, int slot) => state.OwnerOf(slot) == state.Myself.Leader;

    private static void Reply(ref CommandContext c, ClusterMember cluster, int[] slots)
    {
        SlotUse? use = cluster.Use;
        c.Reply.ArrayHeader(slots.Length);
        foreach (int slot in slots)
        {
            c.Reply.ArrayHeader(2);
            c.Reply.Integer(slot);
            c.Reply.MapHeader(use is null ? 1 : 1 + s_counted.Length);
            c.Reply.Bulk("key-count"u8);
            c.Reply.Integer(SlotKeys.Count(c.Server, slot));
            if (use is null) continue;
            foreach ((string name, Func<SlotFigures, long> read) in s_counted)
            {
                c.Reply.Bulk(Encoding.ASCII.GetBytes(name));
                c.Reply.Integer(read(use.Of(slot)));
            }
        }
    }
}
