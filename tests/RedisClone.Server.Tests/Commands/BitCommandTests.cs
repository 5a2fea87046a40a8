using RedisClone.Server.Tests.Durability;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Commands;

/// <summary>Compares the bit commands with a simple model, a text of 0 and 1.</summary>
public sealed class BitCommandTests(ITestOutputHelper output)
{
    private readonly CommandHost _host = new();

    [Fact]
    public void CountingAndSearchingAgreeWithAModel()
    {
        var random = Seed.Random(output);
        for (int round = 0; round < 200; round++)
        {
            byte[] bytes = new byte[random.Next(1, random.Next(2, 200))];
            random.NextBytes(bytes);
            // Searches skip long runs of equal bits.
            if (round % 3 == 0) bytes.AsSpan(random.Next(bytes.Length)).Fill(round % 2 == 0 ? (byte)0 : (byte)0xFF);
            string bits = string.Concat(bytes.Select(b => b.ToString("b8")));
            _host.Call("SET", "k", string.Concat(bytes.Select(b => (char)b)));
            for (int i = 0; i < 50; i++)
            {
                bool byBit = random.Next(2) == 0;
                int length = byBit ? bits.Length : bytes.Length;
                int start = random.Next(-length - 3, length + 3), end = random.Next(-length - 3, length + 3), bit = random.Next(2);
                string unit = byBit ? "BIT" : "BYTE", note = $"{start} {end} {unit} of {bits}";
                Assert.True(Count(bits, start, end, byBit).ToString() == _host.Run($"BITCOUNT k {start} {end} {unit}"), $"count {note}");
                Assert.True(Position(bits, bit, start, end, byBit).ToString() == _host.Run($"BITPOS k {bit} {start} {end} {unit}"),
                    $"position of {bit} {note}");
            }
        }
    }

    [Fact]
    public void CombiningAgreesWithAModel()
    {
        var random = Seed.Random(output);
        string[] operations = ["AND", "OR", "XOR", "DIFF", "DIFF1", "ANDOR", "ONE"];
        for (int round = 0; round < 300; round++)
        {
            int count = random.Next(2, 6);
            var sources = new string[count];
            for (int i = 0; i < count; i++)
            {
                sources[i] = string.Concat(Enumerable.Range(0, 8 * random.Next(0, random.Next(1, 120))).Select(_ => (char)('0' + random.Next(2))));
                SetBits("s" + i, sources[i]);
            }
            int longest = sources.Max(s => s.Length);
            string operation = operations[random.Next(operations.Length)];
            string keys = string.Join(' ', Enumerable.Range(0, count).Select(i => "s" + i));
            // The target may also be a source.
            string target = random.Next(3) == 0 ? "s0" : "d";
            Assert.Equal((longest / 8).ToString(), _host.Run($"BITOP {operation} {target} {keys}"));
            Assert.Equal(Combine(operation, [.. sources.Select(s => s.PadRight(longest, '0'))]), Bits(target));
        }
    }

    /// <summary>Long results are computed in pieces, and the sources end in different ones.</summary>
    [Theory]
    [InlineData("AND")]
    [InlineData("OR")]
    [InlineData("XOR")]
    [InlineData("DIFF")]
    [InlineData("DIFF1")]
    [InlineData("ANDOR")]
    [InlineData("ONE")]
    public void CombiningLongBitmapsAgreesWithAModel(string operation)
    {
        var random = Seed.Random(output);
        int[] lengths = [70_000, 32_768, 16_383, 5];
        string[] sources = [.. lengths.Select(length => string.Concat(Enumerable.Range(0, length).Select(_ => (char)random.Next(128))))];
        for (int i = 0; i < sources.Length; i++) _host.Call("SET", $"s{i}", sources[i]);
        Assert.Equal("70000", _host.Run($"BITOP {operation} d s3 s0 s1 s2"));
        string result = _host.Call("GET", "d");
        foreach (int at in (int[])[0, 4, 5, 16_382, 16_383, 16_384, 32_767, 32_768, 40_000, 65_535, 65_536, 69_999])
        {
            string[] bits = [.. new[] { 3, 0, 1, 2 }.Select(i => at < lengths[i] ? Convert.ToString(sources[i][at], 2).PadLeft(8, '0') : "00000000")];
            Assert.Equal(Combine(operation, bits), Convert.ToString(result[at], 2).PadLeft(8, '0'));
        }
    }

