using System.Buffers.Binary;
using System.Net;
using System.Text;
using RedisClone.Engine.Cluster.State;
using RedisClone.Storage.Memory;
using static RedisClone.Engine.Cluster.Bus.MessageLayout;

namespace RedisClone.Engine.Cluster.Bus;

/// <summary>Takes what other nodes tell about nodes, and what they announce about themselves.</summary>
internal sealed class GossipReader(ServerCore server, ClusterMember cluster)
{
    private const NodeFlags AnyFailure = NodeFlags.Failed | NodeFlags.PossiblyFailed;

    private ClusterState State => cluster.State;

    public void TakeRows(ClusterNode sender, in BusMessage message, long now)
    {
        // One damaged name means that the whole section is damaged.
        for (int i = 0; i < message.GossipCount; i++)
            if (!NodeId.IsValid(BusMessage.Text(message.Gossip(i)[..NodeId.Length]))) return;
        for (int i = 0; i < message.GossipCount; i++)
        {
            ReadOnlySpan<byte> row = message.Gossip(i);
            string name = BusMessage.Text(row[..NodeId.Length]);
            var flags = (NodeFlags)BinaryPrimitives.ReadUInt16BigEndian(row[GossipFlags..]);
            if (!State.TryFind(name, out ClusterNode? node)) Add(row, name, flags, now);
            else if (!node.IsMyself) Take(sender, row, node, flags, now);
        }
    }

    private void Take(ClusterNode sender, ReadOnlySpan<byte> row, ClusterNode node, NodeFlags flags, long now)
    {
        bool fails = (flags & AnyFailure) != 0;
        if (sender.IsPrimary && sender != node)
        {
            if (!fails)
            {
                if (node.RemoveFailureReport(sender)) server.Log.LogDebug("Node {Sender} reported node {Node} is back online.", sender.Label, node.Label);
            }
            else
            {
                if (node.AddFailureReport(sender, now))
                    server.Log.LogDebug("Node {Sender} reported node {Node} as not reachable.", sender.Label, node.Label);
                cluster.Failures.ConfirmIfPossible(node, now);
            }
        }
        if (!fails && node.PingSent == 0 && node.CountFailureReports(now, cluster.Failures.Validity) == 0)
        {
            long answered = BinaryPrimitives.ReadUInt32BigEndian(row[GossipPongReceived..]) * 1000L;
            if (answered <= now + 500 && answered > node.PongReceived) node.PongReceived = answered;
        }
        // A node that does not answer here but answers the sender may have moved.
        if (node.Has(AnyFailure) && !fails && (flags & NodeFlags.NoAddress) == 0) Move(row, node);
    }

    private void Move(ReadOnlySpan<byte> row, ClusterNode node)
    {
        (string ip, int port, int tlsPort, int busPort) = AddressIn(row);
        if (ip.Length == 0 || node.Ip == ip && node.Port == port && node.TlsPort == tlsPort && node.BusPort == busPort) return;
        node.Link?.Close();
        (node.Ip, node.Port, node.TlsPort, node.BusPort) = (ip, port, tlsPort, busPort);
        node.Flags &= ~NodeFlags.NoAddress;
    }

    /// <summary>Adds a node of which this node did not know.</summary>
    private void Add(ReadOnlySpan<byte> row, string name, NodeFlags flags, long now)
    {
        if ((flags & (NodeFlags.NoAddress | NodeFlags.Handshake)) != 0 || State.IsForgotten(name, now)) return;
        (string ip, int port, int tlsPort, int busPort) = AddressIn(row);
        if (ip.Length == 0 || State.All.Length >= KeySlot.Count) return;
        const NodeFlags taken = NodeFlags.Primary | NodeFlags.Replica | AnyFailure | NodeFlags.NoFailover | NodeFlags.MigrateTo;
        State.Add(new ClusterNode(name, flags & taken, now) { Ip = ip, Port = port, TlsPort = tlsPort, BusPort = busPort });
        State.Later(Pending.Save);
    }

    private (string Ip, int Port, int TlsPort, int BusPort) AddressIn(ReadOnlySpan<byte> row)
    {
        string ip = BusMessage.Text(row.Slice(GossipIp, IpLength));
        int port = BinaryPrimitives.ReadUInt16BigEndian(row[GossipPort..]), other = BinaryPrimitives.ReadUInt16BigEndian(row[GossipOtherPort..]);
        int busPort = BinaryPrimitives.ReadUInt16BigEndian(row[GossipBusPort..]);
        if (!IPAddress.TryParse(ip, out _)) ip = "";
        return server.Config.TlsCluster ? (ip, other, port, busPort) : (ip, port, other, busPort);
    }

    public void TakeExtensions(ClusterNode sender, BusLink link, in BusMessage message, long now)
    {
        bool isOfPrimary = sender == State.Myself.Primary && link.IsInbound;
        if (isOfPrimary) State.RemovableOfPrimary.Begin(link, message.Slots);
        string hostName = "", humanName = "";
        string shard = sender.Leader.ShardId;
        ReadOnlySpan<byte> rest = message.Data;
        for (int i = message.ExtensionCount; i > 0; i--)
        {
            int length = (int)BinaryPrimitives.ReadUInt32BigEndian(rest);
            ReadOnlySpan<byte> data = rest[ExtensionHeader..length];
            switch (BinaryPrimitives.ReadUInt16BigEndian(rest[4..]))
            {
                case HostNameExtension:
                    hostName = Name(data);
                    break;
                case HumanNameExtension:
                    humanName = Name(data);
                    break;
                case ForgottenExtension:
                    Forget(data, now);
                    break;
                case RemovableExtension when isOfPrimary:
                    State.RemovableOfPrimary.Take(data[..SlotSet.Length]);
                    break;
                case ShardExtension when NodeId.IsValid(BusMessage.Text(data[..NodeId.Length])):
                    shard = BusMessage.Text(data[..NodeId.Length]);
                    sender.KnowsShards = true;
                    break;
            }
            rest = rest[length..];
        }
        if (sender.HostName == hostName && sender.HumanName == humanName && sender.ShardId == shard) return;
        (sender.HostName, sender.HumanName) = (hostName, humanName);
        if (sender.ShardId != shard)
        {
            sender.ShardId = shard;
            // A replica follows the shard of its primary.
            if (State.Myself.Primary == sender) State.Myself.ShardId = shard;
        }
        State.Later(Pending.Save);
    }

    /// <summary>A name goes into nodes.conf and replies, so that it has only characters of names.</summary>
    private static string Name(ReadOnlySpan<byte> data)
    {
        string name = Encoding.UTF8.GetString(data[..(data.IndexOf((byte)0) is >= 0 and var end ? end : data.Length)]);
        foreach (char c in name)
            if (!char.IsAsciiLetterOrDigit(c) && c is not ('-' or '.' or '_')) return "";
        return name;
    }

    private void Forget(ReadOnlySpan<byte> data, long now)
    {
        string name = BusMessage.Text(data[..NodeId.Length]);
        if (!State.TryFind(name, out ClusterNode? node) || node.IsMyself || State.Myself.Primary == node) return;
        ulong seconds = BinaryPrimitives.ReadUInt64BigEndian(data[NodeId.Length..]);
        State.ForgetUntil(name, now + (long)Math.Min(seconds, 3600) * 1000);
        State.Remove(node);
        State.Later(Pending.Save | Pending.Health);
    }
}
