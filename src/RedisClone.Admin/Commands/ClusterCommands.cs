using RedisClone.Engine.Commands;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>
/// Cluster mode is not supported. The commands reply with the errors that cluster-aware clients expect from a server without it.
/// </summary>
internal static class ClusterCommands
{
    private const string PerNode = "O(N) where N is the total number of Cluster nodes";
    private const string PerSlot = "O(N) where N is the total number of hash slot arguments";
    private const string Off = "cluster mode is always off";
    private const CommandFlags Change = NoAsyncLoading | CommandFlags.Admin | Stale;

    public static readonly CommandRow[] Rows =
    [
        new("CLUSTER", -2, Keys.None, None, "cluster", "3.0.0", null, "Commands about cluster mode.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                Sub("ADDSLOTS slot [slot ...]", -3, Change, "3.0.0", "Assigns hash slots to this node.", PerSlot),
                Sub("ADDSLOTSRANGE start-slot end-slot [start-slot end-slot ...]", -4, Change, "7.0.0", "Assigns ranges of hash slots to this node.", PerSlot),
                Sub("BUMPEPOCH", 2, Change, "3.0.0", "Advances the cluster's configuration epoch."),
                Sub("COUNT-FAILURE-REPORTS node-id", 3, CommandFlags.Admin | Stale, "3.0.0", "Counts the reports that a node has failed."),
                Sub("COUNTKEYSINSLOT slot", 3, Stale, "3.0.0", "Counts the keys of a hash slot."),
                Sub("DELSLOTS slot [slot ...]", -3, Change, "3.0.0", "Takes hash slots from this node.", PerSlot),
                Sub("DELSLOTSRANGE start-slot end-slot [start-slot end-slot ...]", -4, Change, "7.0.0", "Takes ranges of hash slots from this node.", PerSlot),
                Sub("FAILOVER [FORCE | TAKEOVER]", -2, Change, "3.0.0", "Makes a replica take over from its master."),
                Sub("FLUSHSLOTS", 2, Change, "3.0.0", "Takes all hash slots from this node."),
                Sub("FORGET node-id", 3, Change, "3.0.0", "Removes a node from the table of nodes."),
                Sub("GETKEYSINSLOT slot count", 4, Stale, "3.0.0", "Returns keys of a hash slot.", "O(N) where N is the number of requested keys"),
                Sub("HELP", 2, Loading | Stale, "5.0.0", "Lists the subcommands."),
                Sub("INFO", 2, Stale, "3.0.0", "Returns the state of this node."),
                Sub("KEYSLOT key", 3, Stale, "3.0.0", "Returns the hash slot of a key.", "O(N) where N is the number of bytes in the key"),
                Sub("LINKS", 2, Stale, "7.0.0", "Lists the connections between nodes.", PerNode),
                Sub("MEET ip port [cluster-bus-port]", -4, Change, "3.0.0", "Connects this node to another node."),
                Sub("MYID", 2, Stale, "3.0.0", "Returns the ID of this node."),
                Sub("MYSHARDID", 2, Stale, "7.2.0", "Returns the ID of this node's shard."),
                Sub("NODES", 2, Stale, "3.0.0", "Returns the cluster as this node sees it.", PerNode),
                Sub("REPLICAS node-id", 3, CommandFlags.Admin | Stale, "5.0.0", "Lists the replicas of a node.", "O(N) where N is the number of replicas."),
                Sub("REPLICATE node-id", 3, Change, "3.0.0", "Makes this node a replica of another."),
                Sub("RESET [HARD | SOFT]", -2, CommandFlags.Admin | Stale | NoScript, "3.0.0", "Removes this node from its cluster.", PerNode),
                Sub("SAVECONFIG", 2, Change, "3.0.0", "Writes this node's cluster state to its file."),
                Sub("SET-CONFIG-EPOCH config-epoch", 3, Change, "3.0.0", "Sets the configuration epoch of a new node."),
                Sub("SETSLOT slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>", -4, Change, "3.0.0", "Binds a hash slot to a node."),
                Sub("SHARDS", 2, Loading | Stale, "7.0.0", "Lists slots and nodes by shard.", PerNode),
                Sub("SLAVES node-id", 3, CommandFlags.Admin | Stale, "3.0.0", "Lists the replicas of a node.",
                    "O(N) where N is the number of replicas.", "5.0.0", "`CLUSTER REPLICAS`"),
                Sub("SLOTS", 2, Loading | Stale, "3.0.0", "Lists slots and their nodes.", PerNode, "7.0.0", "`CLUSTER SHARDS`"),
            ],
        },
        new("ASKING",
            1, Keys.None, Fast, "cluster", "3.0.0", Disabled, "Announces a redirected command.")
            { Categories = ["connection"], Lacks = Off },
        new("READONLY",
            1, Keys.None, Fast | Loading | Stale, "cluster", "3.0.0", Disabled, "Allows reads from a replica of a cluster.")
            { Categories = ["connection"], Lacks = Off },
        new("READWRITE",
            1, Keys.None, Fast | Loading | Stale, "cluster", "3.0.0", Disabled, "Ends the effect of READONLY.")
            { Categories = ["connection"], Lacks = Off },
    ];

    private static CommandRow Sub(
        string name, int arity, CommandFlags flags, string since, string summary,
        string complexity = "O(1)", string? deprecated = null, string? instead = null) =>
        new(name, arity, Keys.None, flags, "cluster", since, Disabled, summary)
        {
            Complexity = complexity,
            DeprecatedSince = deprecated,
            ReplacedBy = instead,
            Lacks = Off
        };

    private static void Disabled(ref CommandContext c) => c.Fail("ERR This instance has cluster support disabled");
}