    [Theory]
    [InlineData("BITOP NOT d a b", "ERR BITOP NOT must be called with a single source key.")]
    [InlineData("BITOP DIFF d a", "ERR BITOP DIFF must be called with at least two source keys.")]
    [InlineData("BITOP ANDOR d a", "ERR BITOP ANDOR must be called with at least two source keys.")]
    [InlineData("BITOP NAND d a b", "ERR syntax error")]
    [InlineData("SETBIT k -1 1", "ERR bit offset is not an integer or out of range")]
    [InlineData("SETBIT k 4294967296 1", "ERR bit offset is not an integer or out of range")]
    [InlineData("SETBIT k 1 2", "ERR bit is not an integer or out of range")]
    [InlineData("GETBIT k x", "ERR bit offset is not an integer or out of range")]
    [InlineData("BITCOUNT k 0", "ERR syntax error")]
    [InlineData("BITCOUNT k 0 1 NIBBLE", "ERR syntax error")]
    [InlineData("BITCOUNT k a b", "ERR value is not an integer or out of range")]
    [InlineData("BITPOS k 2", "ERR The bit argument must be 1 or 0.")]
    [InlineData("BITPOS k 0 0 -1 X", "ERR syntax error")]
    [InlineData("BITFIELD k GET u64 0", "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")]
    [InlineData("BITFIELD k GET u8 -1", "ERR bit offset is not an integer or out of range")]
    [InlineData("BITFIELD k GET u8 #9223372036854775807", "ERR bit offset is not an integer or out of range")]
    [InlineData("BITFIELD k OVERFLOW no", "ERR Invalid OVERFLOW type specified")]
    [InlineData("BITFIELD k SET u8 0", "ERR syntax error")]
    [InlineData("BITFIELD_RO k SET u8 0 1", "ERR BITFIELD_RO only supports the GET subcommand")]
    public void InvalidRequestsAreRefused(string command, string expected) => Assert.Equal(expected, _host.Run(command));

    [Fact]
    public void FieldsOverflowAsRequested()
    {
        Assert.Equal("[0 0 101]", _host.Run("BITFIELD k SET u8 0 255 GET u4 8 INCRBY i8 #2 101"));
        Assert.Equal("[-56 127 nil]", _host.Run("BITFIELD k INCRBY i8 #2 99 OVERFLOW SAT INCRBY i8 #2 1000 OVERFLOW FAIL INCRBY i8 #2 1"));
        Assert.Equal("[255 254]", _host.Run("BITFIELD k OVERFLOW WRAP GET u8 0 INCRBY u8 0 -1"));
        Assert.Equal("[254 255]", _host.Run("BITFIELD k OVERFLOW SAT SET u8 0 -1 GET u8 0"));
        Assert.Equal("[0 -9223372036854775808 -9223372036854775808]", _host.Run("BITFIELD w SET i64 3 9223372036854775807 INCRBY i64 3 1 GET i64 3"));
        Assert.Equal("[]", _host.Run("BITFIELD k"));
        Assert.Equal("[0]", _host.Run("BITFIELD_RO missing GET i64 1000000"));
    }

    [Fact]
    public void FieldsAgreeWithAModel()
    {
        var random = Seed.Random(output);
        var bits = new string('0', 400).ToCharArray();
        SetBits("k", new string(bits));
        for (int round = 0; round < 3000; round++)
        {
            bool signed = random.Next(2) == 0;
            int width = random.Next(1, signed ? 65 : 64), offset = random.Next(0, 400 - width);
            long value = random.NextInt64(long.MinValue, long.MaxValue);
            string before = _host.Run($"BITFIELD k SET {(signed ? 'i' : 'u')}{width} {offset} {value}");
            Assert.Equal($"[{Read(bits, offset, width, signed)}]", before);
            for (int i = 0; i < width; i++) bits[offset + i] = (char)('0' + (value >> (width - 1 - i) & 1));
        }
        Assert.Equal(new string(bits), Bits("k"));
    }

    private static long Read(char[] bits, int offset, int width, bool signed)
    {
        long value = signed && bits[offset] == '1' ? -1 : 0;
        for (int i = 0; i < width; i++) value = value << 1 | (uint)(bits[offset + i] - '0');
        return value;
    }

    private static string Combine(string operation, params string[] sources)
    {
        var result = new char[sources[0].Length];
        for (int i = 0; i < result.Length; i++)
        {
            int ones = sources.Count(s => s[i] == '1');
            bool first = sources[0][i] == '1', others = ones > (first ? 1 : 0);
            bool set = operation switch
            {
                "AND" => ones == sources.Length,
                "OR" => ones > 0,
                "XOR" => ones % 2 == 1,
                "DIFF" => first && !others,
                "DIFF1" => !first && others,
                "ANDOR" => first && others,
                _ => ones == 1,
            };
            result[i] = set ? '1' : '0';
        }
        return new string(result);
    }

    private static long Count(string bits, int start, int end, bool byBit) =>
        TryRange(bits, ref start, ref end, byBit, strict: true) ? bits[start..end].Count(c => c == '1') : 0;

    private static long Position(string bits, int bit, int start, int end, bool byBit)
    {
        if (!TryRange(bits, ref start, ref end, byBit, strict: false)) return -1;
        int found = bits[start..end].IndexOf((char)('0' + bit));
        return found < 0 ? -1 : start + found;
    }

    private static bool TryRange(string bits, ref int start, ref int end, bool byBit, bool strict)
    {
        int unit = byBit ? 1 : 8, length = bits.Length / unit;
        if (strict && start < 0 && end < 0 && start > end) return false;
        if (start < 0) start = Math.Max(0, start + length);
        if (end < 0) end = Math.Max(0, end + length);
        end = Math.Min(end, length - 1);
        if (start > end) return false;
        start *= unit;
        end = (end + 1) * unit;
        return true;
    }

    private void SetBits(string key, string bits) =>
        _host.Call("SET", key, string.Concat(Enumerable.Range(0, bits.Length / 8).Select(i => (char)Convert.ToByte(bits.Substring(8 * i, 8), 2))));

    private string Bits(string key) => string.Concat(_host.Call("GETRANGE", key, "0", "-1").Select(c => ((byte)c).ToString("b8")));
}
