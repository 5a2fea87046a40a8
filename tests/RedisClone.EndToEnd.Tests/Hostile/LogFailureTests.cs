using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>
/// A log that cannot be written loses its lines and has no other effect. Clients are served, and the server shuts down on
/// request.
/// </summary>
public sealed class LogFailureTests
{
    /// <summary>Limits files to 128 KB. Without the first setting, the runtime would map its code through a large file.</summary>
    private const string Limited = "export DOTNET_EnableWriteXorExecute=0; ulimit -f 256; exec SERVER > log";

    [Theory]
    [InlineData("exec SERVER > /dev/full")]
    [InlineData("exec SERVER > /dev/full 2>&1")]
    [InlineData("exec SERVER --transport sockets > /dev/full")]
    [InlineData("exec SERVER --log-format json > /dev/full")]
    [InlineData("exec SERVER --logfile /dev/full")]
    public void AFullDiskLosesOnlyLogLines(string command)
    {
        using var server = new ShellServer(command, "--save ''", "--enable-debug-command yes");
        using RespClient client = server.Connect();
        int process = Flood(server, client);
        Assert.True(Lost(client) >= 100);
        Assert.Equal(0, server.Stop(process));
    }

    [Fact]
    public void ABrokenPipeLosesOnlyLogLines()
    {
        using var server = new ShellServer("(echo $$ > pid; exec SERVER) | true; wait", "--save ''",
            "--enable-debug-command yes");
        using RespClient client = server.Connect();
        int process = Flood(server, client);
        Assert.True(Lost(client) >= 100);
        Assert.Equal(0, server.Stop(process));
    }

    [Fact]
    public void AUserFileBeyondTheLimitOfAFileIsRefused()
    {
        using var server = new ShellServer(Limited, "--save ''", "--aclfile users.acl");
        File.WriteAllText(Path.Combine(server.Folder, "users.acl"), "");
        using RespClient client = server.Connect();
        for (int i = 0; i < 100; i++) client.Expect("+OK", "ACL", "SETUSER", $"user{i}", "~" + new string('x', 2000));
        Assert.StartsWith("ERR There was an error trying to save the ACLs", client.Call("ACL", "SAVE").Text!, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFiles(server.Folder, "*.tmp"));
        Assert.Equal("", File.ReadAllText(Path.Combine(server.Folder, "users.acl")));
        server.AssertStops();
    }

    [Fact]
    public void AFullPipeLosesOnlyLogLines()
    {
        using var server = new ShellServer("SERVER | sleep 600", "--save ''", "--enable-debug-command yes", "--appendonly yes");
        using RespClient client = server.Connect();
        string text = new('x', 4000);
        for (int i = 0; i < 1000; i++) client.Expect("+OK", "DEBUG", "LOG", text);
        Assert.True(Lost(client) > 100);
        int process = ShellServer.ProcessOf(client);
        client.Expect("+OK", "SET", "k", "v");
        using (Process kill = Process.Start("kill", ["-TERM", $"{process}"])) kill.WaitForExit();
        Assert.Equal("", client.ReadToClose());
        Assert.True(SpinWait.SpinUntil(() => HasEnded(process), 60_000));
    }

    private static bool HasEnded(int process)
    {
        try
        {
            return File.ReadAllText($"/proc/{process}/stat").Contains(") Z ", StringComparison.Ordinal);
        }
        catch (IOException)
        {
            return true;
        }
    }

    /// <summary>
    /// With RLIMIT_FSIZE the kernel sends SIGXFSZ, which ends a process unless the process ignores it. The journal has the same
    /// limit.
    /// </summary>
    [Fact]
    public void AFileSizeLimitLosesOnlyLogLines()
    {
        using var server = new ShellServer(Limited, "--save ''", "--enable-debug-command yes");
        using RespClient client = server.Connect();
        string text = new('x', 2000);
        for (int i = 0; i < 500; i++) client.Expect("+OK", "DEBUG", "LOG", text);
        Assert.True(SpinWait.SpinUntil(() => Lost(client) >= 100, 60_000));
        Assert.Equal(0, server.Stop(ShellServer.ProcessOf(client)));
    }

