using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>
/// A server whose managed heap has a hard limit, as in a small container. It refuses commands with errors or exits with a clear
/// last line, and never hangs. After a restart with more memory all acknowledged writes are there.
/// </summary>
public sealed class HeapLimitTests
{
    private const string Durable = "--appendonly yes --appendfsync always";
    private const int FatalExit = 70;

    [Theory]
    [InlineData("0x6000000", 1 << 20, 400)]
    [InlineData("0x8000000", 100_000, 3000)]
    [InlineData("0x4000000", 3000, 60_000)]
    public void LargeValuesBeyondTheLimitAreRefused(string limit, int size, int most)
    {
        using var server = new ShellServer($"export DOTNET_GCHeapHardLimit={limit}; exec SERVER > log", "--save ''", Durable,
            "--rdbcompression no");
        var acknowledged = new List<int>();
        string value = new('v', size);
        int errors = 0;
        try
        {
            using RespClient first = server.Connect();
            RespClient client = first;
            for (int i = 0; i < most && errors < 20; i++)
            {
                try
                {
                    Reply reply = client.Call("SET", $"key:{i}", value);
                    if (reply is { Type: '+', Text: "OK" }) acknowledged.Add(i);
                    else errors++;
                }
                catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException)
                {
                    // The server may have had no memory for the connection itself.
                    errors++;
                    client.Dispose();
                    client = new RespClient(server.Port);
                }
            }
            client.Dispose();
        }
        catch (System.Net.Sockets.SocketException)
        {
            // The server exited. The exit code is checked below.
        }
        Assert.True(errors > 0, "the limit was not reached");
        Assert.NotEmpty(acknowledged);
        int exit = server.StopOrKill();
        string[] log = File.ReadAllLines(Path.Combine(server.Folder, "log"));
        Assert.True(exit is 0 or FatalExit, $"exit code {exit}:\n{server.Errors}\n{string.Join('\n', log.TakeLast(20))}");
        if (exit == FatalExit) Assert.Contains(" # Fatal: ", log[^1], StringComparison.Ordinal);

        using ServerProcess again = ServerProcess.Ours(["--dir", server.Folder, .. Durable.Split(' ')]);
        using RespClient reader = again.Connect();
        foreach (int i in acknowledged) Assert.Equal(size, reader.Call("STRLEN", $"key:{i}").Integer);
    }

    /// <summary>A request with more arguments than the memory can hold closes its connection and writes few log lines.</summary>
    [Fact]
    public void ArgumentsBeyondTheLimitCloseTheConnection()
    {
        using var server = new ShellServer("export DOTNET_GCHeapHardLimit=0x8000000; exec SERVER > log", "--save ''");
        byte[] empty = System.Text.Encoding.Latin1.GetBytes(string.Concat(Enumerable.Repeat("$0\r\n\r\n", 1_000_000)));
        for (int round = 0; round < 3; round++)
        {
            using RespClient client = server.Connect();
            client.SendRaw("*2147483647\r\n");
            bool closed = false;
            for (int i = 0; i < 60 && !closed; i++)
            {
                try
                {
                    client.SendRaw(empty);
                }
                catch (System.Net.Sockets.SocketException)
                {
                    closed = true;
                }
            }
            Assert.True(closed, "60 million arguments were taken");
            using RespClient other = server.Connect();
            other.Expect("+PONG", "PING");
        }
        int exit = server.StopOrKill();
        string[] log = File.ReadAllLines(Path.Combine(server.Folder, "log"));
        Assert.True(exit == 0, $"exit code {exit}:\n{server.Errors}\n{string.Join('\n', log.TakeLast(20))}");
        Assert.InRange(log.Length, 1, 100);
    }

    [Fact]
    public void AStartWhoseDataDoNotFitNamesTheReason()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-heap-").FullName;
        using (ServerProcess ours = ServerProcess.Ours(["--dir", folder, .. Durable.Split(' ')]))
        using (RespClient client = ours.Connect())
            for (int i = 0; i < 60; i++) client.Expect("+OK", "SET", $"key:{i}", new string('v', 1 << 20));
        using (var limited = new ShellServer($"export DOTNET_GCHeapHardLimit=0x2000000; exec SERVER --dir '{folder}' > log",
            "--save ''", Durable))
        {
            int exit = limited.WaitForExit();
            string[] log = File.ReadAllLines(Path.Combine(limited.Folder, "log"));
            Assert.True(exit is 1 or FatalExit, $"exit code {exit}:\n{limited.Errors}\n{string.Join('\n', log.TakeLast(20))}");
            Assert.Contains(log, static line => line.Contains("memory", StringComparison.OrdinalIgnoreCase));
        }
        using (ServerProcess again = ServerProcess.Ours(["--dir", folder, .. Durable.Split(' ')]))
        using (RespClient client = again.Connect()) client.Expect(":60", "DBSIZE");
        Directory.Delete(folder, recursive: true);
    }
}
