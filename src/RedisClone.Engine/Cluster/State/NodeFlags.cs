namespace RedisClone.Engine.Cluster.State;

/// <summary>What a node knows about a node, with the values of the messages of the bus.</summary>
[Flags]
internal enum NodeFlags : ushort
{
    None = 0,
    Primary = 1,
    Replica = 2,

    /// <summary>The node does not answer this node. Other nodes must confirm a failure.</summary>
    PossiblyFailed = 4,

    /// <summary>A majority of the primaries confirmed the failure.</summary>
    Failed = 8,
    Myself = 16,

    /// <summary>The name of the node is not known before its first answer.</summary>
    Handshake = 32,
    NoAddress = 64,

    /// <summary>The first message to the node is MEET.</summary>
    Meet = 128,

    /// <summary>A primary that had replicas, so that replicas of others may move to it.</summary>
    MigrateTo = 256,

    /// <summary>A replica that never takes over by itself.</summary>
    NoFailover = 512,
}

/// <summary>The flags as CLUSTER NODES and nodes.conf show them.</summary>
internal static class NodeFlagNames
{
    private static readonly (NodeFlags Flag, string Name)[] All =
    [
        (NodeFlags.Myself, "myself"), (NodeFlags.Primary, "master"), (NodeFlags.Replica, "slave"), (NodeFlags.PossiblyFailed, "fail?"),
        (NodeFlags.Failed, "fail"), (NodeFlags.Handshake, "handshake"), (NodeFlags.NoAddress, "noaddr"), (NodeFlags.NoFailover, "nofailover"),
    ];

    public static string Format(NodeFlags flags)
    {
        string text = string.Join(',', All.Where(row => (flags & row.Flag) != 0).Select(static row => row.Name));
        return text.Length > 0 ? text : "noflags";
    }

    /// <summary>The flags of a text; null if a name is unknown.</summary>
    public static NodeFlags? Parse(string text)
    {
        if (text == "noflags") return NodeFlags.None;
        NodeFlags flags = NodeFlags.None;
        foreach (string name in text.Split(','))
        {
            NodeFlags flag = Array.Find(All, row => row.Name == name).Flag;
            if (flag == NodeFlags.None) return null;
            flags |= flag;
        }
        return flags;
    }
}
