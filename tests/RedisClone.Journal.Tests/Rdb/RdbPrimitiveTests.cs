using System.Text;
using RedisClone.Journal.Rdb;
using RedisClone.Journal.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.Journal.Tests.Rdb;

/// <summary>Tests checksums, compression, lengths and strings.</summary>
public sealed class RdbPrimitiveTests(ITestOutputHelper output)
{
    [Fact]
    public void CrcUsesTheJonesPolynomial() => Assert.Equal(0xe9c6d914c4b8d9caUL, Crc64.Compute("123456789"u8));

    [Fact]
    public void CrcIsTheSameFoldedAndInParts()
    {
        var random = Seed.Random(output);
        var bytes = new byte[5000];
        random.NextBytes(bytes);
        for (var i = 0; i < 300; i++)
        {
            var start = random.Next(bytes.Length);
            var part = bytes.AsSpan(start, random.Next(bytes.Length - start + 1));
            var before = (ulong)random.NextInt64();
            var expected = Crc64.AppendByTable(before, part);
            Assert.Equal(expected, Crc64.Append(before, part));
            var cut = random.Next(part.Length + 1);
            Assert.Equal(expected, Crc64.Append(Crc64.Append(before, part[..cut]), part[cut..]));
        }
    }

    /// <summary>MIGRATE takes another payload for a change of the value.</summary>
    [Fact]
    public void AWriterThatIsResetWritesTheSameAgain()
    {
        Random random = Seed.Random(output);
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target);
        byte[][] values = [.. Enumerable.Range(0, 300).Select(_ => Compressible(random, random.Next(3000)))];
        string[] first = [.. values.Select(Written)];
        for (int i = values.Length - 1; i >= 0; i--) Assert.Equal(first[i], Written(values[i]));

        string Written(byte[] value)
        {
            writer.Reset();
            target.Clear();
            writer.String(value);
            writer.Flush();
            return Convert.ToHexString(target.Bytes);
        }
    }

    [Fact]
    public void LzfRoundTrips()
    {
        var random = Seed.Random(output);
        var hashes = new int[Lzf.HashSize];
        for (var i = 0; i < 2000; i++)
        {
            var input = Compressible(random, random.Next(3000));
            var compressed = new byte[input.Length + input.Length / 32 + 1];
            Assert.True(Lzf.TryCompress(input, compressed, hashes, out var length));
            var back = new byte[input.Length];
            Assert.True(Lzf.TryDecompress(compressed.AsSpan(0, length), back));
            Assert.Equal(input, back);

            // Damaged input or a wrong length must not cause an exception.
            if (length == 0) continue;
            compressed[random.Next(length)] ^= (byte)(1 << random.Next(8));
            Lzf.TryDecompress(compressed.AsSpan(0, length), back);
        }
    }

    [Fact]
    public void LengthsAndStringsRoundTrip()
    {
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target, bufferSize: 512);
        ulong[] lengths = [0, 63, 64, 16383, 16384, uint.MaxValue, 1UL + uint.MaxValue, ulong.MaxValue];
        string[] strings =
        [
            "", "0", "-1", "127", "128", "-129", "32768", "2147483647", "2147483648", "-2147483648", "007", "-0", "+1", "1.0",
            new('a', 21), new string('b', 3000) + "c", "0123456789012345678901234567890123456789",
        ];
        foreach (var length in lengths) writer.Length(length);
        foreach (var text in strings) writer.String(Encoding.ASCII.GetBytes(text));
        writer.StringOf(5);
        writer.StringOf(long.MinValue);
        writer.Flush();
        var reader = new RdbReader(target.Bytes.ToArray());
        foreach (var length in lengths)
        {
            Assert.True(reader.TryLength(out var read));
            Assert.Equal(length, read);
        }
        foreach (var text in strings.Append("5").Append(long.MinValue.ToString(null, null)))
        {
            Assert.True(reader.TryString(out var read));
            Assert.Equal(text, Encoding.ASCII.GetString(read));
        }
        Assert.Equal(0, reader.Remaining);
        Assert.Equal(writer.Crc, reader.Crc);
        Assert.False(reader.TryByte(out _));
        Assert.Equal("Unexpected EOF reading RDB file", reader.Error);
    }

    private static byte[] Compressible(Random random, int length)
    {
        var bytes = new byte[length];
        for (var i = 0; i < length; i++)
            bytes[i] = i > 10 && random.Next(10) > 0
                ? bytes[i - 1 - random.Next(random.Next(2) == 0 ? 3 : 10)]
                : (byte)random.Next(256);
        return bytes;
    }
}
