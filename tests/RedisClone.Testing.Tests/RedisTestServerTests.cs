using System.Diagnostics;
using System.Runtime.InteropServices;
using RedisClone.Server.Tests.Embedding;
using Xunit.Abstractions;

[assembly: CollectionBehavior(DisableTestParallelization = true)]

namespace RedisClone.Testing.Tests;

/// <summary>Test servers start quickly, are independent of each other, and leave nothing in the process.</summary>
public sealed class RedisTestServerTests(ITestOutputHelper output)
{
    private const int Rounds = 100;

    [Fact]
    public async Task EachServerIsEmptyAndHasItsOwnPort()
    {
        RedisTestServer[] servers = await Task.WhenAll(Enumerable.Range(0, 5).Select(_ => RedisTestServer.StartAsync()));
        Assert.Equal(5, servers.Select(server => server.Port).Distinct().Count());
        foreach (RedisTestServer server in servers)
        {
            Assert.Equal($"127.0.0.1:{server.Port}", server.ConnectionString);
            using Stream client = Talk.Dial(server.Port);
            await client.ExpectAsync("DBSIZE", ":0\r\n");
            await client.ExpectAsync("SET key value", "+OK\r\n");
        }
        foreach (RedisTestServer server in servers) await server.DisposeAsync();
    }

    [Fact]
    public async Task AServerInMemoryHasNoPort()
    {
        using RedisTestServer server = await RedisTestServer.StartInMemoryAsync(o => o.Password = "secret");
        Assert.Equal(0, server.Port);
        using Stream client = server.ConnectStream();
        await client.ExpectAsync("PING", "-NOAUTH Authentication required.\r\n");
        await client.ExpectAsync("AUTH secret", "+OK\r\n");
    }

    /// <summary>Threads, descriptors and memory return to their earlier values. The start times are printed.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task AHundredServersLeaveNoResources(bool inMemory)
    {
        var times = new List<double>();
        for (int i = 0; i < 5; i++) times.Add(await RoundAsync(inMemory));
        (int descriptors, long memory) = (Descriptors(), Memory());
        for (int i = 0; i < Rounds; i++) times.Add(await RoundAsync(inMemory));
        long grown = Memory() - memory;
        double[] later = [.. times.Skip(1).Order()];
        output.WriteLine(
            $"started in {times[0]:F1} ms at first, then {later[later.Length / 2]:F1} ms, at most {later[^1]:F1} ms; "
            + $"{grown / 1024} KB after {Rounds} rounds");
        Assert.InRange(Descriptors(), 0, descriptors + 10);
        Assert.DoesNotContain(ThreadNames(),
            name => name.StartsWith("loop-", StringComparison.Ordinal) || name.StartsWith("Kestrel", StringComparison.Ordinal));
        // Each server held about 2 MB.
        Assert.InRange(grown, long.MinValue, 10L << 20);
    }

    [Fact]
    public async Task TheServerDoesNotHandleSignalsOfTheHost()
    {
        await using RedisTestServer server = await RedisTestServer.StartAsync();
        var heard = new TaskCompletionSource();
        using PosixSignalRegistration registration = PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal =>
        {
            signal.Cancel = true;
            heard.TrySetResult();
        });
        using Process kill = Process.Start("kill", ["-TERM", $"{Environment.ProcessId}"]);
        await heard.Task.WaitAsync(Talk.Patience);
        using Stream client = Talk.Dial(server.Port);
        await client.ExpectAsync("PING", "+PONG\r\n");
        // If the server had handled the signal, it would end with its next round of background work.
        await client.UntilAsync("INFO stats", "total_connections_received:1");
        await Task.Delay(500);
        await client.ExpectAsync("PING", "+PONG\r\n");
    }

    private static async Task<double> RoundAsync(bool inMemory)
    {
        var watch = Stopwatch.StartNew();
        await using RedisTestServer server =
            await (inMemory ? RedisTestServer.StartInMemoryAsync() : RedisTestServer.StartAsync());
        double started = watch.Elapsed.TotalMilliseconds;
        using Stream client = inMemory ? server.ConnectStream() : Talk.Dial(server.Port);
        await client.ExpectAsync(
            "EVAL \"for i = 1, 2000 do redis.call('SET', i, string.rep('x', 1000)) end "
            + "return redis.call('RESTORE', 0, 0, redis.call('DUMP', 1))\" 0",
            "+OK\r\n");
        await client.ExpectAsync("DBSIZE", ":2001\r\n");
        return started;
    }

    /// <summary>
    /// Counts sockets and the descriptors of event loops. Files that the runtime opens in the meantime do not count.
    /// </summary>
    private static int Descriptors() => OperatingSystem.IsLinux() ? Directory.GetFiles("/proc/self/fd").Count(IsCounted) : 0;

    private static bool IsCounted(string file) => new FileInfo(file).LinkTarget is { } target
        && (target.StartsWith("socket:", StringComparison.Ordinal) || target.StartsWith("anon_inode:", StringComparison.Ordinal));

    private static IEnumerable<string> ThreadNames() =>
        OperatingSystem.IsLinux() ? Directory.GetDirectories("/proc/self/task").Select(NameOf) : [];

    private static string NameOf(string task)
    {
        try
        {
            return File.ReadAllText(task + "/comm");
        }
        catch (IOException)
        {
            // The thread has ended since the directory was read.
            return "";
        }
    }

    private static long Memory()
    {
        for (int i = 0; i < 3; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        return GC.GetTotalMemory(forceFullCollection: true);
    }
}
