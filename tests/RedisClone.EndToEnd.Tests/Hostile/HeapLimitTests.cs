using System.Security.Cryptography;
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

    /// <summary>A replay frees the values that commands replace, as the server does: together they are twice as large as the heap.</summary>
    [Fact]
    public void ReplacedValuesAreFreedDuringAReplay()
    {
        const string limit = "export DOTNET_GCHeapHardLimit=0x6000000; exec SERVER";
        const string keep = Durable + " --save '' --auto-aof-rewrite-percentage 0";
        using var server = new ShellServer($"{limit} > log", keep);
        using (RespClient client = server.Connect())
        {
            for (int i = 0; i < 20; i++) client.Call(["RPUSH", "list", .. Enumerable.Repeat(new string('v', 20_000), 10)]);
            for (int i = 0; i < 50; i++) client.Expect(":1", "COPY", "list", "copy", "REPLACE");
        }
        Assert.Equal(0, server.StopOrKill());
        using var again = new ShellServer($"{limit} --dir {server.Folder} > log", keep);
        using RespClient reader = again.Connect();
        reader.Expect(":200", "LLEN", "copy");
    }

    /// <summary>A heap that is full of long elements of all kinds is saved and loaded, although there is room for copies of few of them.</summary>
    [Fact]
    public void AHeapFullOfLongElementsIsSavedAndLoaded()
    {
        const string limit = "export DOTNET_GCHeapHardLimit=0x6000000; exec SERVER";
        using var server = new ShellServer($"{limit} > log", "--save ''");
        Fill(server);
        using RespClient saving = server.Connect();
        saving.Expect("+OK", "SAVE");
        long keys = saving.Call("DBSIZE").Integer;
        Assert.Equal(0, server.StopOrKill());
        using var again = new ShellServer($"{limit} --dir {server.Folder} > log", "--save ''");
        using RespClient reader = again.Connect();
        reader.Expect($":{keys}", "DBSIZE");
        reader.Expect("+OK", "SAVE");
    }

    /// <summary>The data of a full heap are dropped and loaded again. Until they are freed, they leave no room for themselves.</summary>
    [Theory]
    [InlineData("RELOAD", false)]
    [InlineData("LOADAOF", false)]
    [InlineData("LOADAOF", true)]
    public void AFullHeapIsLoadedAgain(string what, bool isSaving)
    {
        using var server = new ShellServer(
            "export DOTNET_GCHeapHardLimit=0x6000000; exec SERVER > log", "--save ''", Durable, "--enable-debug-command yes");
        Fill(server);
        using RespClient client = server.Connect();
        long keys = client.Call("DBSIZE").Integer;
        string digest = client.Call("DEBUG", "DIGEST").Text!;
        if (isSaving) client.Expect("+OK", "CONFIG", "SET", "rdb-key-save-delay", "1000000");
        for (int i = 0; i < 3; i++)
        {
            // A snapshot in progress has keys to save, and keeps them.
            if (isSaving) client.Expect("+Background saving started", "BGSAVE");
            client.Expect("+OK", "DEBUG", what);
            client.Expect($":{keys}", "DBSIZE");
        }
        Assert.Equal(digest, client.Call("DEBUG", "DIGEST").Text);
    }

    /// <summary>Adds elements of all lengths until many are refused.</summary>
    private static void Fill(ShellServer server)
    {
        var random = new Random(1);
        RespClient client = server.Connect();
        for (int refused = 0, i = 0; refused < 200; i++)
        {
            Assert.True(i < 5000, "the limit was not reached");
            string value = new('v', random.Next(1, random.Next(4) == 0 ? 6 << 20 : 50_000)), key = $"{random.Next(40)}";
            string[] command = random.Next(4) switch
            {
                0 => ["XADD", "stream:" + key, "*", "field", value],
                1 => ["RPUSH", "list:" + key, value],
                2 => ["HSET", "hash:" + key, $"{i}", value],
                _ => ["SET", "string:" + key, value],
            };
            try
            {
                if (client.Call(command).Type == '-') refused++;
            }
            catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException)
            {
                // A client that holds more than its part of the heap is disconnected.
                client.Dispose();
                client = server.Connect();
            }
        }
        client.Dispose();
    }

    /// <summary>
    /// One client sets large values, of which the heap has room for a few. A value is held several times while its effect is
    /// written. The server refuses the command or executes it, and never ends.
    /// </summary>
    [Theory]
    [InlineData("0x10000000", 50_000_000)]
    [InlineData("0x10000000", 40_000_000)]
    [InlineData("0x8000000", 24_000_000)]
    public void Few_values_as_large_as_the_limit_allows(string limit, int size)
    {
        using var server = new ShellServer($"export DOTNET_GCHeapHardLimit={limit}; exec SERVER > log", "--save ''", Durable);
        string value = new('v', size);
        int stored = 0;
        RespClient client = server.Connect();
        for (int i = 0; i < 12; i++)
        {
            try
            {
                Reply reply = client.Call("SET", $"key:{i % 3}", value);
                if (reply.Type == '+') stored++;
                else Assert.StartsWith("OOM", reply.Text, StringComparison.Ordinal);
            }
            catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException)
            {
                // A client that holds more than its part of the heap is disconnected.
                client.Dispose();
                client = server.Connect();
            }
        }
        client.Dispose();
        Assert.True(stored > 0, "no value was stored");
        int exit = server.StopOrKill();
        Assert.True(exit == 0, $"exit code {exit}:\n{File.ReadAllText(Path.Combine(server.Folder, "log"))}");
    }

    /// <summary>
    /// Clients fill a small heap with requests that they do not complete and with values of all sizes, and leave it full of holes.
    /// When they have gone, connections and writes are served again.
    /// </summary>
    [Fact]
    public void A_full_heap_serves_again_after_the_load()
    {
        using var server = new ShellServer("export DOTNET_GCHeapHardLimit=0x4000000; exec SERVER > log", "--save ''", Durable);
        server.Connect().Dispose();
        for (int round = 0; round < 10; round++) Load(server.Port, new Random(round));
        using RespClient client = server.Connect();
        for (string reply = ""; reply != "+OK"; Thread.Sleep(50)) reply = client.Call("SET", "key", "value").ToString();
        int exit = server.StopOrKill();
        Assert.True(exit == 0, $"exit code {exit}:\n{File.ReadAllText(Path.Combine(server.Folder, "log"))}");
    }

    private static void Load(int port, Random random)
    {
        string text = new('z', 10 << 20);
        var clients = new List<RespClient>();
        for (int i = 0; i < 40; i++)
        {
            try
            {
                var client = new RespClient(port);
                clients.Add(client);
                for (int n = 0; n < 30; n++) client.Call("SET", $"key:{random.Next(2000)}", text[..random.Next(1 << random.Next(6, 18))]);
                client.Call("SET", $"large:{random.Next(6)}", text[..random.Next(text.Length)]);
                for (int n = 0; n < 30; n++) client.Call("DEL", $"key:{random.Next(2000)}", $"large:{random.Next(30)}");
                // The request is not complete.
                client.SendRaw($"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$500000000\r\n{text.AsSpan(0, random.Next(64 << 10, 4 << 20))}");
            }
            catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException)
            {
                // The server refuses or disconnects the client for lack of memory.
            }
        }
        foreach (RespClient client in clients) client.Dispose();
    }

    /// <summary>A start finds room for the large values that the heap had, again and again.</summary>
    [Theory]
    [InlineData("--appendonly yes")]
    [InlineData("--appendonly no")]
    public void LargeValuesThatFittedAreLoaded(string journal)
    {
        const string limited = "export DOTNET_GCHeapHardLimit=0x6000000; exec SERVER";
        var random = new Random(2);
        string blob = Convert.ToBase64String(RandomNumberGenerator.GetBytes(7 << 20));
        var lengths = new Dictionary<string, long>();
        using var server = new ShellServer($"{limited} > log", "--save ''", journal);
        for (int i = 0, refused = 0; i < 200 && refused < 4; i++)
        {
            try
            {
                using RespClient client = server.Connect();
                string key = $"key:{random.Next(30)}";
                Reply reply = random.Next(2) == 0
                    ? client.Call("SET", key, blob[..random.Next(1 << 20, 9 << 20)])
                    : client.Call("APPEND", key, blob[..random.Next(1 << 10, 2 << 20)]);
                if (reply.Type == '-') refused++;
            }
            catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException)
            {
                refused++;
            }
        }
        using (RespClient client = server.Connect())
        {
            foreach (Reply key in client.Call("KEYS", "*").Items!) lengths[key.Text!] = client.Call("STRLEN", key.Text!).Integer;
            if (journal.EndsWith("no", StringComparison.Ordinal)) client.Expect("+OK", "SAVE");
        }
        Assert.Equal(0, server.StopOrKill());
        for (int start = 0; start < 3; start++)
        {
            using var again = new ShellServer($"{limited} --dir {server.Folder} > log", "--save ''", journal);
            using (RespClient reader = again.Connect())
                foreach ((string key, long length) in lengths) Assert.Equal(length, reader.Call("STRLEN", key).Integer);
            Assert.Equal(0, again.StopOrKill());
        }
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
            // Nothing is damaged, so nothing is to be repaired.
            Assert.DoesNotContain(log, static line => line.Contains("repair", StringComparison.OrdinalIgnoreCase));
        }
        using (ServerProcess again = ServerProcess.Ours(["--dir", folder, .. Durable.Split(' ')]))
        using (RespClient client = again.Connect()) client.Expect(":60", "DBSIZE");
        Directory.Delete(folder, recursive: true);
    }
}
