using RedisClone.Server.Embedding;

namespace RedisClone.Server.Tests.Embedding;

/// <summary>Starts that fail or are ended, and what a server leaves in its process.</summary>
public sealed class StartTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-embedded-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task AServerWithoutADirectoryIgnoresFilesOfTheCurrentOne()
    {
        var options = new RedisCloneOptions { Port = null, ["dbfilename"] = $"left-{Environment.ProcessId}.rdb" };
        string file = Path.GetFullPath(options["dbfilename"]);
        try
        {
            for (int round = 0; round < 2; round++)
            {
                await using var server = new RedisCloneServer(options);
                await server.StartAsync();
                using Stream client = server.ConnectStream();
                await client.ExpectAsync("EXISTS left", ":0\r\n");
                await client.ExpectAsync("SET left behind", "+OK\r\n");
                await client.ExpectAsync("SAVE", "+OK\r\n");
            }
            Assert.True(File.Exists(file));
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Fact]
    public async Task AStartThatFailsReleasesItsFiles()
    {
        var options = new RedisCloneOptions { Port = null, Directory = _folder, AppendOnly = true };
        await using (var server = new RedisCloneServer(options))
        {
            await server.StartAsync();
            using Stream client = server.ConnectStream();
            await client.ExpectAsync("SET a b", "+OK\r\n");
        }
        string increment = Assert.Single(Directory.EnumerateFiles(_folder, "*.incr.aof", SearchOption.AllDirectories));
        byte[] whole = await File.ReadAllBytesAsync(increment);
        await File.WriteAllBytesAsync(increment, [.. "damage"u8, .. whole]);
        await using var damaged = new RedisCloneServer(options);
        await Assert.ThrowsAsync<InvalidOperationException>(() => damaged.StartAsync());
        await File.WriteAllBytesAsync(increment, whole);
        // The first server is not disposed of yet.
        await using var again = new RedisCloneServer(options);
        await again.StartAsync();
        using Stream other = again.ConnectStream();
        await other.ExpectAsync("GET a", "$1\r\nb\r\n");
    }

    [Fact]
    public async Task AStartCanBeEnded()
    {
        var options = new RedisCloneOptions { Port = null, Directory = _folder };
        await using var cancelled = new RedisCloneServer(options);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => cancelled.StartAsync(new CancellationToken(canceled: true)));
        await cancelled.StopAsync();
        for (int i = 0; i < 20; i++)
        {
            var server = new RedisCloneServer(options);
            Task start = Task.Run(() => server.StartAsync());
            if (i % 2 == 0) await Task.Yield();
            await server.DisposeAsync();
            // The start ends either way: in time, or because it was asked to.
            await Task.WhenAny(start, Task.Delay(Talk.Patience));
            Assert.True(start.IsCompleted);
        }
    }

    [Fact]
    public async Task ASecondStartDoesNotHarmTheServer()
    {
        var options = new RedisCloneOptions { Port = null, Directory = _folder };
        await using (var server = new RedisCloneServer(options))
        {
            await server.StartAsync();
            using Stream client = server.ConnectStream();
            await client.ExpectAsync("SET a b", "+OK\r\n");
            await Assert.ThrowsAsync<InvalidOperationException>(() => server.StartAsync());
            await client.ExpectAsync("GET a", "$1\r\nb\r\n");
        }
        await using var again = new RedisCloneServer(options);
        await again.StartAsync();
        using Stream other = again.ConnectStream();
        await other.ExpectAsync("GET a", "$1\r\nb\r\n");
    }

    /// <summary>A start with a journal that has no base would be empty.</summary>
    [Fact]
    public async Task TheJournalIsNotTurnedOnWhileAShutdownSaves()
    {
        string? refusal = null;
        await using (var server = new RedisCloneServer(new RedisCloneOptions { Port = null, Directory = _folder }))
        {
            await server.StartAsync();
            server.Core.Shutdown.Save = _ =>
            {
                refusal = server.Core.Rewrites.TurnJournal(on: true);
                return true;
            };
        }
        Assert.Contains("shutting down", refusal, StringComparison.Ordinal);
    }

    [Fact]
    public async Task AnEmptyNameIsThatOfNoDumpFile()
    {
        await using var server = new RedisCloneServer(new RedisCloneOptions { Port = null, Directory = _folder, ["dbfilename"] = "" });
        await server.StartAsync();
        using Stream client = server.ConnectStream();
        await client.ExpectAsync("EXISTS a", ":0\r\n");
    }

    [Fact]
    public async Task AServerThatHasEndedLeavesNoThread()
    {
        await RunAsync();
        int before = JournalThreads();
        for (int i = 0; i < 5; i++) await RunAsync();
        // Other tests run servers of their own at the same time, and end them.
        for (int i = 0; i < 100 && JournalThreads() > before; i++) await Task.Delay(100);
        Assert.InRange(JournalThreads(), 0, before);
    }

    private static async Task RunAsync()
    {
        await using var server = new RedisCloneServer(new RedisCloneOptions { Port = null });
        await server.StartAsync();
        using Stream client = server.ConnectStream();
        await client.ExpectAsync("SET a b", "+OK\r\n");
    }

    private static int JournalThreads()
    {
        int threads = 0;
        foreach (string task in Directory.EnumerateDirectories("/proc/self/task"))
        {
            try
            {
                if (File.ReadAllText(Path.Combine(task, "comm")).StartsWith("journal", StringComparison.Ordinal)) threads++;
            }
            catch (IOException)
            {
                // The thread has ended.
            }
        }
        return threads;
    }
}
