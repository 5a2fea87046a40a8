using System.Text;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Durability;

/// <summary>A unit of effects holds complete commands, and is not longer than an array can be.</summary>
public sealed class EffectBufferTests
{
    [Fact]
    public void OnlyEffectsThatWouldMakeAUnitTooLongAreRefused()
    {
        const int value = 30, most = 300;
        var host = new CommandHost();
        EffectBuffer effects = host.Core.Lanes.Current.Effects;
        effects.MostBytes = most;
        string[] done = host.EffectsOf($"EVAL for\ni=1,10\ndo\nredis.pcall('set','key'..i,string.rep('x',{value}))\nend 0");
        int kept = done.Count(effect => effect.StartsWith("set ", StringComparison.Ordinal));
        Assert.InRange(kept, 1, most / value);
        Assert.Equal($"{kept}", host.Run("DBSIZE"));
        Assert.Equal("ERR the effects of this transaction or script would be too long", host.Call("SET", "long", new string('x', most)));
        Assert.Equal("nil", host.Run("GET long"));
        Assert.Equal(["SET short 1"], host.EffectsOf("SET short 1"));
    }

    [Fact]
    public void AnIncompleteEffectIsDropped()
    {
        var effects = new EffectBuffer();
        effects.Begin(0, 2);
        effects.Add("DEL"u8);
        effects.DropUnfinished();
        Assert.Equal(0, effects.Commands);
        effects.AddDelete(0, "a"u8);
        effects.Begin(3, 3);
        effects.Add("SET"u8);
        effects.DropUnfinished();
        effects.DropUnfinished();
        effects.AddDelete(3, "b"u8);
        string unit = Encoding.ASCII.GetString(effects.Unit);
        Assert.Equal(
            ["MULTI", "select", "0", "DEL", "a", "select", "3", "DEL", "b", "EXEC"],
            unit.Split("\r\n").Where(word => word.Length > 0 && char.IsAsciiLetterOrDigit(word[0])));
    }

    /// <summary>A request is copied from the wire as a whole. Under another name, or behind a SELECT, it is written argument by argument.</summary>
    [Fact]
    public void ARequestHasTheSameEffectHoweverItIsCopied()
    {
        var batch = new RequestBatch();
        byte[] wire = Encoding.Latin1.GetBytes("*3\r\n$3\r\nSet\rX$3\r\nkey??$10\r\n0123\r\n6789\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n");
        new RequestParser(new RequestLimits()).Parse(new ArraySegment<byte>(wire), batch, out _, out _);
        Assert.Equal(2, batch.Count);
        var whole = new EffectBuffer();
        var parts = new EffectBuffer();
        foreach ((int database, int number) in new[] { (0, 0), (0, 1), (5, 0), (5, 1) })
        {
            Request request = batch[number];
            whole.AddCommand(database, request[0], request);
            parts.AddCommand(database, request[0].ToArray(), request);
        }
        Assert.Equal(Encoding.Latin1.GetString(parts.Unit), Encoding.Latin1.GetString(whole.Unit));
        Assert.Equal((-1, 6), (whole.Database, whole.Commands));
        string body = Encoding.Latin1.GetString(whole.Body).Split("select\r\n$1\r\n0\r\n")[1];
        Assert.StartsWith("*3\r\n$3\r\nSet\r\n$3\r\nkey\r\n$10\r\n0123\r\n6789\r\n*2\r\n", body, StringComparison.Ordinal);
    }

    /// <summary>
    /// Commands whose effects are longer than their requests. A command whose effects would be too long is refused before it
    /// changes data, and leaves no part in the unit. With enough room it succeeds. The test runs each command alone, within a
    /// transaction and within a script.
    /// </summary>
    [Theory]
    [InlineData("SORT src STORE target", "RPUSH src 5 4 3 2 1;RPUSH target old")]
    [InlineData("SORT src BY nosort GET v* GET v* STORE target",
        "RPUSH src 1 2 3;SET v1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx;SET v2 xxxxxxxxxxxxxxxxxxxxxxxxxxxxx;RPUSH target old")]
    [InlineData("SPOP src 3", "SADD src alpha beta gamma delta epsilon")]
    [InlineData("SPOP src", "SADD src alphaalphaalphaalphaalpha")]
    [InlineData("XREADGROUP GROUP g c STREAMS src >", "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0")]
    [InlineData("XREADGROUP GROUP g c STREAMS src 0",
        "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0;XREADGROUP GROUP g c STREAMS src >")]
    [InlineData("XREADGROUP GROUP g d CLAIM 0 STREAMS src >",
        "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0;XREADGROUP GROUP g c STREAMS src >")]
    [InlineData("XCLAIM src g d 0 1-1 1-2",
        "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0;XREADGROUP GROUP g c STREAMS src >")]
    [InlineData("XAUTOCLAIM src g d 0 0",
        "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0;XREADGROUP GROUP g c STREAMS src >")]
    [InlineData("XTRIM src MAXLEN 0 DELREF",
        "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0;XREADGROUP GROUP g c STREAMS src >")]
    [InlineData("XADD src MAXLEN 1 DELREF 2-1 f v",
        "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0;XREADGROUP GROUP g c STREAMS src >")]
    [InlineData("XADD src IDMP producer message * f v", "XADD src 1-1 f v")]
    [InlineData("XDELEX src DELREF IDS 2 1-1 1-2",
        "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0;XREADGROUP GROUP g c STREAMS src >")]
    [InlineData("XACKDEL src g DELREF IDS 2 1-1 1-2",
        "XADD src 1-1 f v;XADD src 1-2 f v;XGROUP CREATE src g 0;XREADGROUP GROUP g c STREAMS src >")]
    [InlineData("HIMPORT SET src names 1 2",
        "HIMPORT PREPARE names aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;HSET src old x")]
    [InlineData("GEOADD src 0 0 m 1 1 n", "GEOADD src 2 2 m")]
    public void ACommandWithTooLongEffectsIsRefusedBeforeItsFirstChange(string command, string preparation)
    {
        var host = new CommandHost(config => config.SavePoints = []);
        EffectBuffer effects = host.Core.Lanes.Current.Effects;
        string[] keys = ["src", "target"];
        int needed = 0;
        int[] reserved = [.. Enumerable.Range(1, 600).Select(i => i * 4)];
        foreach (int most in reserved)
        {
            host.Run("FLUSHALL");
            foreach (string line in preparation.Split(';')) host.Run(line);
            string before = State(host, keys);
            effects.MostBytes = most;
            string[] done = host.EffectsOf(command);
            effects.MostBytes = int.MaxValue;
            if (done.Length > 0)
            {
                needed = most;
                Assert.InRange(done.Sum(effect => effect.Length), 1, most);
                Assert.NotEqual(before, State(host, keys));
                break;
            }
            Assert.Equal(before, State(host, keys));
            Assert.Equal(0, effects.Commands);
        }
        Assert.True(needed > 0, $"{command} is refused with all room");

        host.Run("FLUSHALL");
        foreach (string line in preparation.Split(';')) host.Run(line);
        string whole = State(host, keys);
        effects.MostBytes = needed;
        string call = "redis.pcall('" + command.Replace(" ", "','", StringComparison.Ordinal) + "')";
        string first = $"redis.call('SET','first','{new string('x', needed / 2)}')";
        string[] parts = host.EffectsOf($"EVAL {first}redis.pcall('SET','big','{new string('x', needed / 4)}'){call} 0");
        effects.MostBytes = int.MaxValue;
        if (!parts.Any(part => part.Contains("SET first", StringComparison.Ordinal))) return;
        Assert.Equal(whole, State(host, keys));
        foreach (string key in keys) Assert.DoesNotContain(parts, part => part.Contains(key, StringComparison.Ordinal));
    }

