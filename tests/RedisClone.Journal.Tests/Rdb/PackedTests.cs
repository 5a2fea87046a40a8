using System.Buffers.Binary;
using System.Text;
using RedisClone.Journal.Rdb;
using RedisClone.Journal.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.Journal.Tests.Rdb;

/// <summary>
/// Tests the packed forms. Written forms are read back, old forms are built here by hand, and damage is reported
/// without an exception.
/// </summary>
public sealed class PackedTests(ITestOutputHelper output)
{
    private static readonly string[] Elements =
    [
        "", "a", new('x', 63), new('y', 64), new('z', 4095), new('w', 4096), new('v', 17000), "0", "127", "128", "-1", "-4096",
        "4095", "4096", "-4097", "32767", "-32768", "40000",
        "-8388608", "8388607", "8388608", "2147483647", "-2147483648", "4294967296", "9223372036854775807",
        "-9223372036854775808", "9223372036854775808", "01", "-0",
    ];

    [Fact]
    public void ListpacksRoundTrip()
    {
        var writer = new ListpackWriter();
        foreach (var element in Elements) writer.Append(Encoding.ASCII.GetBytes(element));
        Assert.Equal(Elements, ReadListpack(writer.Finish(), out var isDamaged));
        Assert.False(isDamaged);
        writer.Clear();
        Assert.Empty(ReadListpack(writer.Finish(), out isDamaged));
        Assert.False(isDamaged);
    }

    [Fact]
    public void ZiplistsAreRead()
    {
        Assert.Equal(Elements, ReadZiplist(Ziplist(Elements), out var isDamaged));
        Assert.False(isDamaged);
        Assert.Empty(ReadZiplist(Ziplist([]), out isDamaged));
        Assert.False(isDamaged);
        string[] immediate = ["0", "1", "12", "13", "-1"];
        Assert.Equal(immediate, ReadZiplist(Ziplist(immediate), out isDamaged));
    }

    [Theory]
    [InlineData(20)]
    [InlineData(40000)]
    [InlineData(1L << 40)]
    public void IntsetsRoundTrip(long widest)
    {
        long[] numbers = [-widest, -1, 0, 7, widest];
        Assert.Equal(numbers, ReadIntset(IntsetWriter.Write(numbers), out var isDamaged));
        Assert.False(isDamaged);
    }

    [Fact]
    public void AnIntsetThatDoesNotAscendIsDamaged()
    {
        ReadIntset(IntsetWriter.Write([1, 3, 3]), out var isDamaged);
        Assert.True(isDamaged);
        ReadIntset(IntsetWriter.Write([]), out isDamaged);
        Assert.True(isDamaged);
    }

    [Fact]
    public void ZipmapsAreRead()
    {
        var bytes = new List<byte> { 2 };
        AddZipmapText(bytes, "field", null);
        AddZipmapText(bytes, "value", 0);
        AddZipmapText(bytes, "long", null);
        AddZipmapText(bytes, new string('v', 300), 3);
        bytes.Add(255);
        var map = new ZipmapReader([.. bytes]);
        Assert.True(map.TryNext(out var field, out var value));
        Assert.Equal("field=value", Encoding.ASCII.GetString(field) + "=" + Encoding.ASCII.GetString(value));
        Assert.True(map.TryNext(out field, out value));
        Assert.Equal(300, value.Length);
        Assert.False(map.TryNext(out _, out _));
        Assert.False(map.IsDamaged);
    }

    /// <summary>Types of Redis before version 7, in a file of version 3.</summary>
    [Fact]
    public void ValuesInOldFormsAreRead()
    {
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target);
        writer.Header(3);
        writer.SelectDatabase(1);
        Key(RdbType.ListZiplist, "list", Ziplist(["a", "1", "b"]));
        Key(RdbType.HashZiplist, "hash", Ziplist(["f", "1", "g", "x"]));
        Key(RdbType.SortedSetZiplist, "zset", Ziplist(["m", "1.5", "n", "2"]));
        writer.Type(RdbType.ListQuicklistZiplists);
        writer.String("quick"u8);
        writer.Length(2);
        writer.String(Ziplist(["a"]));
        writer.String(Ziplist(["b", "c"]));
        writer.Type(RdbType.SortedSetText);
        writer.String("text"u8);
        writer.Length(2);
        writer.String("m"u8);
        writer.Byte(3);
        writer.Raw("2.5"u8);
        writer.String("n"u8);
        writer.Byte(255);
        writer.Byte(RdbExpireSeconds);
        writer.Raw([0x10, 0, 0, 0]);
        Key(RdbType.HashZipmap, "map", [1, 1, (byte)'f', 1, 0, (byte)'v', 255]);
        writer.Byte(255);
        writer.Flush();
        Assert.Null(RdbModel.TryRead(target.Bytes.ToArray(), out var model));
        Assert.Equal(
            "list:a,1,b hash:f,1,g,x zset:m,n quick:a,b,c text:m,n map:f,v", string.Join(' ', model.Keys.Select(Describe)));
        Assert.Equal([1.5, 2], model.Keys[2].Value.Scores);
        Assert.Equal([2.5, double.NegativeInfinity], model.Keys[4].Value.Scores);
        Assert.Equal(16000, model.Keys[5].Expire);
        Assert.All(model.Keys, k => Assert.Equal(1, k.Database));

