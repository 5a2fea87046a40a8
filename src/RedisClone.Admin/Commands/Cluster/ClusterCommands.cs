using RedisClone.Engine.Cluster;
using RedisClone.Engine.Commands;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands.Cluster;

/// <summary>A handler that runs with the lock of the cluster.</summary>
internal delegate void ClusterHandler(ref CommandContext c, ClusterMember cluster);

/// <summary>The commands of a node of a cluster. Without cluster-enabled they reply with the error that clients expect.</summary>
internal static class ClusterCommands
{
    private const string PerNode = "O(N) where N is the total number of Cluster nodes";
    private const string PerSlot = "O(N) where N is the total number of hash slot arguments";
    private const string Off = "ERR This instance has cluster support disabled";
    private const CommandFlags Change = NoAsyncLoading | CommandFlags.Admin | Stale;

    public static readonly CommandRow[] Rows =
    [
        new("CLUSTER", -2, Keys.None, None, "cluster", "3.0.0", null, "Commands about cluster mode.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                Sub("ADDSLOTS slot [slot ...]", -3, Change | AllShards, "3.0.0", SlotCommands.AddSlots, "Assigns hash slots to this node.", PerSlot),
                Sub("ADDSLOTSRANGE start-slot end-slot [start-slot end-slot ...]", -4, Change | AllShards, "7.0.0", SlotCommands.AddRanges,
                    "Assigns ranges of hash slots to this node.", PerSlot),
                Sub("BUMPEPOCH", 2, Change, "3.0.0", NodeCommands.BumpEpoch, "Advances the cluster's configuration epoch."),
                Sub("COUNT-FAILURE-REPORTS node-id", 3, CommandFlags.Admin | Stale, "3.0.0", NodeCommands.CountFailureReports,
                    "Counts the reports that a node has failed."),
                Sub("COUNTKEYSINSLOT slot", 3, Stale, "3.0.0", SlotCommands.CountKeys, "Counts the keys of a hash slot.", route: SlotCommands.ShardOfSlot),
                Sub("DELSLOTS slot [slot ...]", -3, Change, "3.0.0", SlotCommands.RemoveSlots, "Takes hash slots from this node.", PerSlot),
                Sub("DELSLOTSRANGE start-slot end-slot [start-slot end-slot ...]", -4, Change, "7.0.0", SlotCommands.RemoveRanges,
                    "Takes ranges of hash slots from this node.", PerSlot),
                Sub("FAILOVER [FORCE | TAKEOVER]", -2, Change | AllShards, "3.0.0", NodeCommands.Failover, "Makes a replica take over from its master."),
                Sub("FLUSHSLOTS", 2, Change, "3.0.0", SlotCommands.Flush, "Takes all hash slots from this node."),
                Sub("FORGET node-id", 3, Change, "3.0.0", NodeCommands.Forget, "Removes a node from the table of nodes."),
                Sub("GETKEYSINSLOT slot count", 4, Stale, "3.0.0", SlotCommands.ListKeys, "Returns keys of a hash slot.",
                    "O(N) where N is the number of requested keys", route: SlotCommands.ShardOfSlot),
                Help.Row("cluster", "5.0.0"),
                Sub("INFO", 2, Stale, "3.0.0", ClusterReplies.Info, "Returns the state of this node."),
                Sub("KEYSLOT key", 3, Stale, "3.0.0", SlotCommands.SlotOf, "Returns the hash slot of a key.", "O(N) where N is the number of bytes in the key"),
                Sub("LINKS", 2, Stale, "7.0.0", ClusterReplies.Links, "Lists the connections between nodes.", PerNode),
                Sub("MEET ip port [cluster-bus-port]", -4, Change, "3.0.0", NodeCommands.Meet, "Connects this node to another node."),
                Sub("MIGRATION <IMPORT start-slot end-slot [start-slot end-slot ...] | CANCEL <ID task-id | ALL> | STATUS <ID task-id | ALL>>", -4, Change,
                    "8.4.0", MigrationCommands.Migration, "Moves slots with all their keys to this node, at once.",
                    "O(N) where N is the total number of the slots between the start slot and end slot arguments."),
                Sub("MYID", 2, Stale, "3.0.0", NodeCommands.MyId, "Returns the ID of this node."),
                Sub("MYSHARDID", 2, Stale, "7.2.0", NodeCommands.MyShardId, "Returns the ID of this node's shard."),
                Sub("NODES", 2, Stale, "3.0.0", ClusterReplies.Nodes, "Returns the cluster as this node sees it.", PerNode),
                Sub("REPLICAS node-id", 3, CommandFlags.Admin | Stale, "5.0.0", ClusterReplies.Replicas, "Lists the replicas of a node.",
                    "O(N) where N is the number of replicas."),
                Sub("REPLICATE node-id", 3, Change, "3.0.0", NodeCommands.Replicate, "Makes this node a replica of another."),
                Sub("RESET [HARD | SOFT]", -2, CommandFlags.Admin | Stale | NoScript | AllShards, "3.0.0", NodeCommands.Reset,
                    "Removes this node from its cluster.", PerNode),
                Sub("SAVECONFIG", 2, Change, "3.0.0", NodeCommands.SaveConfig, "Writes this node's cluster state to its file."),
                Sub("SET-CONFIG-EPOCH config-epoch", 3, Change, "3.0.0", NodeCommands.SetConfigEpoch, "Sets the configuration epoch of a new node."),
                Sub("SETSLOT slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>", -4, Change | AllShards, "3.0.0",
                    SlotCommands.SetSlot, "Binds a hash slot to a node."),
                Sub("SHARDS", 2, Loading | Stale, "7.0.0", ClusterReplies.Shards, "Lists slots and nodes by shard.", PerNode),
                Sub("SLAVES node-id", 3, CommandFlags.Admin | Stale, "3.0.0", ClusterReplies.Replicas, "Lists the replicas of a node.",
                    "O(N) where N is the number of replicas.", "5.0.0", "`CLUSTER REPLICAS`"),
                Sub("SLOT-STATS <SLOTSRANGE start-slot end-slot | ORDERBY metric [LIMIT limit] [ASC | DESC]>", -4, Stale | AllShards, "8.2.0",
                    SlotStatistics.Run, "Returns the keys and the use of slots.",
                    "O(N) where N is the total number of slots based on arguments. O(N*log(N)) with ORDERBY subcommand."),
                Sub("SLOTS", 2, Loading | Stale, "3.0.0", ClusterReplies.Slots, "Lists slots and their nodes.", PerNode, "7.0.0", "`CLUSTER SHARDS`"),
                Sub("SLOTSTREAM <START task-id node-id start-slot end-slot [start-slot end-slot ...] | ACK offset | OUTCOME task-id start-slot end-slot "
                    + "[start-slot end-slot ...]>", -4, CommandFlags.Admin | NoAsyncLoading | NoMulti | NoScript | Long, "8.4.0", MigrationCommands.SlotStream,
                    "Sends slots to the node that imports them. Only nodes use it.", PerSlot),
            ],
        },
        new("ASKING",
            1, Keys.None, Fast, "cluster", "3.0.0", Asking, "Lets the next command use a slot that this node imports.")
            { Categories = ["connection"] },
        new("READONLY",
            1, Keys.None, Fast | Loading | Stale, "cluster", "3.0.0", ReadOnlyMode, "Allows reads from a replica of a cluster.")
            { Categories = ["connection"] },
        new("READWRITE",
            1, Keys.None, Fast | Loading | Stale, "cluster", "3.0.0", ReadWriteMode, "Ends the effect of READONLY.")
            { Categories = ["connection"] },
    ];

    private static CommandRow Sub(
        string name, int arity, CommandFlags flags, string since, ClusterHandler handler, string summary,
        string complexity = "O(1)", string? deprecated = null, string? instead = null, ShardRoute? route = null) =>
        new(name, arity, Keys.None, flags, "cluster", since, Locked(handler), summary)
        {
            Complexity = complexity,
            DeprecatedSince = deprecated,
            ReplacedBy = instead,
            Route = route,
        };

    private static CommandHandler Locked(ClusterHandler handler) => (ref CommandContext c) =>
    {
        if (c.Server.Cluster is not { } cluster)
        {
            c.Fail(Off);
            return;
        }
        lock (cluster.Gate)
        {
            handler(ref c, cluster);
            cluster.Finish();
        }
    };

    private static void Asking(ref CommandContext c)
    {
        if (!IsOn(ref c)) return;
        c.Session.AskedAt = c.Session.CommandsProcessed;
        c.Reply.Ok();
    }

    private static void ReadOnlyMode(ref CommandContext c) => SetReads(ref c, fromReplica: true);

    private static void ReadWriteMode(ref CommandContext c) => SetReads(ref c, fromReplica: false);

    private static void SetReads(ref CommandContext c, bool fromReplica)
    {
        if (!IsOn(ref c)) return;
        c.Session.ReadsReplica = fromReplica;
        c.Reply.Ok();
    }

    private static bool IsOn(ref CommandContext c) => c.Server.Cluster is not null || c.Fail(Off);
}
