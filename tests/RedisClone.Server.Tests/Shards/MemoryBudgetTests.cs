using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Shards;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Shards;

/// <summary>How shards share maxmemory: in blocks, so that a write checks its own shard only.</summary>
public sealed class MemoryBudgetTests
{
    private const int Limit = 1 << 20;

    private readonly CommandHost _host = new(static config =>
    {
        config.MaxMemorySetting = Limit;
        config.MaxMemoryPolicy = MaxMemoryPolicy.NoEviction;
    });

    private Eviction Eviction => _host.Core.Eviction;

    private MemoryBudgets Budgets => _host.Core.Eviction.Budgets;

    /// <summary>The bytes by which used memory may exceed maxmemory: 64 KB for each shard, and not more than a hundredth.</summary>
    private long Slack => Math.Min(_host.Core.Shards.Count * (64 << 10), Limit / 100);

    [Fact]
    public void AWriteDrawsABlockForItsOwnShardOnly()
    {
        long[] before = All();
        string key = KeyOf(shard: 1);
        _host.Call("SET", key, "v");
        _host.Call("SET", key, "v");
        long[] after = All();
        Assert.InRange(after[1] - before[1], 1, 2 * Budgets.Block + Arena(1).BytesUsed);
        Assert.Equal((before[0], before[2], before[3]), (after[0], after[2], after[3]));
        _host.Call("SET", key, "w");
        Assert.Equal(after, All());
    }

    [Theory]
    [InlineData(nameof(MaxMemoryPolicy.NoEviction), 200)]
    [InlineData(nameof(MaxMemoryPolicy.NoEviction), 2000)]
    [InlineData(nameof(MaxMemoryPolicy.AllKeysLru), 200)]
    [InlineData(nameof(MaxMemoryPolicy.AllKeysLru), 2000)]
    [InlineData(nameof(MaxMemoryPolicy.AllKeysRandom), 500)]
    public void MemoryExceedsTheLimitByAHundredthAtMost(string policy, int most)
    {
        _host.Core.Config.MaxMemoryPolicy = Enum.Parse<MaxMemoryPolicy>(policy);
        var random = new Random(7);
        for (int i = 0; i < 30_000; i++)
        {
            if (random.Next(10) == 0) _host.Call("DEL", $"key:{random.Next(20_000)}");
            else _host.Call("SET", $"key:{random.Next(20_000)}", new string('v', random.Next(most / 2, most)));
            // The last command began within the limit. It may have grown the index by a page.
            Assert.True(Eviction.UsedBytes <= Limit + Slack + most + 4096, $"{Eviction.UsedBytes} bytes are used after {i} commands");
        }
        Assert.InRange(Eviction.UsedBytes, Limit * 9 / 10, Limit + Slack + most + 4096);
        AssertSum();
    }

    /// <summary>A value that is larger than a block is counted before the next command of any shard.</summary>
    [Fact]
    public void AValueAboveTheLimitStopsTheWritesOfAllShards()
    {
        Assert.Equal("OK", _host.Call("SET", KeyOf(shard: 0), new string('v', Limit)));
        for (int shard = 0; shard < _host.Core.Shards.Count; shard++)
            Assert.Contains(Errors.OutOfMemory[4..], _host.Call("SET", KeyOf(shard), "v"), StringComparison.Ordinal);
        Assert.True(Eviction.LacksRoom());
    }

    [Fact]
    public void NoEvictionTakesUnusedBudgetsBackBeforeItRefuses()
    {
        // The other shards draw a block each and use little of it.
        for (int shard = 1; shard < _host.Core.Shards.Count; shard++) _host.Call("SET", KeyOf(shard), "v");
        string reply = "OK";
        for (int i = 0; reply == "OK"; i++) reply = _host.Call("SET", KeyOf(shard: 0, i), new string('v', 50));
        Assert.True(Eviction.IsOver, "a write was refused although memory was left");
        Assert.Contains(Errors.OutOfMemory[4..], reply, StringComparison.Ordinal);
    }

