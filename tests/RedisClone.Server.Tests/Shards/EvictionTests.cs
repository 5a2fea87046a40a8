using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Shards;

/// <summary>
/// Eviction at maxmemory. No shard loses a larger part of its keys than the others, independent of the thread that evicts.
/// </summary>
public sealed class EvictionTests
{
    private const int Limit = 1 << 20;
    private static readonly string s_value = new('v', 100);

    private int _round;

    private readonly CommandHost _host = new(config =>
    {
        config.MaxMemorySetting = Limit;
        config.MaxMemoryPolicy = MaxMemoryPolicy.AllKeysRandom;
    });

    [Fact]
    public void BackgroundWorkEvictsEvenlyFromAllShards() => WriteWhile(i =>
    {
        _host.Call("SET", $"key:{i}", s_value);
        Tend();
    });

    [Fact]
    public void CommandsOfAllShardsEvictEvenlyFromAllShards() => WriteWhile(i =>
        _host.Call("EVAL", "redis.call('SET', KEYS[1], ARGV[1])", "1", $"key:{i}", s_value));

    [Fact]
    public void ALowerLimitIsReachedWithoutCommands()
    {
        _host.Core.Config.MaxMemorySetting = 4 * Limit;
        for (int i = 0; i < 10_000; i++) _host.Call("SET", $"key:{i}", s_value);
        _host.Core.Config.MaxMemorySetting = Limit;
        for (int rounds = 0; _host.Core.Eviction.UsedBytes > Limit + Limits.NoticedGrowth; rounds++)
        {
            Assert.True(rounds < 1_000, "the memory stays above the limit");
            Tend();
        }
        AssertEven();
    }

    [Fact]
    public void ConfigSetBeginsToEvict()
    {
        _host.Core.Config.MaxMemorySetting = 4 * Limit;
        for (int i = 0; i < 10_000; i++) _host.Call("SET", $"key:{i}", s_value);
        Assert.Equal("OK", _host.Run($"CONFIG SET maxmemory {Limit}"));
        Assert.InRange(Keys.Sum(), 1, 9_999);
    }

    /// <summary>A lowered limit leaves much to evict. No client waits until all of it is done, and one that only reads does not take part.</summary>
    [Fact]
    public void ACommandEvictsForTheTimeOfARound()
    {
        _host.Core.Config.MaxMemorySetting = 8 * Limit;
        _host.Core.Config.MaxMemoryEvictionTenacity = 0;
        for (int i = 0; i < 20_000; i++) _host.Call("SET", $"key:{i}", s_value);
        _host.Core.Config.MaxMemorySetting = Limit;
        _host.Core.Eviction.Look();
        Assert.Equal(s_value, _host.Call("GET", "key:1"));
        Assert.Equal("PONG", _host.Call("PING"));
        Assert.Equal(20_000, Keys.Sum());
        Assert.Equal("OK", _host.Call("SET", "key:1", s_value));
        Assert.InRange(Keys.Sum(), 19_900, 19_999);
        Assert.True(_host.Core.Eviction.IsDue);
        _host.Core.Eviction.RunOverall(_host.Now);
        Assert.InRange(Keys.Sum(), 19_800, 19_998);
        _host.Core.Config.MaxMemoryEvictionTenacity = 100;
        _host.Core.Eviction.RunOverall(_host.Now);
        Assert.InRange(_host.Core.Eviction.UsedBytes, Limit / 2, Limit);
        Assert.False(_host.Core.Eviction.IsDue);
    }

    /// <summary>The setting auto is not a number of bytes.</summary>
    [Fact]
    public void NothingIsEvictedBelowTheAutomaticLimit()
    {
        _host.Core.Config.MaxMemorySetting = ServerConfig.Auto;
        for (int i = 0; i < 100; i++) _host.Call("SET", $"key:{i}", s_value);
        Assert.True(_host.Core.Eviction.MakeRoom(_host.Core.Shards.All, _host.Core.Lanes.Current, _host.Now));
        Assert.Equal("100", _host.Call("DBSIZE"));
    }

