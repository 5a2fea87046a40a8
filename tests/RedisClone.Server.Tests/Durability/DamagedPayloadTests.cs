using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Tests.Commands;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// RESTORE of damaged payloads with valid checksums. The result is an error, or a value with which every later command works. A
/// refused payload leaves no data. <c>tests/fuzz restore</c> is the long run.
/// </summary>
public class DamagedPayloadTests(ITestOutputHelper output)
{
    private const int FooterBytes = 10;
    private const int CheckedEvery = 512;

    private static readonly int s_payloads = LongRun.Times(10_000, 1_000_000);

    /// <summary>The commands that use an accepted value: reads and writes of every kind, independent of its type.</summary>
    private static readonly CommandHost.Prepared[] s_use =
    [
        .. ((string[])[
            "STRLEN key", "APPEND key x", "SETRANGE key 3 y", "LLEN key", "LRANGE key 0 -1", "LPOS key 2", "LSET key -1 z", "LINSERT key BEFORE z 70000",
            "LREM key 0 2", "RPUSH key 7 text", "LPOP key 2", "LTRIM key 1 -2", "SCARD key", "SMEMBERS key", "SADD key -300 new", "SREM key one 2",
            "SPOP key 2", "SRANDMEMBER key -5", "HLEN key", "HGETALL key", "HSET key f 2 new v", "HINCRBY key count 7",
            "HPEXPIREAT key 3500000000000 FIELDS 2 f new", "HPERSIST key FIELDS 1 f", "HDEL key one g", "HRANDFIELD key 3 WITHVALUES", "ZCARD key",
            "ZRANGE key 0 -1 WITHSCORES", "ZADD key 5 new -1 a", "ZINCRBY key 1 b", "ZRANK key new", "ZRANGEBYSCORE key -inf inf", "ZREM key c",
            "ZPOPMIN key 2", "XLEN key", "XRANGE key - +", "XINFO STREAM key FULL", "XADD key * f v",
            "XREADGROUP GROUP g ada STREAMS key >", "XPENDING key g - + 10",
            "XAUTOCLAIM key g eve 0 0", "XACK key g 1-1 3-1", "XDEL key 4-1 2-14", "XTRIM key MAXLEN 2", "XGROUP DESTROY key g",
            "SORT key ALPHA", "COPY key copy REPLACE", "RENAME copy moved", "OBJECT ENCODING key", "MEMORY USAGE key",
        ]).Select(line => new CommandHost.Prepared(line.Split(' '))),
    ];

