using System.Globalization;
using System.IO.Compression;
using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Bundles;

/// <summary>The support bundle of a server process, by the program that asks for it.</summary>
public sealed class SupportBundleTests : IDisposable
{
    private static readonly string[] s_kernel = ["process.txt", "threads.txt"];

    private static readonly string[] s_parts =
    [
        "README.md", "versions.txt", "configuration.json", "info.txt", "history-hour.csv", "history-day.csv", "slowlog.txt", "latency.txt", "clients.txt",
        "memory.txt", "shards.json", "work.txt", "recovery.json", "log.txt", .. s_kernel,
    ];

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-bundle-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void TheBundleHasEveryPartAndNothingSecret()
    {
        string[] secrets =
        [
            "planted-password", "planted-master-auth", "planted-user-password", "planted:key", "planted-value", "planted-field",
            "planted-member", "planted-channel", "planted-client-name", "PLANTEDERROR", "planted-log-line", "planted-wrong-password",
            "planted-script-argument", "planted-library", "planted-host", "10.99.88.77", "planted-token",
        ];
        using ServerProcess server = ServerProcess.Ours(
            "--requirepass", secrets[0], "--masterauth", secrets[1], "--user", "ann", "on", ">" + secrets[2], "~*", "&*", "+@all",
            "--slowlog-log-slower-than", "0", "--latency-monitor-threshold", "1", "--appendonly", "yes", "--enable-debug-command", "yes",
            "--replica-announce-ip", secrets[15], "--cluster-announce-hostname", secrets[14],
            "--otlp-endpoint", $"http://127.0.0.1:1/v1/metrics?token={secrets[16]}");
        using RespClient client = server.Connect(), subscriber = server.Connect(), monitor = server.Connect(), stranger = server.Connect();
        foreach (RespClient each in new[] { client, subscriber, monitor }) each.Expect("+OK", "AUTH", "default", secrets[0]);
        monitor.Expect("+OK", "MONITOR");
        subscriber.Send("SUBSCRIBE", secrets[7]);
        client.Expect("+OK", "CLIENT", "SETNAME", secrets[8]);
        client.Expect("+OK", "CLIENT", "SETINFO", "LIB-NAME", secrets[13]);
        client.Expect("+OK", "SET", secrets[3], secrets[4]);
        client.Expect(":1", "HSET", "hash", secrets[5], secrets[4]);
        client.Expect(":1", "SADD", "set", secrets[6]);
        client.Call("EVAL", $"redis.log(redis.LOG_WARNING, '{secrets[10]}') return redis.error_reply('{secrets[9]} {secrets[4]}')", "1",
            secrets[3], secrets[12]);
        client.Call("DEBUG", "LOG", secrets[10]);
        client.Call("DEBUG", "SLEEP", "0.01");
        client.Call(secrets[3], secrets[4]);
        stranger.Call("AUTH", "ann", secrets[11]);

        // A killed process with the same id has left its socket.
        string stale = Path.Combine(Path.GetTempPath(), $"dotnet-diagnostic-{server.Id}-1-socket");
        File.WriteAllText(stale, "");
        Dictionary<string, byte[]> files = Ask(server, "--user", "ann", "--pass", secrets[2]);
        File.Delete(stale);
        foreach (string part in s_parts) Assert.True(files[part].Length > 0, part);
        string readme = Text(files["README.md"]);
        foreach (string part in s_parts[1..]) Assert.Contains($"| {part} | {files[part].Length} |", readme, StringComparison.Ordinal);
        if (Text(files["versions.txt"]).Contains("native executable", StringComparison.Ordinal))
            Assert.Contains("| trace.nettrace | missing: the runtime", readme, StringComparison.Ordinal);
        else
        {
            Assert.Equal("Nettrace", Text(files["trace.nettrace"][..8]));
            // The stacks of all threads, with the names of methods.
            Assert.True(Contains(files["trace.nettrace"], Encoding.Unicode.GetBytes("RedisClone.Transport.EventLoop")));
        }
        // The native stacks: each thread that waits has frames in the C library, and some in the server or its runtime.
        Assert.Matches(@"\n    libc\.so\.6\+0x[0-9a-f]+\n    \S+\+0x[0-9a-f]+\n", Text(files["threads.txt"]));
        Assert.Matches(@"\n    (RedisClone\.Server|libcoreclr\.so)\+0x[0-9a-f]+\n", Text(files["threads.txt"]));
        foreach ((string name, byte[] content) in files)
            foreach (string secret in secrets)
                foreach (Encoding encoding in new[] { Encoding.UTF8, Encoding.Unicode })
                    Assert.False(Contains(content, encoding.GetBytes(secret)), $"{name} contains {secret}");

        Assert.Contains("set <11> <13>", Text(files["slowlog.txt"]), StringComparison.Ordinal);
        Assert.Contains("\"(hidden)\"", Text(files["configuration.json"]), StringComparison.Ordinal);
        Assert.Contains("cmd=monitor", Text(files["clients.txt"]), StringComparison.Ordinal);
        Assert.Contains("Ready to accept connections", Text(files["log.txt"]), StringComparison.Ordinal);
        Assert.Contains("(hidden)", Text(files["log.txt"]), StringComparison.Ordinal);
        Assert.Contains("errorstat_(hidden)", Text(files["info.txt"]), StringComparison.Ordinal);
        Assert.Contains("redis_connected_clients", Text(files["history-hour.csv"]), StringComparison.Ordinal);
        Assert.DoesNotContain("Exception", server.Output, StringComparison.Ordinal);
    }

