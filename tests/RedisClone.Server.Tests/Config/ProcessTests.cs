using System.Net.Sockets;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Admin.Log;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Server.Lifetime;

namespace RedisClone.Server.Tests.Config;

/// <summary>
/// Effects of the configuration on the process: the log and pid files, the out-of-memory score, and the notifications to systemd.
/// </summary>
public sealed class ProcessTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("redisclone-process-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void ALogFileThatIsMovedOrTruncatedIsReopened()
    {
        string path = Path.Combine(_directory, "log"), moved = path + ".1";
        using var log = new LogFile(path);
        log.Append("one\n"u8);
        log.Append("two\n"u8);
        File.Move(path, moved);
        log.Append("three\n"u8);
        Assert.Equal("one\ntwo\n", File.ReadAllText(moved));
        Assert.Equal("three\n", File.ReadAllText(path));

        File.WriteAllText(path, "");
        log.Append("four\n"u8);
        Assert.Equal("four\n", File.ReadAllText(path));

        File.Delete(path);
        Directory.CreateDirectory(path);
        log.Append("lost\n"u8);
        Directory.Delete(path);
        log.Append("five\n"u8);
        Assert.Equal("five\n", File.ReadAllText(path));
    }

    [Fact]
    public async Task ThePidFileExistsWhileTheServerRuns()
    {
        var path = Path.Combine(_directory, "redis.pid");
        var config = new ServerConfig { PidFile = path };
        ProcessPresence presence = PresenceOf(config);
        presence.Ready();
        Assert.Equal($"{Environment.ProcessId}\n", await File.ReadAllTextAsync(path));
        await presence.StoppedAsync(CancellationToken.None);
        Assert.False(File.Exists(path));
    }

    [Fact]
    public async Task AFailureToWriteThePidFileIsIgnored()
    {
        var config = new ServerConfig { PidFile = "/no/such/directory/redis.pid" };
        ProcessPresence presence = PresenceOf(config);
        presence.Ready();
        await presence.StoppedAsync(CancellationToken.None);
    }

    private static ProcessPresence PresenceOf(ServerConfig config)
    {
        var table = new ConfigTable(config);
        var server = new ServerCore(config, table, new CommandTable(CommandFamilies.All), NullLogger<ServerCore>.Instance);
        return new ProcessPresence(config, table, server, NullLogger<ProcessPresence>.Instance);
    }

    [Fact]
    public void TheScoreFollowsTheConfigurationAndIsRestored()
    {
        var path = Path.Combine(_directory, "score");
        File.WriteAllText(path, "7\n");
        var config = new ServerConfig();
        var table = new ConfigTable(config);
        var score = new OomScore(config, path);
        table.OnChanged("oom-score-adj", score.Apply);
        table.OnChanged("oom-score-adj-values", score.Apply);

        Assert.Null(table.Set([new("oom-score-adj-values", "10 20 30")]));
        Assert.Equal("7\n", File.ReadAllText(path)); // not changed while the setting is off
        Assert.Null(table.Set([new("oom-score-adj", "yes")]));
        Assert.Equal("17", File.ReadAllText(path));
        Assert.Null(table.Set([new("oom-score-adj", "absolute"), new("oom-score-adj-values", "2000 2000 2000")]));
        Assert.Equal("1000", File.ReadAllText(path));
        Assert.Null(table.Set([new("oom-score-adj", "no")]));
        Assert.Equal("7", File.ReadAllText(path));
    }

    [Fact]
    public void AScoreThatCannotBeSetIsRefused()
    {
        var config = new ServerConfig();
        var table = new ConfigTable(config);
        table.OnChanged("oom-score-adj", new OomScore(config, Path.Combine(_directory, "none")).Apply);
        Assert.EndsWith("Failed to set current oom_score_adj. Check server logs.", table.Set([new("oom-score-adj", "yes")]));
        Assert.Equal(OomScoreMode.No, config.OomScoreAdj);
    }

    [Theory]
    [InlineData(nameof(SupervisedMode.Systemd), true)]
    [InlineData(nameof(SupervisedMode.Auto), true)]
    [InlineData(nameof(SupervisedMode.No), false)]
    public void SystemdIsNotifiedIfTheConfigurationRequestsIt(string mode, bool notified)
    {
        var path = Path.Combine(_directory, "notify");
        using var systemd = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
        systemd.Bind(new UnixDomainSocketEndPoint(path));
        var supervisor = new Supervisor(Enum.Parse<SupervisedMode>(mode), path);
        supervisor.Ready();
        supervisor.Stopping();

        Assert.Equal(notified, systemd.Poll(0, SelectMode.SelectRead));
        if (!notified)
            return;
        var buffer = new byte[200];
        Assert.Equal("STATUS=Ready to accept connections\nREADY=1\n", Encoding.UTF8.GetString(buffer, 0, systemd.Receive(buffer)));
        Assert.Equal("STOPPING=1\n", Encoding.UTF8.GetString(buffer, 0, systemd.Receive(buffer)));
    }

    [Fact]
    public void AMissingSupervisorIsIgnored()
    {
        new Supervisor(SupervisedMode.Systemd, Path.Combine(_directory, "none")).Ready();
        new Supervisor(SupervisedMode.Systemd, null).Ready();
    }
}