    /// <summary>
    /// Reserved effects are added without another allocation, and a complete unit is ended without an allocation.
    /// </summary>
    [Fact]
    public void ReservedEffectsAreAddedWithoutAnAllocation()
    {
        var effects = new EffectBuffer();
        byte[] value = new byte[1 << 20];
        effects.AddDelete(0, "first"u8);
        Assert.True(effects.TryReserve(EffectBuffer.SizeOf(3, 3 + 1 + value.Length)));
        long before = GC.GetAllocatedBytesForCurrentThread();
        effects.Begin(5, 3);
        effects.Add("SET"u8);
        effects.Add("k"u8);
        effects.Add(value);
        int length = effects.Unit.Length;
        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());
        Assert.InRange(length, value.Length, value.Length + 300);
        effects.MostBytes = 100;
        Assert.False(effects.TryReserve(200));
        Assert.Equal(length, effects.Unit.Length);
    }

    /// <summary>
    /// A group has many pending entries, but the read reaches few or none of them. Room is reserved only for entries that the
    /// read can reach. MULTI and EXEC around several effects count.
    /// </summary>
    [Theory]
    [InlineData("XREADGROUP GROUP g d STREAMS s 0", 1)]
    [InlineData("XREADGROUP GROUP g c STREAMS s 500-1", 0)]
    [InlineData("XREADGROUP GROUP g c STREAMS s 499-1", 1)]
    [InlineData("XREADGROUP GROUP g c COUNT 2 STREAMS s 0", 4)]
    [InlineData("XREADGROUP GROUP g c MAXSIZE 2 STREAMS s 0", 1)]
    [InlineData("XREADGROUP GROUP g c CLAIM 10 STREAMS s >", 0)]
    [InlineData("XREADGROUP GROUP other c MAXSIZE 2 STREAMS s >", 5)]
    [InlineData("XREADGROUP GROUP other c NOACK STREAMS s >", 4)]
    [InlineData("XREADGROUP GROUP g c STREAMS gone 0", 0)]
    [InlineData("XREADGROUP GROUP g c STREAMS small s > 500-1", 4)]
    [InlineData("XREADGROUP GROUP g c STREAMS small small > 0", 5)]
    public void AReadReservesRoomOnlyForEntriesThatItCanReach(string command, int effects)
    {
        var host = new CommandHost();
        for (int i = 1; i <= 500; i++)
        {
            host.Run($"XADD s {i}-1 f v");
            host.Run($"XADD gone {i}-1 f v");
        }
        host.Run("XADD small 1-1 f v");
        foreach (string key in new[] { "s", "gone" }) host.Run($"XGROUP CREATE {key} g 0");
        host.Run("XGROUP CREATE small g 0");
        host.Run("XGROUP CREATECONSUMER small g c");
        host.Run("XGROUP CREATE s other 0");
        host.Run("XREADGROUP GROUP g c STREAMS s gone > >");
        host.Run("XTRIM gone MAXLEN 0");
        host.Core.Lanes.Current.Effects.MostBytes = 3000;
        Assert.Equal(effects, host.EffectsOf(command).Length);
        Assert.DoesNotContain("too long", host.Run(command), StringComparison.Ordinal);
    }

    private static string State(CommandHost host, string[] keys) =>
        string.Join('|', keys.Select(key =>
            $"{host.Run($"DUMP {key}")} {host.Run($"XINFO STREAM {key} FULL")} {host.Run($"XPENDING {key} g - + 10")}"));
}
