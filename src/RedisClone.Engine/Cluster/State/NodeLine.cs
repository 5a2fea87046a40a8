using System.Globalization;
using System.Text;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.State;

/// <summary>A node as one line of text: in CLUSTER NODES, and with further fields in nodes.conf.</summary>
internal static class NodeLine
{
    /// <summary>Appends the line of a node without its end.</summary>
    /// <param name="text">The text to append to.</param>
    /// <param name="state">The cluster.</param>
    /// <param name="node">The node.</param>
    /// <param name="tls">Whether the port of the line is the one for TLS.</param>
    /// <param name="inFile">Whether the line has the fields that only nodes.conf has.</param>
    public static void Append(StringBuilder text, ClusterState state, ClusterNode node, bool tls, bool inFile)
    {
        CultureInfo plain = CultureInfo.InvariantCulture;
        text.Append(node.Name).Append(' ').Append(plain, $"{node.Ip}:{node.ClientPort(tls)}@{node.BusPort}");
        if (node.HostName.Length > 0 || inFile) text.Append(',').Append(node.HostName);
        if (inFile)
        {
            if (!tls && node.TlsPort > 0) text.Append(plain, $",tls-port={node.TlsPort}");
            if (tls && node.Port > 0) text.Append(plain, $",tcp-port={node.Port}");
            if (node.HumanName.Length > 0) text.Append(",nodename=").Append(node.HumanName);
            text.Append(",shard-id=").Append(node.ShardId);
        }
        ulong epoch = node.Leader.ConfigEpoch;
        bool isConnected = node.Link is not null || node.IsMyself;
        text.Append(' ').Append(NodeFlagNames.Format(node.Flags)).Append(' ').Append(node.Primary?.Name ?? "-")
            .Append(plain, $" {node.PingSent} {node.PongReceived} {epoch} ").Append(isConnected ? "connected" : "disconnected");
        foreach ((int first, int last) in node.Slots.Ranges())
        {
            text.Append(' ').Append(first);
            if (last > first) text.Append('-').Append(last);
        }
        if (!node.IsMyself) return;
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            if (state.Migrating[slot] is { } target) text.Append(plain, $" [{slot}->-{target.Name}]");
            else if (state.Importing[slot] is { } source) text.Append(plain, $" [{slot}-<-{source.Name}]");
        }
    }
}
