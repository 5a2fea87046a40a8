using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Admin.Log;
using RedisClone.Configuration;
using RedisClone.Engine.Metrics;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Admin;

/// <summary>How far long work is: in INFO, in the log and on a terminal.</summary>
public sealed class ProgressTests
{
    private static readonly LongWork s_half = new(LongWorkKind.Load, true, 3L << 29, 3L << 30, TimeSpan.FromSeconds(10));

    [Fact]
    public void ALineHasTheShareTheRateAndTheTimeLeft()
    {
        Assert.Equal("50 %, 1.5 GB of 3.0 GB, 154 MB a second, about 10 s left", ProgressText.Line(s_half));
        Assert.Equal("Loading [############............] 50 %, 1.5 GB of 3.0 GB, 154 MB a second, about 10 s left", ProgressText.Bar(s_half));
        Assert.Equal("512 B, 51 B a second", ProgressText.Line(s_half with { Done = 512, Total = 0 }));
        Assert.Equal("0 %, 0 keys of 1,000 keys, 0 keys a second, time left unknown",
            ProgressText.Line(s_half with { InBytes = false, Done = 0, Total = 1000 }));
        Assert.Equal("99 %, 999,999 keys of 1,000,000 keys, 100,000 keys a second, about 1 s left",
            ProgressText.Line(s_half with { InBytes = false, Done = 999_999, Total = 1_000_000 }));
        Assert.Contains("about 11 h 6 min left", ProgressText.Line(s_half with { Done = 1, Total = 4001 }), StringComparison.Ordinal);
        // More may arrive than was announced.
        Assert.StartsWith("100 %", ProgressText.Line(s_half with { Done = 4L << 30 }), StringComparison.Ordinal);
    }

    [Fact]
    public void ABarIsRemovedBeforeALineAndShownAgain()
    {
        byte[] bar = TerminalBar.Of(s_half);
        Assert.StartsWith("\e[?7lLoading [###", Encoding.UTF8.GetString(bar), StringComparison.Ordinal);
        Assert.Empty(TerminalBar.Of());
    }

    [Fact]
    public async Task ALoadIsInInfoAndInTheLog()
    {
        var log = new Lines();
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        Assert.Null(server.Core.Prepare());
        server.Core.Loading!.Measure(static () => 2000, static () => 500);
        using TestClient client = server.Connect();
        string info = client.Run("INFO progress");
        Assert.Contains("work_load:running=1,unit=bytes,done=500,total=2000,done_ratio=0.25,", info, StringComparison.Ordinal);
        Assert.Contains("work_snapshot:running=0,", info, StringComparison.Ordinal);
        LongWork work = LongWork.Of(server.Core).Single();
        Assert.Equal(("load", 0.25), (work.Kind.Name, work.Share));
        new ProgressReports(server.Core, log).Report(TimeSpan.Zero);
        Assert.StartsWith("Loading: 25 %, 500 B of 2.0 KB, ", log.All.Single(), StringComparison.Ordinal);
        // Work that is over soon is not worth a line.
        new ProgressReports(server.Core, log).Report(TimeSpan.FromHours(1));
        Assert.Single(log.All);
        Assert.Null(server.Core.LoadData());
        new ProgressReports(server.Core, log).Report(TimeSpan.Zero);
        Assert.Single(log.All);
    }

    [Fact]
    public async Task ASnapshotIsInInfoWhileItRuns()
    {
        await using RunningServer server = await RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop, static config =>
        {
            config.Dir = Directory.CreateTempSubdirectory("redisclone-progress-").FullName;
            config.RdbKeySaveDelay = 10_000_000;
        }, RedisClone.Journal.Disk.RealDisk.Instance);
        using TestClient client = server.Connect();
        for (int i = 0; i < 50; i++) client.Run($"SET key:{i} x");
        client.Run("BGSAVE");
        string info;
        do info = client.Run("INFO progress");
        while (!info.Contains("work_snapshot:running=1", StringComparison.Ordinal));
        Assert.Matches(@"work_snapshot:running=1,unit=keys,done=\d+,total=50,", info);
        // The parameter ends a wait that has begun.
        client.Run("CONFIG SET rdb-key-save-delay 0");
        do info = client.Run("INFO persistence");
        while (info.Contains("rdb_bgsave_in_progress:1", StringComparison.Ordinal));
        Assert.Contains("rdb_last_bgsave_status:ok", info, StringComparison.Ordinal);
    }

    private sealed class Lines : ILogger
    {
        public List<string> All { get; } = [];

        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
            All.Add(formatter(state, exception));
    }
}
