using System.Net;
using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>
/// A server that cannot start prints the reason in the words of Redis, prints nothing else, and exits with status 1.
/// </summary>
public sealed class StartErrorTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-start-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData("eventloop", "port", "tcp", "127.0.0.1")]
    [InlineData("sockets", "port", "tcp", "*")]
    [InlineData("eventloop", "metrics-port", "metrics", "127.0.0.1")]
    public void APortInUseIsNamed(string transport, string parameter, string kind, string bind)
    {
        using var other = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        other.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        other.Listen();
        int port = ((IPEndPoint)other.LocalEndPoint!).Port;
        AssertRefused(["--transport", transport, "--port", "0", "--" + parameter, $"{port}", "--bind", bind],
            $"Warning: Could not create server TCP listening socket {bind}:{port}: bind: Address already in use",
            $"Failed listening on port {port} ({kind}), aborting.");
    }

    [Fact]
    public void AnUnknownAddressIsNamed() =>
        AssertRefused(["--port", "7", "--bind", "192.0.2.1"],
            "Warning: Could not create server TCP listening socket 192.0.2.1:7: bind: Cannot assign requested address",
            "Failed listening on port 7 (tcp), aborting.");

    [Theory]
    [InlineData("eventloop")]
    [InlineData("sockets")]
    public void AUnixSocketThatCannotBeCreatedIsNamed(string transport)
    {
        string file = Path.Combine(_folder, "file");
        File.WriteAllText(file, "not a socket");
        AssertRefused(["--transport", transport, "--port", "0", "--unixsocket", file], "Failed opening Unix socket: bind: Address already in use");
        Assert.Equal("not a socket", File.ReadAllText(file));
        AssertRefused(["--transport", transport, "--port", "0", "--unixsocket", Path.Combine(_folder, "no/such/socket")],
            "Failed opening Unix socket: bind: No such file or directory");
    }

    [Fact]
    public void AUnixSocketOfAKilledServerIsReplaced()
    {
        string path = Path.Combine(_folder, "socket");
        for (int i = 0; i < 2; i++)
        {
            using ServerProcess server = ServerProcess.Ours("--unixsocket", path);
            server.Kill();
            Assert.True(File.Exists(path));
        }
    }

    [Fact]
    public void AUnixSocketPathThatIsTooLongIsNamed()
    {
        string path = Path.Combine(_folder, new string('s', 108));
        (int code, string output) = ServerProcess.RunOurs("--port", "0", "--unixsocket", path);
        Assert.Equal(1, code);
        Assert.EndsWith($"\nFailed opening Unix socket: unix socket path too long ({path.Length}), must be under 108\n", output, StringComparison.Ordinal);
    }

    [Fact]
    public void AFailedStartDoesNotReplaceThePidFileOfTheRunningServer()
    {
        string file = Path.Combine(_folder, "pid");
        string[] arguments = ["--bind", "127.0.0.1", "--dir", _folder, "--appendonly", "yes", "--pidfile", file];
        using ServerProcess server = ServerProcess.Ours(arguments);
        bool IsItsOwn() => File.Exists(file) && File.ReadAllText(file) == $"{server.Id}\n";
        Assert.True(SpinWait.SpinUntil(IsItsOwn, TimeSpan.FromMinutes(5)), server.Output);
        foreach (int port in new[] { server.Port, 0 })
        {
            (int code, string output) = ServerProcess.RunOurs([.. arguments, "--port", $"{port}"]);
            Assert.True(code == 1, output);
            Assert.True(IsItsOwn(), output);
        }
    }

    [Fact]
    public void AnUnreadableCertificateIsNamed()
    {
        AssertRefused(["--port", "0", "--tls-port", "7", "--tls-cert-file", "none.pem", "--tls-key-file", "none.pem"],
            $"Failed to load certificate: {Path.Combine(_folder, "none.pem")}: No such file or directory",
            "Failed to configure TLS. Check logs for more info.");
    }

    /// <summary>A FIFO would never end, and a device would fill the memory.</summary>
    [Theory]
    [InlineData("directory", "is a directory")]
    [InlineData("fifo", "is not a regular file")]
    [InlineData("device", "is not a regular file")]
    public void AFileThatIsNotRegularIsRefused(string kind, string problem)
    {
        string path = Path.Combine(_folder, "nodes.conf");
        if (kind == "directory") Directory.CreateDirectory(path);
        else if (kind == "fifo") SpecialFile.MakeFifo(path);
        else File.CreateSymbolicLink(path, "/dev/zero");
        AssertRefused(["--port", "7", "--cluster-enabled", "yes"], $"The cluster configuration file {path} cannot be used: {path} {problem}");
        AssertRefused(["--port", "0", "--aclfile", path],
            $"Aborting Redis startup because of ACL errors: Error loading ACLs, opening file '{path}': {path} {problem}");
        AssertRefused(["--port", "0", "--tls-port", "7", "--tls-cert-file", path, "--tls-key-file", path],
            $"Failed to load certificate: {path}: {path} {problem}", "Failed to configure TLS. Check logs for more info.");
    }

    [Fact]
    public void ADirectoryIsNoConfigFile()
    {
        (int code, string output) = ServerProcess.RunOurs(_folder);
        Assert.Equal((1, $"Fatal error, can't open config file '{_folder}': Is a directory"), (code, output.Trim()));
    }

    [Fact]
    public void ADirectoryWhereTheJournalCannotBeCreatedIsNamed()
    {
        string[] lines = Refusal("--port", "0", "--dir", "/proc", "--appendonly", "yes");
        Assert.StartsWith("Can't open or create append-only dir appendonlydir: ", lines[1], StringComparison.Ordinal);
        Assert.Equal(
            [
                "Server initialized", lines[1], "Fatal error loading the DB, check server logs. Exiting.",
                "Redis is now ready to exit, bye bye...",
            ],
            lines);
    }

    private void AssertRefused(string[] arguments, params string[] expected) => Assert.Equal(expected, Refusal(["--dir", _folder, .. arguments]));

    /// <summary>Returns the log after its first line, without process and time.</summary>
    private static string[] Refusal(params string[] arguments)
    {
        (int code, string output) = ServerProcess.RunOurs([.. arguments, "--save", ""]);
        Assert.True(code == 1, output);
        string[] lines = output.TrimEnd('\n').Split('\n');
        Assert.All(lines, line => Assert.Matches(@"^\d+:M \d\d \w{3} \d{4} [\d:.]{12} [*#] ", line));
        return [.. lines.Skip(1).Select(line => line.Split(' ', 7)[6])];
    }
}
