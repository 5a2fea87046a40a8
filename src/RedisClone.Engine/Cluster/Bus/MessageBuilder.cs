using System.Buffers.Binary;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Cluster.State;
using static RedisClone.Engine.Cluster.Bus.MessageLayout;

namespace RedisClone.Engine.Cluster.Bus;

/// <summary>Writes the messages of this node. The caller holds the lock of the cluster, except for <see cref="Publish"/>.</summary>
internal sealed class MessageBuilder(ServerCore server, ClusterMember cluster)
{
    private const int LeastGossip = 3;

    private ClusterState State => cluster.State;

    /// <summary>A message that consists of a header.</summary>
    public byte[] Plain(MessageType type, byte flags = 0)
    {
        byte[] message = New(type, dataLength: 0);
        message[MessageFlags] |= flags;
        return message;
    }

    public byte[] Fail(ClusterNode failed)
    {
        byte[] message = New(MessageType.Fail, NodeId.Length);
        Put(message.AsSpan(Header), failed.Name);
        return message;
    }

    public byte[] Update(ClusterNode owner)
    {
        byte[] message = New(MessageType.Update, UpdateLength);
        Span<byte> data = message.AsSpan(Header);
        BinaryPrimitives.WriteUInt64BigEndian(data, owner.ConfigEpoch);
        Put(data[UpdateName..], owner.Name);
        owner.Slots.Bytes.CopyTo(data[UpdateSlots..]);
        if (owner.IsMyself) State.Unannounced?.RemoveFrom(data.Slice(UpdateSlots, SlotSet.Length));
        return message;
    }

    /// <summary>A published message. Its receivers use no slots of the header, so no lock is necessary.</summary>
    public byte[] Publish(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> text, bool toShard)
    {
        byte[] message = New(toShard ? MessageType.PublishShard : MessageType.Publish, PublishLengths + channel.Length + text.Length);
        Span<byte> data = message.AsSpan(Header);
        BinaryPrimitives.WriteUInt32BigEndian(data, (uint)channel.Length);
        BinaryPrimitives.WriteUInt32BigEndian(data[4..], (uint)text.Length);
        channel.CopyTo(data[PublishLengths..]);
        text.CopyTo(data[(PublishLengths + channel.Length)..]);
        return message;
    }

    /// <summary>PING, PONG or MEET: with rows about some nodes, and about all that may have failed.</summary>
    public byte[] Ping(MessageType type, BusLink link)
    {
        List<ClusterNode> rows = ChooseRows(link.Node);
        byte[] extensions = Extensions(link, out int count);
        byte[] message = New(type, rows.Count * GossipLength + extensions.Length);
        if (State.Unannounced is { } hidden && link.Node?.Primary != State.Myself) hidden.RemoveFrom(message.AsSpan(MessageLayout.Slots, SlotSet.Length));
        Number(message, Count, rows.Count);
        for (int i = 0; i < rows.Count; i++) PutRow(message.AsSpan(Header + i * GossipLength, GossipLength), rows[i]);
        extensions.CopyTo(message.AsSpan(Header + rows.Count * GossipLength));
        Number(message, MessageLayout.Extensions, count);
        if (count > 0) message[MessageFlags] |= HasExtensions;
        return message;
    }

    /// <summary>A tenth of the nodes, at least three, by chance, and every node that may have failed.</summary>
    private List<ClusterNode> ChooseRows(ClusterNode? receiver)
    {
        ClusterNode[] all = State.All;
        int wanted = Math.Max(LeastGossip, all.Length / 10);
        var rows = new List<ClusterNode>();
        for (int tries = 3 * wanted; tries > 0 && rows.Count < wanted; tries--)
        {
            ClusterNode node = all[Random.Shared.Next(all.Length)];
            if (node.IsMyself || node == receiver || !IsWorthTelling(node) || node.Has(NodeFlags.PossiblyFailed)) continue;
            if (node.Link is null && node.Slots.Count == 0 || rows.Contains(node)) continue;
            rows.Add(node);
        }
        rows.AddRange(all.Where(static node => node.Has(NodeFlags.PossiblyFailed) && IsWorthTelling(node)));
        return rows;
    }

    private static bool IsWorthTelling(ClusterNode node) => !node.Has(NodeFlags.Handshake | NodeFlags.NoAddress);

    private void PutRow(Span<byte> row, ClusterNode node)
    {
        Put(row, node.Name);
        BinaryPrimitives.WriteUInt32BigEndian(row[GossipPingSent..], (uint)(node.PingSent / 1000));
        BinaryPrimitives.WriteUInt32BigEndian(row[GossipPongReceived..], (uint)(node.PongReceived / 1000));
        PutIp(row[GossipIp..], node.Ip);
        bool tls = server.Config.TlsCluster;
        BinaryPrimitives.WriteUInt16BigEndian(row[GossipPort..], (ushort)(tls ? node.TlsPort : node.Port));
        BinaryPrimitives.WriteUInt16BigEndian(row[GossipOtherPort..], (ushort)(tls ? node.Port : node.TlsPort));
        BinaryPrimitives.WriteUInt16BigEndian(row[GossipBusPort..], (ushort)node.BusPort);
        BinaryPrimitives.WriteUInt16BigEndian(row[GossipFlags..], (ushort)node.Flags);
    }

