using RedisClone.Engine.Commands;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Durability;

/// <summary>A key of every type in every encoding, with the edge cases of each.</summary>
internal static class SampleData
{
    public static readonly string[] Keys =
    [
        "number", "widest", "text", "zeros", "empty", "long", "list", "list:large", "list:plain", "integers", "set", "set:large",
        "stream", "stream:large", "hash", "hash:large", "hash:expiring", "hash:expiring:large", "zset", "zset:large",
    ];

    public static void Fill(CommandHost host)
    {
        host.Run("SET number 12345");
        host.Run("SET widest -9223372036854775808");
        host.Run("SET text value PXAT 4000000000000");
        host.Run("SET zeros 0012");
        host.Call("SET", "empty", "");
        host.Call("SET", "long", new string('a', 5000) + "\0\xff\r\n");
        host.Call("RPUSH", "list", "1", "-70000", "x", "", new string('y', 100));
        host.Call(["RPUSH", "list:large", .. Many("element ")]);
        host.Call("RPUSH", "list:plain", "first", new string('p', 1 << 20), "", new string('q', (1 << 20) + 1), "12");
        host.Run("SADD integers 1 -5 70000 99999999999");
        host.Run("SADD set a b 12");
        host.Call(["SADD", "set:large", .. Many("m")]);
        host.Call("HSET", "hash", "a", "1", "b", "x", "-7", "");
        host.Call(["HSET", "hash:large", .. Many("f")]);
        host.Run("HSET hash:expiring a 1 b 2 c 3");
        host.Run("HPEXPIREAT hash:expiring 4000000000000 FIELDS 1 b");
        host.Run("HPEXPIREAT hash:expiring 3000000000000 FIELDS 1 c");
        host.Call(["HSET", "hash:expiring:large", .. Many("f")]);
        host.Run("HPEXPIREAT hash:expiring:large 4000000000000 FIELDS 2 f2 f4");
        host.Call("XADD", "stream", "5-1", "name", "1", "", "x");
        host.Call("XADD", "stream", "5-2", "name", "-70000", "", new string('z', 300));
        host.Run("XADD stream 18446744073709551615-0 other 1");
        host.Run("XGROUP CREATE stream group 0");
        host.Run("XREADGROUP GROUP group first COUNT 1 STREAMS stream >");
        host.Run("XREADGROUP GROUP group second STREAMS stream >");
        host.Run("XDEL stream 5-2");
        host.Run("XGROUP CREATE stream idle $");
        for (int i = 1; i <= 1000; i++) host.Run($"XADD stream:large {i / 7}-{i} field {i} more value");
        host.Run("XGROUP CREATE stream:large group 0");
        host.Run("XREADGROUP GROUP group one COUNT 300 STREAMS stream:large >");
        host.Run("XNACK stream:large group FAIL IDS 2 0-5 0-3");
        host.Run("XADD stream:large IDMP producer message * a 1");
        host.Run("ZADD zset 1 a 1.5 b -inf c 3.1415926535897931 d 1e300 e inf f");
        host.Call(
        [
            "ZADD", "zset:large",
            .. Enumerable.Range(0, 600).SelectMany(i =>
                new[] { (i / 7.0).ToString("R", System.Globalization.CultureInfo.InvariantCulture), $"m{i}" }),
        ]);
    }

    private static IEnumerable<string> Many(string prefix) => Enumerable.Range(0, 4000).Select(i => prefix + i);
}