    [Fact]
    public void AFileSizeLimitOfTheJournalRefusesWrites()
    {
        using var server = new ShellServer(Limited, "--save ''", "--appendonly yes --appendfsync always --rdbcompression no");
        using RespClient client = server.Connect();
        string value = new('x', 5000);
        Reply? refusal = null;
        // A rewrite repairs the journal as long as the data fit into one file.
        for (int i = 0; i < 200 && refusal is null; i++)
            if (CallAlone(server, "SET", $"key:{i}", value) is { IsError: true } reply) refusal = reply;
        Assert.StartsWith("MISCONF", refusal?.Text, StringComparison.Ordinal);
        // Reads go on, except in the shard of the write that is not durable, which is one of many.
        Reply?[] reads = [.. Enumerable.Range(0, 20).Select(i => CallAlone(server, "GET", $"key:{i}"))];
        Reply?[] refused = [.. reads.Where(read => read?.Text != value)];
        Assert.InRange(refused.Length, 0, reads.Length / 2);
        Assert.All(refused, static read => Assert.StartsWith("MISCONF", read?.Text ?? "MISCONF", StringComparison.Ordinal));
    }

    /// <summary>Sends a command on a connection of its own. Null if it gets no reply, because a write that it saw has failed.</summary>
    private static Reply? CallAlone(ShellServer server, params string[] request)
    {
        using var client = new RespClient(server.Port);
        try
        {
            return client.Call(request);
        }
        catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException)
        {
            return null;
        }
    }

    [Fact]
    public void TheLogContinuesWhenItsDirectoryIsCreatedAgain()
    {
        using var server = new ShellServer("mkdir logs; exec SERVER --logfile logs/log", "--save ''",
            "--enable-debug-command yes");
        using RespClient client = server.Connect();
        string logs = Path.Combine(server.Folder, "logs");
        Directory.Delete(logs, recursive: true);
        int process = Flood(server, client);
        Assert.True(Lost(client) >= 100);
        Directory.CreateDirectory(logs);
        string log = Path.Combine(logs, "log");
        client.Expect("+OK", "DEBUG", "LOG", "it works again");
        Assert.True(SpinWait.SpinUntil(() => File.Exists(log) && File.ReadAllText(log).Contains("it works again",
            StringComparison.Ordinal), 60_000));
        Assert.Matches(@"^\d+:M [^#]* # \d+ lines of the log could not be written\.\n[^\n]*it works again\n$",
            File.ReadAllText(log));
        Assert.Equal(0, server.Stop(process));
    }

    [Fact]
    public void AToolReportsThatItsOutputCannotBeWritten()
    {
        using var tool = new ShellServer(ServerProcess.OurProgram + " --version > /dev/full");
        Assert.Equal(1, tool.WaitForExit());
        Assert.EndsWith("The output could not be written.\n", tool.Errors, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("exec SERVER > log", true)]
    [InlineData("exec SERVER --logfile log", true)]
    [InlineData("exec SERVER > /dev/full", false)]
    [InlineData("exec SERVER --log-format json > log", true)]
    public void TheLastLineOfAFatalEndIsWritten(string command, bool isLogged)
    {
        using var server = new ShellServer(command, "--save ''", "--enable-debug-command yes", "--appendonly yes",
            "--appendfsync always");
        int process;
        using (RespClient client = server.Connect())
        {
            process = ShellServer.ProcessOf(client);
            client.Expect("+OK", "SET", "k", "v");
            client.Send("DEBUG", "PANIC");
            Assert.Equal("", client.ReadToClose());
        }
        Assert.Equal(70, server.WaitForExit());
        Assert.Contains("Fatal: DEBUG PANIC was called", server.Errors, StringComparison.Ordinal);
        if (isLogged) Assert.Contains("Fatal: DEBUG PANIC was called", File.ReadAllLines(Path.Combine(server.Folder, "log"))[^1],
            StringComparison.Ordinal);
    }

    private static int Flood(ShellServer server, RespClient client)
    {
        for (int i = 0; i < 100; i++) client.Expect("+OK", "DEBUG", "LOG", "a line");
        client.Expect("+OK", "SET", "k", "v");
        using RespClient other = server.Connect();
        other.Expect("$\"v\"", "GET", "k");
        Assert.True(SpinWait.SpinUntil(() => Lost(client) >= 100, 60_000));
        return ShellServer.ProcessOf(client);
    }

    private static long Lost(RespClient client) => long.Parse(client.Figure("log_lines_lost"));
}