    private byte[] Extensions(BusLink link, out int count)
    {
        var output = new MemoryStream();
        int written = 0;
        void Add(ushort type, ReadOnlySpan<byte> data)
        {
            Span<byte> header = stackalloc byte[ExtensionHeader];
            header.Clear();
            int length = (data.Length + 7) / 8 * 8;
            BinaryPrimitives.WriteUInt32BigEndian(header, (uint)(ExtensionHeader + length));
            BinaryPrimitives.WriteUInt16BigEndian(header[4..], type);
            output.Write(header);
            output.Write(data);
            for (int i = data.Length; i < length; i++) output.WriteByte(0);
            written++;
        }
        ClusterNode myself = State.Myself;
        if (myself.HostName.Length > 0) Add(HostNameExtension, Terminated(myself.HostName));
        if (myself.HumanName.Length > 0) Add(HumanNameExtension, Terminated(myself.HumanName));
        Span<byte> forgotten = stackalloc byte[NodeId.Length + sizeof(ulong)];
        foreach ((string name, long left) in State.Forgotten(ServerCore.UnixMilliseconds()))
        {
            Put(forgotten, name);
            BinaryPrimitives.WriteUInt64BigEndian(forgotten[NodeId.Length..], (ulong)(left / 1000));
            Add(ForgottenExtension, forgotten);
        }
        // The first message of a link invites the other node to tell its shard.
        if (!link.HasSent || link.Node is not { KnowsShards: false }) Add(ShardExtension, Encoding.ASCII.GetBytes(myself.ShardId));
        bool toReplica = link.Node is { } receiver && receiver.Primary == myself && receiver.Link == link;
        bool isNews = link.ToldRemovable is { } told ? !State.Removable.Bytes.SequenceEqual(told) : State.Removable.Count > 0;
        if (toReplica && isNews)
            Add(RemovableExtension, link.ToldRemovable = State.Removable.Bytes.ToArray());
        count = written;
        return output.ToArray();
    }

    private byte[] New(MessageType type, int dataLength)
    {
        byte[] message = new byte[Header + dataLength];
        ServerConfig config = server.Config;
        ClusterNode myself = State.Myself, leader = myself.Leader;
        Signature.CopyTo(message);
        BinaryPrimitives.WriteUInt32BigEndian(message.AsSpan(MessageLayout.Length), (uint)message.Length);
        Number(message, MessageLayout.Version, ProtocolVersion);
        Number(message, MessageLayout.Type, (int)type);
        BinaryPrimitives.WriteUInt64BigEndian(message.AsSpan(CurrentEpoch), State.CurrentEpoch);
        BinaryPrimitives.WriteUInt64BigEndian(message.AsSpan(ConfigEpoch), leader.ConfigEpoch);
        // Offset 0 means that the node has no complete data yet: other nodes hide it from clients.
        long offset = server.Role.Follower is { Copy: not null } ? 0 : server.Replicas.Stream.Offset;
        BinaryPrimitives.WriteUInt64BigEndian(message.AsSpan(Offset), (ulong)offset);
        Put(message.AsSpan(Sender), myself.Name);
        leader.Slots.Bytes.CopyTo(message.AsSpan(MessageLayout.Slots));
        if (myself.Primary is { } primary) Put(message.AsSpan(MessageLayout.Primary), primary.Name);
        PutIp(message.AsSpan(MessageLayout.Ip), config.ClusterAnnounceIp);
        Number(message, MessageLayout.Port, config.TlsCluster ? myself.TlsPort : myself.Port);
        Number(message, OtherPort, config.TlsCluster ? myself.Port : myself.TlsPort);
        Number(message, MessageLayout.BusPort, myself.BusPort);
        Number(message, Flags, (int)myself.Flags);
        message[MessageLayout.State] = State.IsOk ? (byte)0 : (byte)1;
        if (cluster.ManualFailover.IsQuiet) message[MessageFlags] |= Paused;
        return message;
    }

    private static byte[] Terminated(string text) => Encoding.UTF8.GetBytes(text + "\0");

    private static void Number(byte[] message, int at, int value) => BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(at), (ushort)value);

    private static void Put(Span<byte> field, string text) => Encoding.ASCII.GetBytes(text, field);

    private static void PutIp(Span<byte> field, string ip) => Encoding.ASCII.GetBytes(ip.AsSpan(0, Math.Min(ip.Length, IpLength - 1)), field);
}
