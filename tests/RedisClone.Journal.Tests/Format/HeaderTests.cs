using RedisClone.Journal.Format;

namespace RedisClone.Journal.Tests.Format;

/// <summary>
/// Tests the lines that carry checksums. A changed bit, another salt or another offset must be detected.
/// </summary>
public sealed class HeaderTests
{
    private const ulong Salt = 0x0123456789abcdef;

    [Theory]
    [InlineData(0, 0, 0)]
    [InlineData(7, 3, 1)]
    [InlineData(long.MaxValue - 100, long.MaxValue - 200, 99)]
    [InlineData(123456789012, 123456780000, 4444444444)]
    public void GroupLinesRoundTripAndAreShortAndEven(long lsn, long durable, long payload)
    {
        Span<byte> line = stackalloc byte[GroupHeader.MaxLength];
        var header = new GroupHeader(lsn, durable, payload, 0xdeadbeef);
        var length = header.Write(line, Salt, 512);
        Assert.Equal(0, (length + payload) % 2);
        Assert.True(GroupHeader.TryRead(line[..length], Salt, 512, out var read, out var readLength));
        Assert.Equal(header, read);
        Assert.Equal(length, readLength);
        Assert.False(GroupHeader.TryRead(line[..length], Salt + 1, 512, out _, out _));
        Assert.False(GroupHeader.TryRead(line[..length], Salt, 514, out _, out _));
    }

    [Fact]
    public void EveryFlippedBitOfALineIsDetected()
    {
        var line = new byte[GroupHeader.MaxLength];
        var length = new GroupHeader(1234, 1000, 77, 0x00abcdef).Write(line, Salt, 40);
        for (var bit = 0; bit < length * 8; bit++)
        {
            line[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.False(GroupHeader.TryRead(line.AsSpan(0, length), Salt, 40, out _, out _), $"bit {bit}");
            line[bit / 8] ^= (byte)(1 << (bit % 8));
        }
    }

    [Fact]
    public void EveryFlippedBitOfAFileHeaderIsDetected()
    {
        var header = new byte[FileHeader.Length];
        FileHeader.Write(header, Salt);
        Assert.True(FileHeader.TryReadCopy(header, 0, out var salt));
        Assert.Equal(Salt, salt);
        for (var bit = 0; bit < FileHeader.Length * 8; bit++)
        {
            header[bit / 8] ^= (byte)(1 << (bit % 8));
            var copy = bit / 8 / FileHeader.CopyLength;
            Assert.False(FileHeader.TryReadCopy(header, copy, out _), $"bit {bit}");
            Assert.True(FileHeader.TryReadCopy(header, 1 - copy, out _));
            header[bit / 8] ^= (byte)(1 << (bit % 8));
        }
    }

    [Fact]
    public void AFillMarkIsValidOnlyInItsFileAndAtItsOffset()
    {
        var line = new byte[FillMark.Length];
        FillMark.Write(line, Salt, 4074);
        Assert.True(FillMark.IsAt(line, Salt, 4074));
        Assert.False(FillMark.IsAt(line, Salt, 4076));
        Assert.False(FillMark.IsAt(line, Salt + 1, 4074));
        Assert.False(FillMark.IsAt(line.AsSpan(0, FillMark.Length - 1), Salt, 4074));
        for (var bit = 0; bit < line.Length * 8; bit++)
        {
            line[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.False(FillMark.IsAt(line, Salt, 4074));
            line[bit / 8] ^= (byte)(1 << (bit % 8));
        }
    }

    [Fact]
    public void PaddingIsCountedInWholeLines()
    {
        Assert.Equal(0, Padding.Count(""u8));
        Assert.Equal(0, Padding.Count("#"u8));
        Assert.Equal(4, Padding.Count("#\n#\n#"u8));
        Assert.Equal(2, Padding.Count("#\n#RC1"u8));
        var parts = new List<ReadOnlyMemory<byte>>();
        Padding.Add(parts, 200_000);
        var all = parts.SelectMany(p => p.ToArray()).Append((byte)'x').ToArray();
        Assert.Equal(200_000, Padding.Count(all));
    }
}
