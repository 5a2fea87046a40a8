using System.Text.Json;
using Microsoft.Extensions.Logging;
using RedisClone.Admin.Log;
using RedisClone.Configuration;
using RedisClone.Engine.Failures;
using RedisClone.Server.Embedding;

namespace RedisClone.Server.Tests.Admin;

/// <summary>No log line throws, even if the line, the logger or the file is faulty.</summary>
public sealed class LogFailureTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-log-").FullName;

    private string LogPath => Path.Combine(_folder, "log");

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void AValueWhoseTextThrowsLosesOnlyItsLine(bool asJson)
    {
        var config = new ServerConfig { LogFile = LogPath, LogFormat = asJson ? LogFormat.Json : LogFormat.Text };
        long lost = LostLines.Count;
        using (var log = new RedisLog(config))
        {
            ILogger logger = log.CreateLogger("RedisClone.Tests");
            logger.LogWarning("{Value} has no text", new ThrowingText());
            logger.LogError(new ThrowingException(), "{Value} has one", 1);
            logger.LogWarning("Written");
        }
        Assert.InRange(LostLines.Count, lost + 1, long.MaxValue);
        string text = File.ReadAllText(LogPath);
        Assert.Contains("ThrowingException (its text cannot be read: InvalidOperationException)", text,
            StringComparison.Ordinal);
        Assert.Contains("Written", text, StringComparison.Ordinal);
    }

    [Fact]
    public void ExceptionsOfTheLoggerOfTheHostAreCounted()
    {
        using var host = new ThrowingFactory();
        using var provider = new HostLog(host);
        ILogger logger = provider.CreateLogger("RedisClone.Tests");
        long lost = LostLines.Count;
        logger.LogWarning("A line with {Parts}", 1);
        logger.LogError(new InvalidOperationException("x"), "A line");
        Assert.Null(logger.BeginScope("x"));
        Assert.InRange(LostLines.Count, lost + 3, long.MaxValue);
    }

    [Fact]
    public void LinesOfAnUnwritableFileAreCountedInTheFileLater()
    {
        Directory.CreateDirectory(LogPath);
        var config = new ServerConfig { LogFile = LogPath };
        using (var log = new RedisLog(config))
        {
            ILogger logger = log.CreateLogger("RedisClone.Tests");
            for (int i = 0; i < 10; i++) logger.LogWarning("Lost");
            log.Drain(TimeSpan.FromMinutes(1));
            Directory.Delete(LogPath);
            logger.LogWarning("Kept");
        }
        Assert.Matches(@" # \d+ lines of the log could not be written\.\n[^\n]* # Kept\n$", File.ReadAllText(LogPath));
    }

    [Fact]
    public void TheLastLineIsCompleteInBothFormats()
    {
        var line = new FatalLine();
        var cause = new InvalidOperationException("a \"quoted\" \\ \n\u00e9 " + new string('x', 10_000));
        string thread = Thread.CurrentThread.Name is { Length: > 0 } name ? $" (thread {name})" : "";
        string text = System.Text.Encoding.UTF8.GetString(line.Make('S', "It is over", cause, json: false));
        Assert.Contains($"Fatal: It is over{thread}: ", text, StringComparison.Ordinal);
        Assert.Matches(
            @"^\d+:S \d\d \w{3} \d{4} [\d:.]{12} # Fatal: It is over[^:]*: InvalidOperationException: a ""quoted"" \\  é x+\n$", text);
        string json = System.Text.Encoding.UTF8.GetString(line.Make('M', "It is over", cause, json: true));
        JsonElement fields = JsonDocument.Parse(json).RootElement;
        Assert.StartsWith($"Fatal: It is over{thread}: InvalidOperationException: a \"quoted\" \\  é x",
            fields.GetProperty("message").GetString(), StringComparison.Ordinal);
        Assert.Equal("error", fields.GetProperty("level").GetString());
        Assert.Contains($"Fatal: It is over{thread}: ThrowingException: ?", System.Text.Encoding.UTF8.GetString(line.Make('M', "It is over",
            new ThrowingException(), json: false)),
            StringComparison.Ordinal);
    }

    [Fact]
    public void TheLastLineAllocatesNothing()
    {
        var line = new FatalLine();
        line.WarmUp();
        var cause = new InvalidOperationException("why");
        _ = line.Make('M', "It is over", cause, json: false);
        long before = GC.GetAllocatedBytesForCurrentThread();
        _ = line.Make('M', "It is over", cause, json: false);
        _ = line.Make('M', "It is over", cause, json: true);
        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());
    }

    private sealed class ThrowingText
    {
        public override string ToString() => throw new InvalidOperationException("no text");
    }

    private sealed class ThrowingException : Exception
    {
        public override string Message => throw new InvalidOperationException("no text");

        public override string ToString() => throw new InvalidOperationException("no text");
    }

    private sealed class ThrowingFactory : ILoggerFactory, ILogger
    {
        public void AddProvider(ILoggerProvider provider)
        {
        }

        public ILogger CreateLogger(string categoryName) => this;

        public IDisposable? BeginScope<TState>(TState state) where TState : notnull =>
            throw new InvalidOperationException("scope");

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?,
            string> formatter) =>
            throw new OutOfMemoryException();

        public void Dispose()
        {
        }
    }
}