        void Key(RdbType type, string name, byte[] blob)
        {
            writer.Type(type);
            writer.String(Encoding.ASCII.GetBytes(name));
            writer.String(blob);
        }
    }

    [Fact]
    public void DamagedFormsCauseNoException()
    {
        var random = Seed.Random(output);
        var writer = new ListpackWriter();
        foreach (var element in Elements.Where(e => e.Length < 100)) writer.Append(Encoding.ASCII.GetBytes(element));
        var listpack = writer.Finish().ToArray();
        var ziplist = Ziplist([.. Elements.Where(e => e.Length < 100)]);
        var intset = IntsetWriter.Write([1, 2, 3, 70000]);
        for (var i = 0; i < LongRun.Times(20_000, 1_000_000); i++)
        {
            _ = ReadListpack(Damage(listpack, random), out _);
            _ = ReadZiplist(Damage(ziplist, random), out _);
            _ = ReadIntset(Damage(intset, random), out _);
            var map = new ZipmapReader(
                Damage([2, 1, (byte)'f', 1, 0, (byte)'v', 1, (byte)'g', 2, 1, (byte)'v', (byte)'w', 0, 255], random));
            while (map.TryNext(out _, out _)) { }
        }
    }

    private const byte RdbExpireSeconds = 253;

    private static string Describe(RdbModel.Entry key) =>
        Encoding.ASCII.GetString(key.Name) + ":" + string.Join(',', key.Value.Items.Select(Encoding.ASCII.GetString));

    private static byte[] Damage(byte[] bytes, Random random)
    {
        var damaged = random.Next(4) == 0 ? bytes[..random.Next(bytes.Length + 1)] : [.. bytes];
        for (var i = random.Next(4); i >= 0 && damaged.Length > 0; i--)
            damaged[random.Next(damaged.Length)] = (byte)random.Next(256);

        // The length and the end mark are often corrected, so that the elements are read.
        if (damaged.Length >= 8 && random.Next(2) == 0) BinaryPrimitives.WriteInt32LittleEndian(damaged, damaged.Length);
        if (damaged.Length > 0 && random.Next(2) == 0) damaged[^1] = 255;
        return damaged;
    }

    private static List<string> ReadListpack(ReadOnlySpan<byte> bytes, out bool isDamaged)
    {
        var found = new List<string>();
        Span<byte> scratch = stackalloc byte[20];
        var reader = new ListpackReader(bytes);
        while (reader.TryNext(out var value)) found.Add(Encoding.ASCII.GetString(value.Text(scratch)));
        isDamaged = reader.IsDamaged;
        return found;
    }

    private static List<string> ReadZiplist(ReadOnlySpan<byte> bytes, out bool isDamaged)
    {
        var found = new List<string>();
        Span<byte> scratch = stackalloc byte[20];
        var reader = new ZiplistReader(bytes);
        while (reader.TryNext(out var value)) found.Add(Encoding.ASCII.GetString(value.Text(scratch)));
        isDamaged = reader.IsDamaged;
        return found;
    }

    private static List<long> ReadIntset(ReadOnlySpan<byte> bytes, out bool isDamaged)
    {
        var found = new List<long>();
        var reader = new IntsetReader(bytes);
        while (reader.TryNext(out var number)) found.Add(number);
        isDamaged = reader.IsDamaged;
        return found;
    }

    private static void AddZipmapText(List<byte> bytes, string text, int? free)
    {
        if (text.Length < 254)
        {
            bytes.Add((byte)text.Length);
        }
        else
        {
            bytes.Add(254);
            bytes.AddRange(BitConverter.GetBytes(text.Length));
        }
        if (free is not null) bytes.Add((byte)free);
        bytes.AddRange(Encoding.ASCII.GetBytes(text));
        for (var i = 0; i < (free ?? 0); i++) bytes.Add(9);
    }

    private static byte[] Ziplist(IReadOnlyCollection<string> elements)
    {
        var bytes = new List<byte>(new byte[10]);
        var (tail, previous) = (10, 0);
        foreach (var element in elements)
        {
            tail = bytes.Count;
            if (previous < 254) bytes.Add((byte)previous);
            else bytes.AddRange([254, .. BitConverter.GetBytes(previous)]);
            bytes.AddRange(ZiplistElement(element));
            previous = bytes.Count - tail;
        }
        bytes.Add(255);
        var ziplist = bytes.ToArray();
        BinaryPrimitives.WriteInt32LittleEndian(ziplist, ziplist.Length);
        BinaryPrimitives.WriteInt32LittleEndian(ziplist.AsSpan(4), tail);
        BinaryPrimitives.WriteUInt16LittleEndian(ziplist.AsSpan(8), (ushort)elements.Count);
        return ziplist;
    }

    private static byte[] ZiplistElement(string element)
    {
        if (long.TryParse(element, out var number) && number.ToString(null, null) == element)
        {
            if (number is >= 0 and <= 12) return [(byte)(0xF1 + number)];
            if (number is >= sbyte.MinValue and <= sbyte.MaxValue) return [0xFE, (byte)number];
            if (number is >= short.MinValue and <= short.MaxValue) return [0xC0, .. BitConverter.GetBytes((short)number)];
            if (number is >= -8388608 and <= 8388607) return [0xF0, .. BitConverter.GetBytes((int)number)[..3]];
            return number is >= int.MinValue and <= int.MaxValue
                ? [0xD0, .. BitConverter.GetBytes((int)number)]
                : [0xE0, .. BitConverter.GetBytes(number)];
        }
        var text = Encoding.ASCII.GetBytes(element);
        if (text.Length < 64) return [(byte)text.Length, .. text];
        if (text.Length < 16384) return [(byte)(0x40 | text.Length >> 8), (byte)text.Length, .. text];
        return [0x80, (byte)(text.Length >> 24), (byte)(text.Length >> 16), (byte)(text.Length >> 8), (byte)text.Length, .. text];
    }
}
