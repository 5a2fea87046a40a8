using System.Buffers.Binary;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>Messages of the cluster bus as a test sends them. The fields that are not named are zero.</summary>
internal static class ForgedMessage
{
    public const byte Publish = 4;

    private const int Header = 2256;

    public static byte[] Of(byte type, string sender, params byte[] data)
    {
        byte[] message = new byte[Header + data.Length];
        "RCmb"u8.CopyTo(message);
        BinaryPrimitives.WriteInt32BigEndian(message.AsSpan(4), message.Length);
        (message[9], message[13]) = (1, type);
        Encoding.ASCII.GetBytes(sender).CopyTo(message, 40);
        data.CopyTo(message, Header);
        return message;
    }

    public static byte[] OfPublish(string sender, string channel, string text)
    {
        byte[] data = new byte[8 + channel.Length + text.Length];
        BinaryPrimitives.WriteInt32BigEndian(data, channel.Length);
        BinaryPrimitives.WriteInt32BigEndian(data.AsSpan(4), text.Length);
        Encoding.ASCII.GetBytes(channel + text).CopyTo(data, 8);
        return Of(Publish, sender, data);
    }
}