    [Fact]
    public void CommandsWithoutKeysAreServedAboveTheLimit()
    {
        _host.Core.Config.MaxMemorySetting = 4 * Limit;
        for (int i = 0; i < 10_000; i++) _host.Call("SET", $"key:{i}", s_value);
        _host.Core.Config.MaxMemorySetting = Limit;
        _host.Core.Eviction.Look();
        Assert.False(_host.Core.Eviction.MakeRoom(default, _host.Core.Lanes.Current, _host.Now));
        Assert.True(_host.Core.Eviction.MakeRoom(_host.Core.Shards.All, _host.Core.Lanes.Current, _host.Now));
    }

    /// <summary>An eviction is not part of the command that needs the memory, nor of a script.</summary>
    [Theory]
    [InlineData("SET")]
    [InlineData("EVAL")]
    public void EachEvictionIsASeparateEffectBeforeTheCommand(string command)
    {
        for (int i = 0; i < 10_000; i++) _host.Call("SET", $"key:{i}", s_value);
        _host.Core.Config.MaxMemorySetting -= 64 * 1024;
        _host.Core.Eviction.Look();
        string[] effects = _host.EffectsOf(command == "SET" ? $"SET new {s_value}" : $"EVAL redis.call('SET','new','{s_value}') 0");
        Assert.InRange(effects.Length, 3, 10_000);
        Assert.All(effects[..^1], effect => Assert.StartsWith("DEL key:", effect, StringComparison.Ordinal));
        Assert.StartsWith("SET new ", effects[^1], StringComparison.Ordinal);
    }

    /// <summary>
    /// A key that grows beyond its shard's part of maxmemory first displaces the other keys of its shard. Then keys of other shards are
    /// evicted, and not the key itself, as long as they are better candidates.
    /// </summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void AKeyThatIsInUseIsNotEvictedForItsOwnGrowth(bool tends)
    {
        _host.Core.Config.MaxMemoryPolicy = MaxMemoryPolicy.VolatileTtl;
        for (int i = 0; i < 5000; i++) _host.Call("SET", $"key:{i}", s_value, "EX", "1000");
        _host.Call("SET", "hot", "", "EX", "100000");
        int grown = 0;
        while (grown < Limit / 2)
        {
            grown += 1000;
            Assert.Equal($"{grown}", _host.Call("APPEND", "hot", new string('h', 1000)));
            if (tends) Tend();
        }
        Assert.InRange(_host.Core.Eviction.UsedBytes, Limit / 2, Limit + Limits.NoticedGrowth);
    }

    private void WriteWhile(Action<int> write)
    {
        for (int i = 0; i < 30_000; i++) write(i);
        Assert.InRange(_host.Core.Eviction.UsedBytes, Limit / 2, Limit + Limits.NoticedGrowth);
        AssertEven();
    }

    /// <summary>Runs the eviction of one round of background work.</summary>
    private void Tend()
    {
        _host.Core.Eviction.Look();
        int count = _host.Core.Shards.Count, first = _round++ % count;
        bool hasGiven = false;
        for (int i = 0; i < count && _host.Core.Eviction.IsDue; i++)
            hasGiven |= _host.Core.Eviction.Run(_host.Core.Shards[(first + i) % count], TimeSpan.FromMilliseconds(1));
        if (!hasGiven) _host.Core.Eviction.RunOverall(_host.Now);
    }

    private void AssertEven()
    {
        long[] counts = [.. Keys];
        Assert.True(counts.Min() * 3 > counts.Max(), $"keys by shard: {string.Join(' ', counts)}");
    }

    private IEnumerable<long> Keys => Enumerable.Range(0, _host.Core.Shards.Count).Select(i => _host.Core.Shards[i].Store.Database(0).Count);
}
