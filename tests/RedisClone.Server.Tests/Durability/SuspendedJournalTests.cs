using RedisClone.Configuration;
using RedisClone.Engine.Shards;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Durability;

/// <summary>A journal that begins with a rewrite: after all data was replaced, and after it was turned on.</summary>
public sealed class SuspendedJournalTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-suspended-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>Another snapshot delays the rewrite. Until it begins, a write would be in no file, and its reply would not wait for one.</summary>
    [Fact]
    public async Task NoWriteIsAcceptedBeforeTheRewriteBegins()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run("SET key 1"));
        new HeldAction(server.Core.Shards, server.Core.Rewrites.Suspend).RunAndWait();
        Assert.StartsWith("MISCONF Errors writing to the AOF file", client.Run("SET key 2"), StringComparison.Ordinal);
        Assert.Equal("OK", client.Run("CONFIG SET rdb-key-save-delay 60000000"));
        await client.UntilAsync("BGSAVE", static answer => answer == "Background saving started");
        server.Core.Rewrites.Restore();
        Assert.StartsWith("MISCONF Errors writing to the AOF file", client.Run("SET key 3"), StringComparison.Ordinal);
        Assert.Equal("OK", client.Run("CONFIG SET rdb-key-save-delay 0"));
        await client.UntilAsync("SET key 4", static answer => answer == "OK");
        Assert.True(server.Core.Journal!.IsOn);
    }

    /// <summary>The rewrite begins and fails. What clients wrote meanwhile is in no file, so no client may get OK for it.</summary>
    [Fact]
    public async Task NoWriteIsAcknowledgedWhileTheRewriteFails()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run("SET key 1"));
        string obstacle = Path.Combine(_folder, "appendonlydir", "temp-appendonly.aof.base");
        Directory.CreateDirectory(obstacle);
        new HeldAction(server.Core.Shards, server.Core.Rewrites.Suspend).RunAndWait();
        server.Core.Rewrites.Restore();
        Assert.True(SpinWait.SpinUntil(() => server.Core.Journal?.Failure.Length > 0, TimeSpan.FromMinutes(1)), "the rewrite has not failed");
        Assert.StartsWith("MISCONF Errors writing to the AOF file", client.Run("SET key 2"), StringComparison.Ordinal);
        Directory.Delete(obstacle);
        await client.UntilAsync("BGREWRITEAOF", static answer => answer.StartsWith("Background append", StringComparison.Ordinal));
        await client.UntilAsync("SET key 3", static answer => answer == "OK");
        Assert.Empty(server.Core.Journal!.Failure);
    }

    /// <summary>A rewrite without a journal locks the append-only directory. The journal, once turned on, needs it at once.</summary>
    [Fact]
    public async Task JournalIsTurnedOnDuringARewriteWithoutOne()
    {
        await using RunningServer server = await StartAsync(appendOnly: false);
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run("SET key 1"));
        Assert.Equal("OK", client.Run("CONFIG SET rdb-key-save-delay 60000000"));
        Assert.Equal("Background append only file rewriting started", client.Run("BGREWRITEAOF"));
        Assert.Equal("OK", client.Run("CONFIG SET appendonly yes"));
        Assert.Equal("OK", client.Run("CONFIG SET rdb-key-save-delay 0"));
        await client.UntilAsync("SET key 2", static answer => answer == "OK");
        Assert.True(SpinWait.SpinUntil(() => server.Core.Journal!.IsOn, TimeSpan.FromMinutes(1)), "the journal has not begun");
        Assert.Equal("OK", client.Run("SET key 3"));
        Assert.Equal("OK", client.Run("DEBUG LOADAOF"));
        Assert.Equal("3", client.Run("GET key"));
        string[] bases = Directory.GetFiles(Path.Combine(_folder, "appendonlydir"), "*.base.*");
        Assert.Single(bases);
    }

    private Task<RunningServer> StartAsync(bool appendOnly = true) => RunningServer.StartAsync(new ServerConfig(), TransportKind.Auto, config =>
    {
        config.Dir = _folder;
        config.SavePoints = [];
        config.AppendOnly = appendOnly;
        config.AppendFsync = AppendFsync.Always;
    }, new WatchedDisk());
}
