using RedisClone.Journal.Rdb;
using RedisClone.Journal.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.Journal.Tests.Rdb;

/// <summary>
/// Reads a file with values of every type that is cut at every byte or randomly damaged. Each case is an error. No case
/// is an exception, a hang or a wrong value.
/// </summary>
public sealed class RdbDamageTests(ITestOutputHelper output)
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void EveryTruncationIsAnError(bool packed)
    {
        var intact = Sample(packed).Write(packed, RdbVersion.Redis74);
        Assert.Null(Read(intact));
        for (var length = 0; length < intact.Length; length++) Assert.NotNull(Read(intact[..length]));
        Assert.Equal(intact, ReadModel(intact).Write(packed, RdbVersion.Redis74));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void EveryFlippedBitIsAnError(bool packed)
    {
        var bytes = Sample(packed).Write(packed, RdbVersion.Redis74);
        var step = LongRun.IsLong ? 1 : 5;
        for (var bit = 0; bit < bytes.Length * 8; bit += bit < 200 ? 1 : step)
        {
            bytes[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.True(Read(bytes) is not null, $"bit {bit}");
            bytes[bit / 8] ^= (byte)(1 << (bit % 8));
        }
    }

    /// <summary>Checks the structure alone, without verifying the checksum.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void DamageWithoutAChecksumCausesNoException(bool packed)
    {
        var random = Seed.Random(output);
        var intact = Sample(packed).Write(packed, RdbVersion.Redis74, compress: random.Next(2) == 0);
        for (var i = 0; i < LongRun.Times(3000, 200_000); i++)
        {
            byte[] bytes = [.. intact];
            for (var n = random.Next(3); n >= 0; n--) bytes[9 + random.Next(bytes.Length - 9)] = (byte)random.Next(256);
            RdbModel.TryRead(bytes, out _, verifyChecksum: false);
            var before = GC.GetAllocatedBytesForCurrentThread();
            RdbFileReader.Read(new RdbReader(bytes), new SkipAll(), verifyChecksum: false);
            Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 4 << 20);
        }
    }

    [Theory]
    [InlineData("\xfc\xfb\xff\xff\xff\xff\xff\xff\xff")]
    [InlineData("\xfd\xfb\xff\xff\xff")]
    public void AnExpiryBefore1970HasPassed(string expiry)
    {
        byte[] bytes = System.Text.Encoding.Latin1.GetBytes($"REDIS0010\xfe\0{expiry}\0\x1j\x1v\xff\0\0\0\0\0\0\0\0");
        Assert.Null(RdbModel.TryRead(bytes, out var model));
        Assert.Equal(0, Assert.Single(model.Keys).Expire);
    }

    [Theory]
    [InlineData("", "Unexpected EOF reading RDB file")]
    [InlineData("GARBAGE!!", "Wrong signature trying to load DB from file")]
    [InlineData("REDIS0099", "Can't handle RDB format version 99")]
    [InlineData("REDIS00x1", "Can't handle RDB format version 0")]
    [InlineData("VALKEY080", "the file is in Valkey's own format, of version 9 or later")]
    [InlineData("REDIS0012\x1f", "values of type 31 are not known")]
    [InlineData("REDIS0012\x07", "The RDB file contains module data I can't load: no matching module type 'ReJSON-RL'")]
    public void UnsupportedFilesHaveSpecificErrors(string start, string error)
    {
        byte[] bytes = System.Text.Encoding.Latin1.GetBytes(start);
        if (bytes.Length > 9)
        {
            // A key follows and, for a module, the number of its type.
            bytes = [.. bytes, 1, (byte)'k', 0x81, .. Convert.FromHexString(ModuleId("ReJSON-RL", 3))];
        }
        Assert.StartsWith(error, Read(bytes), StringComparison.Ordinal);
    }

    /// <summary>
    /// Field expiries in the forms of Redis 7.4 and of its release candidates, and streams of Redis 8.
    /// </summary>
    [Fact]
    public void NewerFormsAreRead()
    {
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target);
        writer.Header(RdbVersion.Highest);
        writer.Type(RdbType.HashMetadataOld);
        writer.String("h"u8);
        writer.Length(2);
        writer.Length(0);
        writer.String("f"u8);
        writer.String("v"u8);
        writer.Length(5000);
        writer.String("g"u8);
        writer.String("w"u8);
        writer.Type(RdbType.HashListpackExpiringOld);
        writer.String("l"u8);
        var listpack = new ListpackWriter();
        foreach (var word in new[] { "g", "w", "7000", "f", "v", "0" })
            listpack.Append(System.Text.Encoding.ASCII.GetBytes(word));
        writer.String(listpack.Finish());
        writer.Type(RdbType.Stream5);
        writer.String("s"u8);
        var stream = new RdbStreamWriter(writer);
        stream.Begin(1);
        stream.BeginEntry(new(5, 1));
        stream.Field("a"u8, "b"u8);
        stream.EndEntries(RdbType.Stream3, new() { Length = 1, Last = new(5, 1), First = new(5, 1), EntriesAdded = 1 }, 1);
        stream.Group("g"u8, new(5, 1), 1, 1);
        stream.Pending(new(5, 1), 1234, 2);
        stream.Consumers(0);
        writer.Length(1);
        writer.RawStreamId(5, 1);
        writer.Length(100);
        writer.Length(200);
        writer.Length(1);
        writer.String("producer"u8);
        writer.Length(1);
        writer.String("message"u8);
        writer.Length(5);
        writer.Length(1);
        writer.Length(1);
        writer.Length(0);
        writer.End();
        var model = ReadModel(target.Bytes.ToArray());
        Assert.Equal([-1, 5000], model.Keys[0].Value.Expires);
        Assert.Equal([7000, -1], model.Keys[1].Value.Expires);
        Assert.Equal(new RdbStreamId(5, 1), Assert.Single(Assert.Single(model.Keys[2].Value.Groups).Returned));
        Assert.Equal(("producer", "message", new RdbStreamId(5, 1)), Assert.Single(model.Keys[2].Value.Messages));
    }

    private static string ModuleId(string name, int version)
    {
        const string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        var id = name.Aggregate(
            0UL, (bits, letter) => bits << 6 | (uint)letters.IndexOf(letter, StringComparison.Ordinal)) << 10 | (uint)version;
        return id.ToString("X16", null);
    }

    private static RdbModel Sample(bool packed)
    {
        var model = new RdbModel();
        model.Facts.Add(("redis-ver", "7.0.15"));
        model.Functions.Add("#!lua name=x\n"u8.ToArray());
        Add(
            0, "string", RdbValueKind.String,
            v => v.String("some text that is long enough to be compressed, compressed, compressed"u8));
        Add(0, "list", RdbValueKind.List, v => Enumerable.Range(0, 30).All(i => v.ListElement(Text(i))));
        Add(1, "set", RdbValueKind.Set, v => Enumerable.Range(0, 30).All(i => v.SetMember(Text(i))));
        Add(
            1, "ints", RdbValueKind.Set,
            v => Enumerable.Range(0, 30)
                .All(i => v.SetMember(System.Text.Encoding.ASCII.GetBytes((i * 3).ToString(null, null)))));
        Add(1, "hash", RdbValueKind.Hash, v => Enumerable.Range(0, 30).All(i => v.HashField(Text(i), Text(i * 2), -1)));
        Add(
            1, "expiring", RdbValueKind.Hash,
            v => Enumerable.Range(0, 10)
                .All(i => v.HashField(Text(i), Text(i * 2), packed || i % 2 == 0 ? 4102444800000 + i : -1)));
        Add(2, "zset", RdbValueKind.SortedSet, v => Enumerable.Range(0, 30).All(i => v.SortedSetMember(Text(i), i / 8.0)));
        Add(2, "stream", RdbValueKind.Stream, v => Stream(v));
        return model;

        void Add(int database, string name, RdbValueKind kind, Func<RdbValue, bool> fill)
        {
            var value = new RdbValue();
            value.Begin(kind, 0);
            Assert.True(fill(value));
            byte[] key = System.Text.Encoding.ASCII.GetBytes(name);
            model.Keys.Add(new(
                database, key, database == 1 ? 4102444800000 : -1, database == 2 ? 77 : -1, database == 0 ? 5 : -1, value));
        }
    }

    private static bool Stream(RdbValue value)
    {
        for (var i = 0; i < 120; i++)
        {
            value.StreamEntry(new(1000 + (ulong)i / 2, (ulong)i), 1);
            value.StreamField("field"u8, Text(i));
        }
        value.StreamState(new()
        {
            Length = 120,
            Last = new(1100, 200),
            First = new(1000, 0),
            HighestDeleted = new(900, 1),
            EntriesAdded = 130,
            IsComplete = true,
        });
        value.StreamGroup("group"u8, new(1001, 3), 4);
        value.StreamPending(new(1000, 0), 123456, 3);
        value.StreamConsumer("someone"u8, 5, 6);
        return value.StreamConsumerPending(new(1000, 0));
    }

    private static byte[] Text(int number) =>
        System.Text.Encoding.ASCII.GetBytes((number % 3) switch
        {
            0 => "x" + number,
            1 => number.ToString(null, null),
            _ => new string('y', number * 2) + number,
        });

    private static string? Read(byte[] bytes) => RdbModel.TryRead(bytes, out _);

    private static RdbModel ReadModel(byte[] bytes)
    {
        Assert.Null(RdbModel.TryRead(bytes, out var model));
        return model;
    }

    private sealed class SkipAll : IRdbVisitor
    {
        public void Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value) { }

        public void Resize(int database, long keys, long expiring) { }

        public string? Function(ReadOnlySpan<byte> code) => null;

        public IRdbValueVisitor? Key(in RdbKey key) => null;

        public void SkippedEmpty() { }
    }
}
