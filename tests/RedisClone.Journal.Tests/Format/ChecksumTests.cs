using System.Numerics;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Tests.Format;

/// <summary>The checksum is the same for every way in which the bytes are split.</summary>
public sealed class ChecksumTests
{
    [Fact]
    public void TheChecksumIsCorrectForAnyLength()
    {
        var bytes = new byte[5000];
        new Random(1).NextBytes(bytes);
        var expected = Checksum.Start;
        for (var length = 0; length < bytes.Length; length++)
        {
            Assert.Equal(expected, Checksum.Add(Checksum.Start, bytes.AsSpan(0, length)));
            expected = BitOperations.Crc32C(expected, bytes[length]);
        }
        Assert.Equal(expected, Checksum.Add(Checksum.Add(Checksum.Start, bytes.AsSpan(0, 1700)), bytes.AsSpan(1700)));
        Assert.Equal(0xE3069283, Checksum.Finish(Checksum.Add(Checksum.Start, "123456789"u8)));
    }
}