    /// <summary>What one shard gives up is room for the others.</summary>
    [Fact]
    public void DeletedDataMakesRoomForOtherShards()
    {
        int keys = 0;
        while (_host.Call("SET", KeyOf(shard: 0, keys), new string('v', 50)) == "OK") keys++;
        for (int i = 0; i < 100; i++) _host.Call("DEL", KeyOf(shard: 0, i));
        Assert.Equal("OK", _host.Call("SET", KeyOf(shard: 3), "v"));
        Assert.False(Eviction.LacksRoom());
    }

    /// <summary>The memory of a removed database is freed later. A write that needs it does not wait for background work.</summary>
    [Fact]
    public void DeletedDataIsFreedBeforeAWriteIsRefused()
    {
        string reply = "OK";
        for (int i = 0; reply == "OK"; i++) reply = _host.Call("SET", $"key:{i}", new string('v', 100));
        Assert.StartsWith("OOM", reply);
        Assert.Equal("OK", _host.Call("FLUSHALL", "ASYNC"));
        Assert.True(Eviction.IsOver);
        Assert.False(Eviction.LacksRoom());
        for (int i = 0; i < 100; i++) Assert.Equal("OK", _host.Call("SET", $"key:{i}", "v"));
    }

    [Fact]
    public void AShardWithoutVictimsHasOthersEvict()
    {
        _host.Core.Config.MaxMemoryPolicy = MaxMemoryPolicy.VolatileRandom;
        for (int i = 0; Eviction.UsedBytes < Limit; i++) _host.Call("SET", KeyOf(shard: 0, i), new string('v', 100), "EX", "1000");
        long volatileKeys = _host.Core.Shards[0].Store.Database(0).Count;
        for (int i = 0; i < 1000; i++) Assert.Equal("OK", _host.Call("SET", KeyOf(shard: 2, i), new string('v', 100)));
        Assert.Equal(1000, _host.Core.Shards[2].Store.Database(0).Count);
        Assert.InRange(_host.Core.Shards[0].Store.Database(0).Count, 1, volatileKeys - 500);
        Assert.InRange(Eviction.UsedBytes, 0, Limit + Slack);
    }

    /// <summary>While shards draw, other threads take unused budgets back.</summary>
    [Fact]
    public async Task NoByteOfABudgetIsLostBetweenThreads()
    {
        Shard[] shards = [.. Enumerable.Range(0, _host.Core.Shards.Count).Select(i => _host.Core.Shards[i])];
        using var done = new CancellationTokenSource();
        Task looking = Task.Run(() =>
        {
            while (!done.IsCancellationRequested) Budgets.TakeBack();
        });
        Parallel.ForEach(shards, shard =>
        {
            var buffers = new Stack<uint>();
            var random = new Random(shard.Index);
            for (int i = 0; i < 50_000; i++)
            {
                if (buffers.Count > 0 && (random.Next(2) == 0 || !Budgets.HasRoom(shard))) shard.Store.Arena.Free(buffers.Pop());
                else buffers.Push(shard.Store.Arena.Allocate(random.Next(500)));
            }
            while (buffers.TryPop(out uint buffer)) shard.Store.Arena.Free(buffer);
        });
        await done.CancelAsync();
        await looking;
        AssertSum();
        Budgets.TakeBack();
        Assert.Equal(_host.Core.Shards.BytesOf(_host.Core.Shards.All), Budgets.Drawn);
    }

    private void AssertSum() => Assert.Equal(All().Sum(), Budgets.Drawn);

    private long[] All() => [.. Enumerable.Range(0, _host.Core.Shards.Count).Select(i => _host.Core.Shards[i].Budget)];

    private Arena Arena(int shard) => _host.Core.Shards[shard].Store.Arena;

    /// <summary>The key with this number of a shard.</summary>
    private string KeyOf(int shard, int number = 0)
    {
        for (int salt = 0; ; salt++)
        {
            string key = $"{number}:{salt}";
            if (_host.Core.Shards.IndexOf(KeyHash.Of(System.Text.Encoding.ASCII.GetBytes(key))) == shard) return key;
        }
    }
}
