using System.Buffers.Binary;
using RedisClone.Engine.Cluster.Bus;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>Messages of the bus whose lengths do not fit are ignored, whatever they contain.</summary>
public sealed class BusMessageTests
{
    [Theory]
    [InlineData("RCmb", 2256u, true)]
    [InlineData("RCmb", 2255u, false)]
    [InlineData("RCmb", uint.MaxValue, true)]
    [InlineData("RESP", 2256u, false)]
    public void TheStartHasASignatureAndALength(string signature, uint length, bool isStart)
    {
        byte[] start = new byte[8];
        System.Text.Encoding.ASCII.GetBytes(signature, start);
        BinaryPrimitives.WriteUInt32BigEndian(start.AsSpan(4), length);
        Assert.Equal(isStart, BusMessage.TryLength(start, out uint read));
        Assert.Equal(length, read);
    }

    [Theory]
    [InlineData(3, 40, true)]
    [InlineData(3, 39, false)]
    [InlineData(5, 0, true)]
    [InlineData(6, 1, false)]
    [InlineData(8, 0, true)]
    [InlineData(7, 8 + 40 + 2048, true)]
    [InlineData(7, 8 + 40 + 2047, false)]
    [InlineData(4, 8, true)]
    [InlineData(4, 7, false)]
    [InlineData(4, 9, false)]
    [InlineData(0, 0, true)]
    [InlineData(0, 8, false)]
    [InlineData(11, 0, false)]
    public void TheLengthIsThatOfTheType(int type, int data, bool fits) =>
        Assert.Equal(fits, BusMessage.TryRead(New((MessageType)type, data), out _));

    [Fact]
    public void RowsAndExtensionsMustFit()
    {
        byte[] message = New(MessageType.Ping, 104 + 16);
        BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Count), 1);
        Assert.False(BusMessage.TryRead(message, out _));
        message[MessageLayout.MessageFlags] = MessageLayout.HasExtensions;
        BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Extensions), 1);
        Span<byte> extension = message.AsSpan(MessageLayout.Header + 104);
        foreach ((uint length, bool fits) in new[] { (16u, true), (0u, false), (8u, false), (24u, false), (15u, false), (uint.MaxValue & ~7u, false) })
        {
            BinaryPrimitives.WriteUInt32BigEndian(extension, length);
            Assert.Equal(fits, BusMessage.TryRead(message, out _));
        }
        BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Count), ushort.MaxValue);
        Assert.False(BusMessage.TryRead(message, out _));
    }

    [Fact]
    public void AnotherVersionIsIgnored()
    {
        byte[] message = New(MessageType.Ping, 0);
        BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Version), 2);
        Assert.False(BusMessage.TryRead(message, out _));
    }

    [Fact]
    public void RandomBytesNeverThrow()
    {
        var random = new Random(2);
        for (int i = 0; i < 20_000; i++)
        {
            byte[] message = new byte[MessageLayout.Header + random.Next(400)];
            random.NextBytes(message);
            BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Version), MessageLayout.ProtocolVersion);
            BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Type), (ushort)random.Next(12));
            BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Count), (ushort)random.Next(4));
            BusMessage.TryRead(message, out _);
        }
    }

    private static byte[] New(MessageType type, int data)
    {
        byte[] message = new byte[MessageLayout.Header + data];
        MessageLayout.Signature.CopyTo(message);
        BinaryPrimitives.WriteUInt32BigEndian(message.AsSpan(MessageLayout.Length), (uint)message.Length);
        BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Version), MessageLayout.ProtocolVersion);
        BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(MessageLayout.Type), (ushort)type);
        return message;
    }
}
