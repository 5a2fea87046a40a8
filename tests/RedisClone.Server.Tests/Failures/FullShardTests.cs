using RedisClone.Engine.Commands;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Failures;

/// <summary>
/// A shard has few places left for buffers. Commands that take memory are refused before their first effect, and other commands
/// run.
/// </summary>
public sealed class FullShardTests
{
    private readonly CommandHost _host = new();

    [Fact]
    public void CommandsThatGrowAreRefusedAsAWhole()
    {
        string large = new('x', 300_000);
        for (int i = 0; i < _host.Core.Shards.Count; i++) _host.Core.Shards[i].Store.Arena.Restrict(chunks: 64, dedicated: 160);
        // A shard reports that it is full when an eighth of its 160 places is left. This is enough for all keys of a request.
        string[] keys = [.. Enumerable.Range(0, 20).Select(i => $"key:{i}")];
        string reply = "OK";
        for (int round = 0; reply == "OK"; round++)
        {
            Assert.True(round < 100, "nothing was refused");
            _host.Core.Shards.LookForRoom();
            reply = _host.Call(["MSET", .. keys.SelectMany(key => (string[])[$"{key}:{round}", large])]);
        }
        Assert.StartsWith("OOM", reply, StringComparison.Ordinal);
        Assert.Equal(0, int.Parse(_host.Call("DBSIZE"), System.Globalization.CultureInfo.InvariantCulture) % keys.Length);
        Assert.Equal("300000", _host.Call("STRLEN", "key:1:0"));
        Assert.StartsWith("OOM", _host.Call("EVAL", "for i = 1, 50 do redis.call('SET', 'new:' .. i, ARGV[1]) end", "0", large), StringComparison.Ordinal);
        Assert.Equal("1", _host.Call("DEL", "key:1:0"));
    }

    [Fact]
    public void TheMemoryOfAllShardsTogetherIsRefusedBeforeTheHeapIsFull()
    {
        const int Shared = 1 << 20, Limit = 64 << 20;
        _host.Core.Shards.Restrict(new HeapBudget(Limit));
        string large = new('x', Shared);
        int keys = 0;
        while (_host.Call("SET", $"key:{keys}", large) == "OK") keys++;
        Assert.InRange(keys, 20, Limit / Shared);
        Assert.Equal(Errors.AllocationFailed, _host.Call("SET", "further", large));
        Assert.False(_host.Core.Failures.IsShortOfMemory);
        Assert.Equal($"{Shared}", _host.Call("STRLEN", "key:0"));
        for (int i = 0; i < keys; i += 2) Assert.Equal("1", _host.Call("DEL", $"key:{i}"));
        Assert.Equal("OK", _host.Call("SET", "small", "value"));
        Assert.Equal($"{keys / 2 + 1}", _host.Call("DBSIZE"));
    }

    /// <summary>A delivery that failed halfway could only be told by an image of the stream, for which there may be no memory.</summary>
    [Fact]
    public void DeliveriesOfStreamsAreRefusedWhenMemoryIsShort()
    {
        _host.Core.Shards.Restrict(new HeapBudget(32 << 20));
        for (int i = 1; i <= 10; i++) _host.Call("XADD", "stream", $"{i}-0", "f", "v");
        _host.Call("XGROUP", "CREATE", "stream", "g", "0");
        Assert.StartsWith("[", _host.Call("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "stream", ">"), StringComparison.Ordinal);
        for (int size = 1 << 20; size >= 16; size /= 16)
        {
            string value = new('x', size);
            for (int i = 0; _host.Call("SET", $"key:{size}:{i}", value) == "OK"; i++) Assert.True(i < 1_000_000);
        }
        Assert.Equal(Errors.AllocationFailed, _host.Call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "stream", ">"));
        Assert.Equal(Errors.AllocationFailed, _host.Call("XCLAIM", "stream", "g", "d", "0", "1-0"));
        Assert.Equal(Errors.AllocationFailed, _host.Call("XAUTOCLAIM", "stream", "g", "d", "0", "0"));
        Assert.Equal("1", _host.Call("XACK", "stream", "g", "1-0"));
    }

    /// <summary>Without the background work, commands free what they and others have deleted when memory becomes short.</summary>
    [Theory]
    [InlineData("COPY", "list", "copy", "REPLACE")]
    [InlineData("EVAL", "return redis.call('COPY', KEYS[1], KEYS[2], 'REPLACE')", "2", "list", "copy")]
    public void DeletedValuesAreFreedWhenMemoryIsShort(params string[] command)
    {
        _host.Core.Shards.Restrict(new HeapBudget(32 << 20));
        for (int i = 0; i < 20; i++) _host.Call(["RPUSH", "list", .. Enumerable.Repeat(new string('v', 20_000), 10)]);
        for (int i = 0; i < 50; i++) Assert.Equal("1", _host.Call(command));
        Assert.Equal("200", _host.Call("LLEN", "copy"));
    }

    [Fact]
    public void PurgeReturnsAllFreePages()
    {
        _host.Core.Shards.Restrict(new HeapBudget(64 << 20));
        for (int i = 0; i < 100; i++) _host.Call("SET", $"key:{i}", new string('x', 100_000));
        for (int i = 0; i < 100; i++) _host.Call("DEL", $"key:{i}");
        Assert.NotEqual(0, Taken());
        Assert.Equal("OK", _host.Call("MEMORY", "PURGE"));
        Assert.Equal(0, Taken());

        long Taken() => Enumerable.Range(0, _host.Core.Shards.Count).Sum(i => _host.Core.Shards[i].Store.Arena.BytesTaken);
    }

    /// <summary>Watched keys are an example of memory that clients hold without any data.</summary>
    [Fact]
    public void MemoryOfNamesThatClientsHoldIsLimited()
    {
        _host.Core.Shards.Restrict(new HeapBudget(64 << 20));
        int watched = 0;
        string reply = "OK";
        for (; reply == "OK" && watched < 1_000_000; watched += 1000)
        {
            int first = watched;
            reply = _host.Call(["WATCH", .. Enumerable.Range(first, 1000).Select(i => $"key:{i}")]);
        }
        Assert.Equal(Errors.AllocationFailed, reply);
        Assert.InRange(watched, 10_000, 200_000);
        Assert.Equal("OK", _host.Call("SET", "key", "value"));
        Assert.Equal("OK", _host.Call("UNWATCH"));
        Assert.Equal("OK", _host.Call("WATCH", "key"));
    }
}
