using RedisClone.Engine.Cluster.State;

namespace RedisClone.Engine.Cluster.Bus;

/// <summary>The positions of the fields of a message. Numbers are big-endian.</summary>
internal static class MessageLayout
{
    public const int Length = 4, Version = 8, Port = 10, Type = 12, Count = 14, CurrentEpoch = 16, ConfigEpoch = 24, Offset = 32;
    public const int Sender = 40, Slots = 80, Primary = 2128, Ip = 2168, Extensions = 2214, OtherPort = 2246, BusPort = 2248;
    public const int Flags = 2250, State = 2252, MessageFlags = 2253;

    /// <summary>The length of the header, which all messages have.</summary>
    public const int Header = 2256;

    public const int IpLength = 46;
    public const ushort ProtocolVersion = 1;

    public static ReadOnlySpan<byte> Signature => "RCmb"u8;

    // A row of the gossip section
    public const int GossipLength = 104;
    public const int GossipPingSent = 40, GossipPongReceived = 44, GossipIp = 48, GossipPort = 94, GossipBusPort = 96, GossipFlags = 98,
        GossipOtherPort = 100;

    // The data of UPDATE
    public const int UpdateName = 8, UpdateSlots = 8 + NodeId.Length, UpdateLength = UpdateSlots + SlotSet.Length;

    /// <summary>The two lengths before the data of PUBLISH.</summary>
    public const int PublishLengths = 8;

    /// <summary>The fields before the payload of a message of a module.</summary>
    public const int ModuleLength = 13;

    // Extensions of PING, PONG and MEET: length, type, padding, data
    public const int ExtensionHeader = 8;
    public const ushort HostNameExtension = 0, HumanNameExtension = 1, ForgottenExtension = 2, ShardExtension = 3;

    /// <summary>
    /// The slots of an import, see <see cref="ClusterState.Removable"/>. Only replicas of the node get this one, when the slots change: Redis
    /// logs an extension that it does not know.
    /// </summary>
    public const ushort RemovableExtension = 0x5243;

    // Message flags
    public const byte Paused = 1, ForceAck = 2, HasExtensions = 4;
}
