using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using RedisClone.Protocol;
using RedisClone.Server.Tests.Commands;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Durability;

/// <summary>DUMP and RESTORE: every form there and back, the options, the effects, and payloads that somebody damaged.</summary>
public class DumpTests(ITestOutputHelper output)
{
    private const int DamagedPayloads = 10_000;

    [Fact]
    public void EveryFormComesBackAsItWas()
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

    [Fact]
    public void DamagedPayloadsAreRefusedOrSound()
    {
        int seed = int.Parse(Environment.GetEnvironmentVariable("REDISCLONE_SEED") ?? $"{Random.Shared.Next()}", CultureInfo.InvariantCulture);
        output.WriteLine($"REDISCLONE_SEED={seed}");
        var random = new Random(seed);
        var host = new CommandHost();
        SampleData.Fill(host);
        byte[][] payloads = [.. SampleData.Keys.Where(k => !k.EndsWith(":plain", StringComparison.Ordinal) && !k.EndsWith(":large", StringComparison.Ordinal)).Select(k => Encoding.Latin1.GetBytes(host.Call("DUMP", k)))];
        for (int i = 0; i < DamagedPayloads; i++)
        {
            byte[] payload = [.. payloads[i % payloads.Length]];
            for (int damage = random.Next(1, 4); damage > 0; damage--) payload[random.Next(payload.Length < 200 ? payload.Length - 10 : 200)] = (byte)random.Next(256);
            BinaryPrimitives.WriteUInt64LittleEndian(payload.AsSpan(payload.Length - 8), Crc64.Compute(payload.AsSpan(0, payload.Length - 8)));
            string reply = host.Call("RESTORE", "key", "0", Encoding.Latin1.GetString(payload), "REPLACE");
            if (reply == "ERR Bad data format") continue;
            Assert.Equal("OK", reply);
            string digest = host.Run("DEBUG DIGEST-VALUE key"), again = host.Call("DUMP", "key");
            if (again != "nil") Assert.Equal("OK", host.Call("RESTORE", "key", "0", again, "REPLACE"));
            if (again != "nil") Assert.Equal(digest, host.Run("DEBUG DIGEST-VALUE key"));
            host.Run("DEL key");
        }
        Assert.Equal(0, host.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
    }
}