    [Fact]
    public void ABusyServerGivesABundle()
    {
        using ServerProcess server = ServerProcess.Ours("--busy-reply-threshold", "100");
        using RespClient busy = server.Connect(), other = server.Connect();
        busy.Send("EVAL", "while true do end", "0");
        while (!other.Call("PING").Text!.StartsWith("BUSY", StringComparison.Ordinal)) Thread.Sleep(20);
        Assert.Contains("busy: True", Text(Ask(server)["work.txt"]), StringComparison.Ordinal);
        other.Expect("+OK", "SCRIPT", "KILL");
        Assert.StartsWith("ERR", busy.Read().Text!, StringComparison.Ordinal);
    }

    [Fact]
    public void AFullServerGivesABundle()
    {
        using ServerProcess server = ServerProcess.Ours("--maxmemory", "2mb");
        using RespClient client = server.Connect();
        string value = new('x', 100_000);
        int count = 0;
        while (client.Call("SET", $"key:{count++}", value).Text == "OK") Assert.True(count < 1000);
        Assert.Contains("maxmemory", Text(Ask(server)["info.txt"]), StringComparison.Ordinal);
    }

    [Fact]
    public void ALoadingServerGivesABundle()
    {
        string data = Path.Combine(_folder, "data");
        Directory.CreateDirectory(data);
        using (ServerProcess server = ServerProcess.Ours("--dir", data))
        {
            using RespClient client = server.Connect();
            for (int i = 0; i < 1000; i++) client.Expect("+OK", "SET", $"key:{i}", "x");
            client.Expect("+OK", "SAVE");
        }
        using ServerProcess loading = ServerProcess.OursStarting("--dir", data, "--key-load-delay", "30000");
        while (!loading.Output.Contains("Server initialized", StringComparison.Ordinal)) Thread.Sleep(20);
        Dictionary<string, byte[]> files = Ask(loading);
        Assert.Contains("It loads its data.", Text(files["README.md"]), StringComparison.Ordinal);
        Assert.Matches(@"load: \d+ of \d+ bytes", Text(files["work.txt"]));
    }

    [Fact]
    public void AProcessThatIsNotAskedGivesWhatTheKernelKnows()
    {
        using ServerProcess server = ServerProcess.Ours("--requirepass", "planted-password");
        string file = Path.Combine(_folder, "bundle.zip");
        (int exitCode, string output) = ServerProcess.RunOurs("support-bundle", "--pid", $"{server.Id}", file);
        Assert.True(exitCode == 0, output);
        Dictionary<string, byte[]> files = Read(file);
        foreach (string part in s_kernel) Assert.True(files[part].Length > 0, part);
        Assert.Contains("thread ", Text(files["threads.txt"]), StringComparison.Ordinal);
        foreach (byte[] content in files.Values)
            foreach (Encoding encoding in new[] { Encoding.UTF8, Encoding.Unicode })
                Assert.False(Contains(content, encoding.GetBytes("planted-password")));
    }

    [Theory]
    [InlineData("--pass", "wrong", "WRONGPASS")]
    [InlineData("--user", "", "NOAUTH")]
    [InlineData("--nothing", "", "no option")]
    [InlineData("--pid", "2147483647", "not running")]
    public void ARefusalIsExplained(string option, string value, string reason)
    {
        using ServerProcess server = ServerProcess.Ours("--requirepass", "right");
        string file = Path.Combine(_folder, "bundle.zip");
        (int exitCode, string output) = ServerProcess.RunOurs("support-bundle", "--port", $"{server.Port}", option, value, file);
        Assert.Equal(1, exitCode);
        Assert.Contains(reason, output, StringComparison.Ordinal);
        Assert.False(File.Exists(file));
    }

    private Dictionary<string, byte[]> Ask(ServerProcess server, params string[] options)
    {
        string file = Path.Combine(_folder, "bundle.zip");
        string port = server.Port.ToString(CultureInfo.InvariantCulture);
        (int exitCode, string output) = ServerProcess.RunOurs(["support-bundle", "--port", port, .. options, file]);
        Assert.True(exitCode == 0, output);
        if (!OperatingSystem.IsWindows()) Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file));
        return Read(file);
    }

    private static Dictionary<string, byte[]> Read(string file)
    {
        using ZipArchive zip = ZipFile.OpenRead(file);
        return zip.Entries.ToDictionary(static entry => entry.FullName, static entry =>
        {
            using Stream content = entry.Open();
            using var copy = new MemoryStream();
            content.CopyTo(copy);
            return copy.ToArray();
        });
    }

    private static string Text(byte[] content) => Encoding.UTF8.GetString(content);

    private static bool Contains(byte[] content, byte[] part) => content.AsSpan().IndexOf(part) >= 0;
}
