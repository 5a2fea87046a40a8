using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RedisClone.Admin.Log;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Tests.Failures;

/// <summary>
/// Failures for lack of memory outside of commands write at most one log line in ten seconds. The line contains the number of
/// failures without a line.
/// </summary>
public sealed class FailureNoticeTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-notices-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void FailuresOutsideCommandsHaveOneLineInTenSeconds()
    {
        var config = new ServerConfig { Shards = 4 };
        var log = new Lines();
        var core = new ServerCore(config, new ConfigTable(config), new CommandTable(CommandFamilies.All), log);
        long now = 5;
        var policy = new FailurePolicy(core, () => now);
        var failure = new OutOfMemoryException();
        for (int i = 0; i < 100; i++)
        {
            policy.WorkFailed("A connection failed on its event loop", failure);
            policy.ConnectionFailed(failure);
            policy.BackgroundFailed("expiry failed", failure, null);
        }
        Assert.Equal(["A connection failed on its event loop. Since the last such line, 0 failures for lack of memory were not logged"], log.Take());

        now += NoticeLimit.Milliseconds;
        policy.ConnectionFailed(failure);
        Assert.Equal(["A connection failed unexpectedly. Since the last such line, 299 failures for lack of memory were not logged"], log.Take());

        for (int i = 0; i < 5; i++) policy.WorkFailed("A timer failed", failure);
        policy.Tend();
        Assert.Empty(log.Take());
        now += NoticeLimit.Milliseconds;
        policy.Tend();
        Assert.Equal(["Out of memory: 5 more failures outside commands"], log.Take());
        policy.Tend();
        Assert.Empty(log.Take());

        for (int i = 0; i < 3; i++) policy.WorkFailed("A timer failed", new InvalidOperationException());
        Assert.Equal(["A timer failed", "A timer failed", "A timer failed"], log.Take());
    }

    [Fact]
    public async Task FailuresOfEventLoopsAreLimitedAndCounted()
    {
        string path = Path.Combine(_folder, "log");
        var config = new ServerConfig { Shards = 4, LogFile = path, Dir = _folder, Transport = Configuration.TransportKind.EventLoop };
        long counted = InternalErrors.Count;
        using (var output = new RedisLog(config))
        {
            await using WebApplication app = Hosting.Build(config, log: output);
            EventLoopOptions loops = app.Services.GetRequiredService<IOptions<EventLoopOptions>>().Value;
            ILogger log = app.Services.GetRequiredService<ILogger<ServerCore>>();
            for (int i = 0; i < 50; i++) loops.Failed(log, new OutOfMemoryException(), "A round of an event loop was cut short");
        }
        Assert.InRange(InternalErrors.Count, counted + 50, long.MaxValue);
        Assert.Single(File.ReadLines(path), static line => line.Contains("A round of an event loop", StringComparison.Ordinal));
    }

    /// <summary>All threads share one limit. No suppressed line is lost or counted twice.</summary>
    [Fact]
    public async Task EveryStoppedLineIsCountedOnce()
    {
        const int threads = 4, calls = 20_000;
        var limit = new NoticeLimit();
        long now = 0, passed = 0, told = 0;
        await Task.WhenAll(Enumerable.Range(0, threads).Select(_ => Task.Run(() =>
        {
            for (int i = 0; i < calls; i++)
            {
                if (!limit.TryPass(Interlocked.Add(ref now, 10), out long leftOut)) continue;
                Interlocked.Increment(ref passed);
                Interlocked.Add(ref told, leftOut);
            }
        })));
        if (limit.TryTakeLeftOut(long.MaxValue, out long rest)) told += rest;
        Assert.Equal(threads * calls, passed + told);
        Assert.InRange(passed, 1, threads * calls * 10 / NoticeLimit.Milliseconds + 1);
    }

    private sealed class Lines : ILogger<ServerCore>
    {
        private readonly List<string> _lines = [];

        public string[] Take()
        {
            string[] lines = [.. _lines];
            _lines.Clear();
            return lines;
        }

        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
            _lines.Add(formatter(state, exception));
    }
}
