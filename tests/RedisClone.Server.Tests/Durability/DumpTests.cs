using System.Text;
using RedisClone.Engine.Durability;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage;

namespace RedisClone.Server.Tests.Durability;

/// <summary>DUMP and RESTORE: the round trip of every encoding, the options, the effects.</summary>
public class DumpTests
{
    [Fact]
    public void EveryEncodingIsRestoredUnchanged()
    {
        var host = new CommandHost();
        SampleData.Fill(host);
        foreach (string key in SampleData.Keys)
        {
            string digest = host.Run($"DEBUG DIGEST-VALUE {key}"), encoding = host.EncodingOf(key), payload = host.Call("DUMP", key);
            Assert.Equal("OK", host.Call("RESTORE", key, "0", payload, "REPLACE"));
            host.Call("RESTORE", "copy", host.Run($"PEXPIRETIME {key}").Replace("-1", "0"), payload, "ABSTTL", "REPLACE");
            Assert.Equal(encoding, host.EncodingOf(key));
            if (key != "text") Assert.Equal(digest, host.Run($"DEBUG DIGEST-VALUE {key}"));
            Assert.Equal("1", host.Run($"DEL {key}"));
        }
    }

    /// <summary>A node that is written in two walks has the same bytes, and takes no memory of its size.</summary>
    [Fact]
    public void AStreamNodeIsTheSameInPieces()
    {
        var host = new CommandHost();
        SampleData.Fill(host);
        host.Call("XADD", "large", "1-1", "a", new string('x', 8 << 20), "number", "-123456789", "wide", "123456789012");
        host.Call("XADD", "large", "1-2", "b", new string('y', 5000), "b", "17", "c", "-5");
        foreach (string key in (string[])["stream", "stream:large", "large"])
        {
            ulong hash = host.Core.Shards.HashOf(Encoding.ASCII.GetBytes(key));
            Entry entry = host.Core.Shards.Of(hash).Store.Database(0).Find(Encoding.ASCII.GetBytes(key), hash);
            byte[][] written = new byte[2][];
            for (int i = 0; i < 2; i++)
            {
                var target = new RdbMemoryTarget();
                var writer = new RdbWriter(target, compress: false);
                new StreamValueWriter(writer, mostBuilt: i == 0 ? int.MaxValue : 0).Write(entry, StreamValueWriter.TypeOf(entry));
                writer.Flush();
                written[i] = target.Bytes.ToArray();
            }
            Assert.Equal(written[0], written[1]);
        }
        ulong largest = host.Core.Shards.HashOf("large"u8);
        Entry measured = host.Core.Shards.Of(largest).Store.Database(0).Find("large"u8, largest);
        var small = new StreamValueWriter(new RdbWriter(new NoTarget(), compress: false), mostBuilt: 1024);
        long before = GC.GetAllocatedBytesForCurrentThread();
        small.Write(measured, StreamValueWriter.TypeOf(measured));
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 64 << 10);
    }

    private sealed class NoTarget : IRdbTarget
    {
        public void Write(ReadOnlySpan<byte> bytes)
        {
        }
    }

    [Fact]
    public void OptionsAreCheckedInRedisOrder()
    {
        var host = new CommandHost();
        host.Run("SET key 1");
        string payload = host.Call("DUMP", "key");
        Assert.Equal("nil", host.Run("DUMP nothing"));
        Assert.Equal("BUSYKEY Target key name already exists.", host.Call("RESTORE", "key", "-1", "damaged"));
        Assert.Equal("ERR Invalid TTL value, must be >= 0", host.Call("RESTORE", "new", "-1", "damaged"));
        Assert.Equal("ERR DUMP payload version or checksum are wrong", host.Call("RESTORE", "new", "0", "damaged"));
        // Redis 7.4 also refuses a payload without a checksum.
        Assert.Equal("ERR DUMP payload version or checksum are wrong", host.Call("RESTORE", "new", "0", payload[..^8] + new string('\0', 8)));
        Assert.Equal("ERR Invalid IDLETIME value, must be >= 0", host.Call("RESTORE", "key", "0", payload, "IDLETIME", "-1"));
        Assert.Equal("ERR Invalid FREQ value, must be >= 0 and <= 255", host.Call("RESTORE", "key", "0", payload, "FREQ", "256"));
        Assert.Equal("ERR syntax error", host.Call("RESTORE", "key", "0", payload, "FREQ", "1", "IDLETIME", "1"));
        Assert.Equal("OK", host.Call("RESTORE", "key", "0", payload, "REPLACE", "IDLETIME", "1000"));
    }

    [Fact]
    public void EffectsHoldAbsoluteTimes()
    {
        var host = new CommandHost();
        host.Run("SET key x");
        string payload = host.Call("DUMP", "key");
        Assert.Equal([$"RESTORE new {host.Now + 1000} {payload} ABSTTL"], host.EffectsOf($"RESTORE new 1000 {payload}"));
        Assert.Equal([$"RESTORE new {host.Now + 1000} {payload} ABSTTL REPLACE"], host.EffectsOf($"RESTORE new {host.Now + 1000} {payload} ABSTTL REPLACE"));
        Assert.Equal(["DEL new"], host.EffectsOf($"RESTORE new 1 {payload} ABSTTL REPLACE"));
        Assert.Equal("nil", host.Run("GET new"));
        Assert.Empty(host.EffectsOf($"RESTORE other 1 {payload} ABSTTL"));
    }

    /// <summary>DEBUG OBJECT reports the same length as redis-server.</summary>
    [Theory]
    [InlineData("1", 2)]
    [InlineData("-5", 2)]
    [InlineData("128", 3)]
    [InlineData("12345", 3)]
    [InlineData("1000000", 5)]
    [InlineData("10000000000", 12)]
    [InlineData("hello", 6)]
    public void TheSerializedLengthOfAStringIsThatInADumpFile(string value, int expected)
    {
        var host = new CommandHost();
        host.Run($"SET k {value}");
        Assert.Contains($" serializedlength:{expected} ", host.Run("DEBUG OBJECT k"), StringComparison.Ordinal);
    }
}