    [Fact]
    public void DamagedPayloadsAreRefusedOrSound()
    {
        Random random = Seed.Random(output);
        // Small limits give the large encodings few bytes, so that each byte is damaged in turn.
        var host = new CommandHost(config => (config.HashMaxListpackEntries, config.SetMaxListpackEntries, config.ZsetMaxListpackEntries) = (6, 6, 6));
        byte[][] payloads = [.. Samples(host), .. OldPayloads.All()];
        foreach (byte[] payload in payloads)
            Assert.Equal("OK", host.Call("RESTORE", "key", "0", Encoding.Latin1.GetString(payload), "REPLACE"));
        host.Run("FLUSHALL");

        int tried = 0, accepted = 0;
        foreach (byte[] payload in EveryFlip(payloads, random).Concat(RandomDamage(payloads, random)).Take(s_payloads))
        {
            if (TryOne(host, payload)) accepted++;
            if (++tried % CheckedEvery == 0) CheckNothingIsLeft(host);
        }
        CheckNothingIsLeft(host);
        output.WriteLine($"{tried} payloads, {accepted} accepted");
        Assert.Equal(0, host.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
    }

    private static bool TryOne(CommandHost host, byte[] payload)
    {
        string reply = host.Call("RESTORE", "key", "0", Encoding.Latin1.GetString(payload), "REPLACE");
        if (reply == "ERR Bad data format") return false;
        string shown = Convert.ToHexString(payload);
        Assert.True(reply == "OK", shown);
        string digest = host.Run("DEBUG DIGEST-VALUE key"), again = host.Call("DUMP", "key");
        if (again != "nil")
        {
            Assert.Equal("OK", host.Call("RESTORE", "key", "0", again, "REPLACE"));
            Assert.True(digest == host.Run("DEBUG DIGEST-VALUE key"), shown);
        }
        foreach (CommandHost.Prepared command in s_use)
        {
            host.Execute(command);
            host.Forget();
        }
        Assert.True(host.Core.Lanes.Sum(static lane => lane.UnexpectedErrors) == 0, shown);
        host.Run("DEL key copy moved");
        return true;
    }

    private static void CheckNothingIsLeft(CommandHost host)
    {
        Assert.Equal("0", host.Run("DBSIZE"));
        for (int i = 0; i < host.Core.Shards.Count; i++)
        {
            while (!host.Core.Shards[i].Store.FreeAbandoned(1_000)) { }
            Assert.Equal(0, host.Core.Shards[i].Store.Arena.LiveBuffers);
        }
    }

    private static IEnumerable<byte[]> Samples(CommandHost host)
    {
        string[] lines =
        [
            "SET s text", "SET s 12345", "SADD s 1 -5 70000 99999999999", "SADD s a b 12", "SADD s 1 a 2 b 3 c 4 d 5 e",
            "RPUSH s 1 -70000 x yyyyyyyyyy 5000", "HSET s a 1 b x -7 z", "HSET s a 1 b 2 c 3 d 4 e 5 f 6 g 7 h 8",
            "ZADD s 1 a 1.5 b -inf c 1e300 e inf f", "ZADD s 1 a 2 b 3 c 4 d 5 e 6 f 7 g 8 h -9.5 i",
        ];
        foreach (string line in lines)
        {
            host.Run(line);
            yield return Dump(host);
        }
        foreach (int fields in (int[])[3, 9])
        {
            host.Call(["HSET", "s", .. Enumerable.Range(0, fields).SelectMany(i => new[] { $"f{i}", $"{i * 1000}" })]);
            host.Run("HPEXPIREAT s 4000000000000 FIELDS 2 f0 f2");
            yield return Dump(host);
        }
        for (int i = 1; i < 6; i++) host.Run($"XADD s {i}-{i * 7} field {i} other text");
        host.Run("XDEL s 3-21");
        yield return Dump(host);
        for (int i = 1; i < 9; i++) host.Run($"XADD s {i}-1 a {i * 1000}");
        host.Run("XGROUP CREATE s g 0");
        host.Run("XREADGROUP GROUP g ada COUNT 3 STREAMS s >");
        host.Run("XREADGROUP GROUP g bob COUNT 2 STREAMS s >");
        host.Run("XACK s g 2-1");
        yield return Dump(host);
        host.Call("SET", "s", new string('a', 300));
        yield return Dump(host);
        host.Call(["RPUSH", "s", .. Enumerable.Range(0, 400).Select(i => $"element {i % 7}")]);
        yield return Dump(host);
    }

    private static byte[] Dump(CommandHost host)
    {
        byte[] payload = Encoding.Latin1.GetBytes(host.Call("DUMP", "s"));
        host.Run("DEL s");
        return payload;
    }

    /// <summary>
    /// Returns every payload with each bit of each byte flipped, and with each byte as 0 and as 255, in random order.
    /// </summary>
    private static IEnumerable<byte[]> EveryFlip(byte[][] payloads, Random random)
    {
        var places = new List<(byte[] Payload, int At, int Way)>();
        foreach (byte[] payload in payloads)
            for (int at = 0; at < Math.Min(payload.Length - FooterBytes, 1_000); at++)
                for (int way = 0; way < 10; way++) places.Add((payload, at, way));
        (byte[], int, int)[] shuffled = [.. places];
        random.Shuffle(shuffled);
        foreach ((byte[] payload, int at, int way) in shuffled)
        {
            byte[] damaged = [.. payload];
            damaged[at] = way switch { 8 => 0, 9 => 255, _ => (byte)(damaged[at] ^ 1 << way) };
            yield return Sign(damaged);
        }
    }

    /// <summary>Returns payloads with overwritten, removed or duplicated bytes, or with another type.</summary>
    private static IEnumerable<byte[]> RandomDamage(byte[][] payloads, Random random)
    {
        while (true)
        {
            byte[] intact = payloads[random.Next(payloads.Length)];
            List<byte> bytes = [.. intact.AsSpan(0, intact.Length - FooterBytes)];
            for (int damage = random.Next(1, 4); damage > 0 && bytes.Count > 1; damage--)
            {
                int at = random.Next(Math.Min(bytes.Count, 300));
                switch (random.Next(8))
                {
                    case 0:
                        bytes.RemoveRange(at, Math.Min(random.Next(1, 9), bytes.Count - at));
                        break;
                    case 1:
                        bytes.InsertRange(at, bytes.GetRange(at, Math.Min(random.Next(1, 20), bytes.Count - at)));
                        break;
                    case 2:
                        bytes[0] = (byte)random.Next(28);
                        break;
                    default:
                        bytes[at] = (byte)random.Next(256);
                        break;
                }
            }
            yield return Sign([.. bytes, .. intact.AsSpan(intact.Length - FooterBytes)]);
        }
    }

    private static byte[] Sign(byte[] payload)
    {
        BinaryPrimitives.WriteUInt64LittleEndian(payload.AsSpan(payload.Length - 8), Crc64.Compute(payload.AsSpan(0, payload.Length - 8)));
        return payload;
    }
}
