using System.Globalization;
using RedisClone.Engine.Durability;
using RedisClone.Journal.Disk;
using RedisClone.Server.Tests.Clients;
using RedisClone.Server.Tests.Commands;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// BGSAVE of a complete server while clients write. The file has the contents of one moment, and clients are served during the
/// save.
/// </summary>
public sealed class BackgroundSaveTests : IDisposable
{
    private const int Clients = 4, Pairs = 40, Saves = 4, LargeMembers = 20_000;

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-bgsave-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task ASnapshotHasTheContentsOfOneMoment()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.Auto, config => (config.Dir, config.SavePoints) = (_folder, []));
        using TestClient admin = server.Connect();
        string padding = new('x', 100);
        for (int i = 0; i < LargeMembers; i += 100)
            admin.Call(["SADD", "large", .. Enumerable.Range(i, 100).Select(n => n.ToString(CultureInfo.InvariantCulture) + padding)]);
        using var stop = new CancellationTokenSource();
        Task[] writers = [.. Enumerable.Range(0, Clients).Select(id => Task.Run(() => Write(server, id, stop.Token)))];
        try
        {
            for (int save = 0; save < Saves; save++)
            {
                await admin.UntilAsync("BGSAVE", static answer => answer == "Background saving started");
                await admin.UntilAsync("INFO persistence", static info => info.Contains("rdb_bgsave_in_progress:0", StringComparison.Ordinal));
                Assert.Contains("rdb_last_bgsave_status:ok", admin.Run("INFO persistence"), StringComparison.Ordinal);
                Check();
            }
        }
        finally
        {
            await stop.CancelAsync();
            await Task.WhenAll(writers);
        }
        Assert.Equal(0, server.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
        Assert.Null(server.Core.Snapshots.Slot.Running);
    }

    /// <summary>A save keeps the name that it had when it began.</summary>
    [Fact]
    public async Task AChangedNameHoldsForTheNextSave()
    {
        var disk = new WatchedDisk();
        await using RunningServer server = await RunningServer.StartAsync(
            new(), TransportKind.Auto, config => (config.Dir, config.SavePoints) = (_folder, []), disk);
        using TestClient admin = server.Connect();
        Assert.Equal("OK", admin.Run("SET key 1"));
        using var writes = new ManualResetEventSlim();
        using var goesOn = new ManualResetEventSlim();
        disk.Writing = () =>
        {
            writes.Set();
            goesOn.Wait();
        };
        Assert.Equal("Background saving started", admin.Run("BGSAVE"));
        writes.Wait();
        server.Core.Config.DbFilename = "other.rdb";
        goesOn.Set();
        await admin.UntilAsync("INFO persistence", static info => info.Contains("rdb_bgsave_in_progress:0", StringComparison.Ordinal));
        Assert.Equal(["dump.rdb"], Directory.GetFiles(_folder).Select(Path.GetFileName));
        Assert.Equal("OK", admin.Run("SAVE"));
        Assert.Equal(["dump.rdb", "other.rdb"], Directory.GetFiles(_folder).Select(Path.GetFileName).Order());
    }

    [Fact]
    public async Task WritesAreRefusedAfterAFailedSaveUntilASaveSucceeds()
    {
        string folder = Path.Combine(_folder, "later");
        await using RunningServer server = await RunningServer.StartAsync(
            TransportKind.Auto, config => (config.Dir, config.SavePoints) = (folder, [new(3600, 1_000_000)]));
        using TestClient admin = server.Connect();
        Assert.Equal("OK", admin.Run("SET key 1"));
        string before = admin.Run("LASTSAVE");
        Assert.Equal("Background saving started", admin.Run("BGSAVE"));
        await admin.UntilAsync("INFO persistence", static info => info.Contains("rdb_last_bgsave_status:err", StringComparison.Ordinal));
        Assert.StartsWith("MISCONF Redis is configured to save RDB snapshots", admin.Run("SET key 2"), StringComparison.Ordinal);
        Assert.StartsWith("MISCONF", admin.Run("PING"), StringComparison.Ordinal);
        Assert.Equal("1", admin.Run("GET key"));
        Assert.Equal(before, admin.Run("LASTSAVE"));
        Directory.CreateDirectory(folder);
        await admin.UntilAsync("BGSAVE", static answer => answer == "Background saving started");
        await admin.UntilAsync("INFO persistence", static info => info.Contains("rdb_last_bgsave_status:ok", StringComparison.Ordinal));
        Assert.Equal("OK", admin.Run("SET key 3"));
        Assert.Equal(["dump.rdb"], Directory.GetFiles(folder).Select(Path.GetFileName));
    }

    /// <summary>
    /// While writes are refused, no change can reach a save point. The server therefore repeats a failed save without one.
    /// </summary>
    [Fact]
    public async Task AFailedSaveWithoutChangesIsRepeated()
    {
        string folder = Path.Combine(_folder, "later");
        await using RunningServer server = await RunningServer.StartAsync(
            TransportKind.Auto, config => (config.Dir, config.SavePoints) = (folder, [new(3600, 1_000_000)]));
        using TestClient admin = server.Connect();
        Assert.Equal("Background saving started", admin.Run("BGSAVE"));
        await admin.UntilAsync(
            "INFO persistence", static info => info.Contains("rdb_last_bgsave_status:err", StringComparison.Ordinal));
        Assert.StartsWith("MISCONF", admin.Run("SET key 1"), StringComparison.Ordinal);
        Assert.StartsWith("ERR", admin.Run("SAVE"), StringComparison.Ordinal);
        Assert.StartsWith("MISCONF", admin.Run("SET key 1"), StringComparison.Ordinal);
        Directory.CreateDirectory(folder);
        await admin.UntilAsync("SET key 1", static answer => answer == "OK");
        Assert.Contains("rdb_last_bgsave_status:ok", admin.Run("INFO persistence"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task FlushallStopsARunningSave()
    {
        await using RunningServer server = await RunningServer.StartAsync(
            TransportKind.Auto,
            config => (config.Dir, config.SavePoints, config.RdbKeySaveDelay) = (_folder, [], 10_000_000));
        using TestClient admin = server.Connect();
        admin.Run("SET key 1");
        Assert.Equal("Background saving started", admin.Run("BGSAVE"));
        Assert.Equal("ERR Background save already in progress", admin.Run("BGSAVE"));
        Assert.Equal("ERR Background save already in progress", admin.Run("SAVE"));
        Assert.Equal("OK", admin.Run("FLUSHALL"));
        await admin.UntilAsync("INFO persistence", static info => info.Contains("rdb_bgsave_in_progress:0", StringComparison.Ordinal));
        Assert.Contains("rdb_last_bgsave_status:ok", admin.Run("INFO persistence"), StringComparison.Ordinal);
        Assert.Empty(Directory.GetFiles(_folder));
        Assert.Equal("OK", admin.Run("SET key 2"));
    }

    /// <summary>
    /// Writes with three invariants: two keys in different shards always have one value, a list is as long as its counter says,
    /// and the large set has its old members and one member per increment.
    /// </summary>
    private static void Write(RunningServer server, int id, CancellationToken stop)
    {
        using TestClient client = server.Connect();
        var random = new Random(id);
        for (int n = 0; !stop.IsCancellationRequested; n++)
        {
            int pair = random.Next(Pairs);
            Assert.Equal("OK", client.Run($"MSET a:{id}:{pair} {n} b:{id}:{pair} {n}"));
            Assert.Equal("OK", client.Run("MULTI"));
            client.Run($"RPUSH list:{id} {n}");
            client.Run($"INCR count:{id}");
            client.Run($"SADD large extra:{id}:{n}");
            client.Run($"INCR members:{id}");
            if (n % 50 == 0) client.Run($"RENAME a:{id}:{pair} a:{id}:{pair}:moved");
            if (n % 50 == 0) client.Run($"COPY a:{id}:{pair}:moved a:{id}:{pair}");
            Assert.StartsWith("[", client.Run("EXEC"), StringComparison.Ordinal);
        }
    }

    private void Check()
    {
        var loaded = new CommandHost();
        using IDiskFile file = RealDisk.Instance.Open(Path.Combine(_folder, "dump.rdb"), DiskOpen.Read);
        Assert.Null(new SnapshotLoader(loaded.Core, keepExpired: true).Load(file, out _));
        long members = LargeMembers;
        for (int id = 0; id < Clients; id++)
        {
            for (int pair = 0; pair < Pairs; pair++) Assert.Equal(loaded.Run($"GET a:{id}:{pair}"), loaded.Run($"GET b:{id}:{pair}"));
            Assert.Equal(loaded.Run($"GET count:{id}").Replace("nil", "0", StringComparison.Ordinal), loaded.Run($"LLEN list:{id}"));
            members += long.Parse(loaded.Run($"GET members:{id}").Replace("nil", "0", StringComparison.Ordinal), CultureInfo.InvariantCulture);
        }
        Assert.Equal(members.ToString(CultureInfo.InvariantCulture), loaded.Run("SCARD large"));
    }
}
