using System.Buffers.Binary;
using System.Text;
using RedisClone.Engine.Cluster.State;
using static RedisClone.Engine.Cluster.Bus.MessageLayout;

namespace RedisClone.Engine.Cluster.Bus;

/// <summary>A received message whose lengths are checked; see <see cref="TryRead"/>.</summary>
internal readonly ref struct BusMessage
{
    private readonly ReadOnlySpan<byte> _bytes;

    private BusMessage(ReadOnlySpan<byte> bytes) => _bytes = bytes;

    public MessageType Type => (MessageType)Number16(MessageLayout.Type);

    public ulong CurrentEpoch => Number64(MessageLayout.CurrentEpoch);

    public ulong ConfigEpoch => Number64(MessageLayout.ConfigEpoch);

    public long Offset => (long)Number64(MessageLayout.Offset);

    public string Sender => Text(_bytes.Slice(MessageLayout.Sender, NodeId.Length));

    public ReadOnlySpan<byte> Slots => _bytes.Slice(MessageLayout.Slots, SlotSet.Length);

    /// <summary>The primary of the sender; empty if the sender is a primary.</summary>
    public string Primary => Text(_bytes.Slice(MessageLayout.Primary, NodeId.Length));

    /// <summary>The address that the sender announces; empty for the address of its connection.</summary>
    public string Ip => Text(_bytes.Slice(MessageLayout.Ip, IpLength));

    public int Port => Number16(MessageLayout.Port);

    public int OtherPort => Number16(MessageLayout.OtherPort);

    public int BusPort => Number16(MessageLayout.BusPort);

    public NodeFlags Flags => (NodeFlags)Number16(MessageLayout.Flags);

    public bool Has(byte messageFlag) => (_bytes[MessageLayout.MessageFlags] & messageFlag) != 0;

    public int GossipCount => Number16(MessageLayout.Count);

    public int ExtensionCount => Has(HasExtensions) ? Number16(MessageLayout.Extensions) : 0;

    public ReadOnlySpan<byte> Gossip(int index) => _bytes.Slice(Header + index * GossipLength, GossipLength);

    /// <summary>What follows the header, or the gossip section of a ping.</summary>
    public ReadOnlySpan<byte> Data => _bytes[(IsPing ? Header + GossipCount * GossipLength : Header)..];

    public bool IsPing => Type <= MessageType.Meet;

    public static string Text(ReadOnlySpan<byte> field)
    {
        int end = field.IndexOf((byte)0);
        return Encoding.Latin1.GetString(end < 0 ? field : field[..end]);
    }

    /// <summary>Whether the first bytes can begin a message: the signature and a length.</summary>
    public static bool TryLength(ReadOnlySpan<byte> start, out uint length)
    {
        length = BinaryPrimitives.ReadUInt32BigEndian(start[MessageLayout.Length..]);
        return start.StartsWith(Signature) && length >= Header;
    }

    /// <summary>
    /// Checks the version and all lengths of a complete message. Returns false if the message must be ignored.
    /// </summary>
    public static bool TryRead(ReadOnlySpan<byte> bytes, out BusMessage message)
    {
        message = new BusMessage(bytes);
        if (message.Number16(MessageLayout.Version) != ProtocolVersion || (int)message.Type >= MessageTypes.Count) return false;
        long data = bytes.Length - Header;
        switch (message.Type)
        {
            case MessageType.Ping or MessageType.Pong or MessageType.Meet:
                data -= (long)message.GossipCount * GossipLength;
                return data >= 0 && AreWhole(message.Data, message.ExtensionCount);
            case MessageType.Fail:
                return data == NodeId.Length;
            case MessageType.Publish or MessageType.PublishShard:
                return data >= PublishLengths && data == PublishLengths + (long)message.Number32(Header) + message.Number32(Header + 4);
            case MessageType.Update:
                return data == UpdateLength;
            case MessageType.Module:
                return data >= ModuleLength && data == ModuleLength + (long)message.Number32(Header + 8);
            default:
                return data == 0;
        }
    }

    /// <summary>Whether extensions fill the rest of a message exactly.</summary>
    private static bool AreWhole(ReadOnlySpan<byte> rest, int count)
    {
        for (; count > 0; count--)
        {
            if (rest.Length < ExtensionHeader) return false;
            uint length = BinaryPrimitives.ReadUInt32BigEndian(rest);
            if (length < ExtensionHeader || length % 8 != 0 || length > rest.Length) return false;
            ushort type = BinaryPrimitives.ReadUInt16BigEndian(rest[4..]);
            int least = type switch
            {
                ForgottenExtension => NodeId.Length + sizeof(ulong),
                ShardExtension => NodeId.Length,
                RemovableExtension => SlotSet.Length,
                _ => 0,
            };
            if (length - ExtensionHeader < least) return false;
            rest = rest[(int)length..];
        }
        return rest.Length == 0;
    }

    private ushort Number16(int at) => BinaryPrimitives.ReadUInt16BigEndian(_bytes[at..]);

    private uint Number32(int at) => BinaryPrimitives.ReadUInt32BigEndian(_bytes[at..]);

    private ulong Number64(int at) => BinaryPrimitives.ReadUInt64BigEndian(_bytes[at..]);
}
