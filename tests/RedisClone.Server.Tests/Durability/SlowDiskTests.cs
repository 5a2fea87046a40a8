using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Durability;

/// <summary>A disk that is slower than the writes of clients. The clients wait for the disk, and memory does not grow.</summary>
public sealed class SlowDiskTests : IDisposable
{
    private const int Size = 1 << 20, Writes = 100;

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-slow-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task TheBacklogIsBoundedAndReadersDoNotWait()
    {
        var disk = new WatchedDisk { FlushTime = TimeSpan.FromMilliseconds(500) };
        await using RunningServer server = await StartAsync(
            disk, TransportKind.Auto, AppendFsync.Everysec, static config => config.AutoAofRewritePercentage = 0);
        string value = new('x', Size);
        Task[] writers = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            using TestClient client = server.Connect();
            for (int i = 0; i < Writes / 4; i++) client.Send("SET", "k", value);
            for (int i = 0; i < Writes / 4; i++) Assert.Equal("OK", client.Read());
        }))];
        using TestClient reader = server.Connect();
        long most = 0;
        while (!Task.WhenAll(writers).IsCompleted)
        {
            most = Math.Max(most, server.Core.Journal!.Engine.BytesPending);
            Assert.Equal("PONG", reader.Run("PING"));
            await Task.Delay(5);
        }
        await Task.WhenAll(writers);
        Assert.InRange(most, 0, Limits.JournalBacklog + 16 * Size);
    }

    /// <summary>A backup is written without a journal here. The disk takes less than what clients write.</summary>
    [Fact]
    public async Task TheBacklogOfABackupIsBounded()
    {
        var disk = new WatchedDisk();
        await using RunningServer server = await StartAsync(disk, TransportKind.Auto, AppendFsync.No, static config => config.AppendOnly = false);
        using TestClient admin = server.Connect(), writer = server.Connect();
        Assert.Equal("OK", admin.Run("BACKUP START"));
        await admin.UntilAsync("BACKUP STATUS", static answer => answer.Contains("incrementing", StringComparison.Ordinal));
        disk.WriteTime = TimeSpan.FromMilliseconds(300);
        string value = new('x', Size);
        Task writes = Task.Run(() =>
        {
            for (int i = 0; i < Writes; i++) writer.Send("SET", "k", value);
            for (int i = 0; i < Writes; i++) Assert.Equal("OK", writer.Read());
        });
        long most = 0;
        while (!writes.IsCompleted)
        {
            most = Math.Max(most, server.Core.Backups.BytesPending);
            await Task.Delay(5);
        }
        await writes;
        disk.WriteTime = TimeSpan.Zero;
        Assert.InRange(most, 0, Limits.JournalBacklog + 16 * Size);
        Assert.Equal("OK", admin.Run("BACKUP SEAL"));
    }

    [Theory]
    [InlineData(TransportKind.Auto)]
    [InlineData(TransportKind.Sockets)]
    public async Task RepliesWaitForTheDiskUntilTheyNeedNotAnyMore(TransportKind transport)
    {
        var disk = new WatchedDisk();
        await using RunningServer server = await StartAsync(disk, transport, AppendFsync.Always);
        using TestClient client = server.Connect();
        using TestClient other = server.Connect();
        long before = server.Core.Journal!.Engine.Lsn;
        disk.FlushTime = TimeSpan.FromSeconds(3);
        // Without an event loop, the journal thread may take the first of two units alone and write the second after the flush.
        if (transport == TransportKind.Auto) SendTwo(client, "SET", "k", "1");
        else client.Send("SET", "k", "1");
        while (server.Core.Journal.Engine.WrittenLsn == before) await Task.Delay(5);
        Assert.Equal("OK", other.Run("CONFIG SET appendfsync everysec"));
        Assert.Equal("OK", client.Read());
        Assert.True(server.Core.Journal.Engine.Lsn > server.Core.Journal.DurableLsn, "The reply came after the flush.");
        disk.FlushTime = TimeSpan.Zero;
    }

    /// <summary>
    /// While a write is stuck, a message that may show its effects waits, and others do not: the subscriber would be closed for what it
    /// cannot read.
    /// </summary>
    [Fact]
    public async Task OnlyMessagesAboutUnwrittenEffectsWait()
    {
        var disk = new WatchedDisk();
        await using RunningServer server = await StartAsync(
            disk, TransportKind.Sockets, AppendFsync.No, static config => config.NotifyKeyspaceEvents = NotifyFlags.All | NotifyFlags.Keyevent);
        using TestClient listener = server.Connect();
        using TestClient watcher = server.Connect();
        using TestClient publisher = server.Connect();
        using TestClient writer = server.Connect();
        listener.Run("SUBSCRIBE news");
        watcher.Run("SUBSCRIBE __keyevent@0__:set");
        using var stuck = new ManualResetEventSlim();
        using var goesOn = new ManualResetEventSlim();
        disk.Writing = () =>
        {
            stuck.Set();
            goesOn.Wait();
        };
        writer.Send("SET", "k", WatchedDisk.MarkOf(1));
        stuck.Wait();
        Task<string> shown = Task.Run(watcher.Read);
        Assert.Equal("1", publisher.Run("PUBLISH news hello"));
        Assert.Contains("hello", listener.Read(), StringComparison.Ordinal);
        Assert.False(shown.IsCompleted);
        goesOn.Set();
        Assert.Contains("k", await shown, StringComparison.Ordinal);
        Assert.Equal("OK", writer.Read());
        Assert.True(disk.IsWritten(WatchedDisk.MarkOf(1)));
        disk.Writing = static () => { };
    }

    [Fact]
    public async Task AConnectionExecutesWhileItsOutputIsHeld()
    {
        var disk = new WatchedDisk();
        await using RunningServer server = await StartAsync(disk, TransportKind.Auto, AppendFsync.Always);
        using TestClient client = server.Connect();
        long start = server.Core.Journal!.DurableLsn;
        disk.FlushTime = TimeSpan.FromSeconds(2);
        for (int i = 0; i < 3; i++)
        {
            long before = server.Core.Journal.Engine.Lsn;
            SendTwo(client, "INCR", "k");
            while (server.Core.Journal.Engine.Lsn == before) await Task.Delay(5);
        }
        // A read that saw what is not durable is held, too.
        client.Send("GET", "k");
        Assert.Equal(start, server.Core.Journal.DurableLsn);
        Assert.Equal(["1", "2", "3", "4", "5", "6", "6"], Enumerable.Range(0, 7).Select(_ => client.Read()));
        Assert.True(server.Core.Journal.DurableLsn > start);
        disk.FlushTime = TimeSpan.Zero;
    }

    private Task<RunningServer> StartAsync(WatchedDisk disk, TransportKind transport, AppendFsync policy, Action<ServerConfig>? configure = null) =>
        RunningServer.StartAsync(new ServerConfig(), transport, config =>
        {
            config.Dir = _folder;
            config.AppendOnly = true;
            config.AppendFsync = policy;
            configure?.Invoke(config);
        }, disk);

    /// <summary>The event loop writes a single unit itself, and serves no other connection meanwhile.</summary>
    private static void SendTwo(TestClient client, params string[] words)
    {
        string request = TestClient.Encode(words);
        client.SendRaw(request + request);
    }
}
