using System.Text.Json;
using Microsoft.Extensions.Logging;
using RedisClone.Admin.Log;
using RedisClone.Configuration;
using RedisClone.Engine;

namespace RedisClone.Server.Tests.Admin;

/// <summary>The two formats of a log line.</summary>
public sealed class LogTests : IDisposable
{
    private readonly string _path = Path.Combine(Directory.CreateTempSubdirectory("redisclone-log-").FullName, "log");

    public void Dispose() => Directory.Delete(Path.GetDirectoryName(_path)!, recursive: true);

    [Fact]
    public void EveryJsonLineIsOneObject()
    {
        Write("json");
        JsonElement[] lines = [.. File.ReadAllLines(_path).Select(line => JsonDocument.Parse(line).RootElement)];
        Assert.Equal(["notice", "warning", "error"], lines.Select(line => line.GetProperty("level").GetString()));
        Assert.All(lines, line =>
        {
            Assert.Equal(TimeSpan.Zero, DateTimeOffset.Parse(line.GetProperty("time").GetString()!, System.Globalization.CultureInfo.InvariantCulture).Offset);
            Assert.Equal(Environment.ProcessId, line.GetProperty("pid").GetInt32());
        });
        Assert.Equal("Client a \"name\"\nin two lines has sent 12 bytes", lines[0].GetProperty("message").GetString());
        Assert.Equal("a \"name\"\nin two lines", lines[0].GetProperty("fields").GetProperty("client").GetString());
        Assert.Equal(12, lines[0].GetProperty("fields").GetProperty("byteCount").GetInt32());
        Assert.Empty(lines[1].GetProperty("fields").EnumerateObject());
        Assert.StartsWith("It failed: System.InvalidOperationException: why", lines[2].GetProperty("message").GetString(), StringComparison.Ordinal);
    }

    [Fact]
    public void TextsAreNotCutWithinACharacter()
    {
        Assert.Equal(Limits.LogText, LogEvent.Bounded(new string('q', 3_000_000)).Length);
        Assert.Equal(Limits.LogText - 1, LogEvent.Bounded(new string('q', Limits.LogText - 1) + "\U0001F600 and more").Length);
        Assert.Equal("short", LogEvent.Bounded("short"));
    }

    [Fact]
    public void TextLinesHaveTheFormatOfRedis()
    {
        Write("text");
        Assert.Matches(@"^\d+:M \d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3} \* Client a ""name""\nin two lines has sent 12 bytes\n", File.ReadAllText(_path));
    }

    private void Write(string format)
    {
        var config = new ServerConfig { LogFile = _path };
        Assert.Null(new ConfigTable(config).Set([new("log-format", format)]));
        using var log = new RedisLog(config);
        ILogger logger = log.CreateLogger("RedisClone.Tests");
        logger.LogInformation("Client {Client} has sent {ByteCount} bytes", "a \"name\"\nin two lines", 12);
        logger.LogWarning("Nothing besides");
        logger.LogError(new InvalidOperationException("why"), "It failed");
    }
}
