using System.Net.Sockets;
using System.Text;
using Microsoft.Extensions.DependencyInjection;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Journal;
using RedisClone.Server.Tests.Clients;
using RedisClone.Server.Tests.Embedding;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// A full or broken disk while the server runs. Writers get errors, durable data can be read, and no acknowledged write is lost.
/// After the disk is repaired, the server accepts writes again.
/// </summary>
public sealed class FailingDiskTests : IDisposable
{
    private const int MostTries = 6000;

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-failing-").FullName;
    private readonly WatchedDisk _disk = new();
    private readonly Dictionary<string, string> _acknowledged = [];
    private int _number;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData(Faults.Write, TransportKind.Auto)]
    [InlineData(Faults.Flush, TransportKind.Auto)]
    [InlineData(Faults.Open, TransportKind.Auto)]
    [InlineData(Faults.Rename, TransportKind.Auto)]
    [InlineData(Faults.All, TransportKind.Auto)]
    [InlineData(Faults.Write, TransportKind.Sockets)]
    [InlineData(Faults.Flush, TransportKind.Sockets)]
    public async Task AcknowledgedWritesSurviveAFailingDisk(Faults faults, TransportKind transport)
    {
        await using (RunningServer server = await StartAsync(_folder, transport, _disk))
        {
            using TestClient client = server.Connect();
            for (int i = 0; i < 50; i++) Set(client);

            _disk.Faults = faults;
            if ((faults & (Faults.Write | Faults.Flush)) == 0) client.Run("BGREWRITEAOF");
            TryToSet(server);
            using TestClient other = server.Connect();
            if ((faults & (Faults.Write | Faults.Flush)) != 0)
            {
                Assert.StartsWith("MISCONF Errors writing to the AOF file: ", Ask(server, "SET x y"), StringComparison.Ordinal);
                await other.UntilAsync("INFO persistence", info => info.Contains("aof_last_write_status:err", StringComparison.Ordinal));
            }
            else
            {
                await other.UntilAsync("INFO persistence", info => info.Contains("aof_last_bgrewrite_status:err", StringComparison.Ordinal));
            }
            AssertReads(server);
            Assert.StartsWith("ERR", other.Run("SAVE"), StringComparison.Ordinal);
            Assert.Contains("rdb_last_bgsave_status:ok", other.Run("INFO persistence"), StringComparison.Ordinal);
            await AssertComesBackAsync(transport);

            _disk.Faults = Faults.None;
            await UntilWrittenAsync(server, "SET well again", () => Ask(server, "BGREWRITEAOF"));
            _acknowledged["well"] = "again";
            // A second rewrite may have begun. The files are copied only while no rewrite changes them.
            await other.UntilAsync("INFO persistence", info => info.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal)
                && info.Contains("aof_rewrite_scheduled:0", StringComparison.Ordinal));
            for (int i = 0; i < 20; i++) Set(other);
            await AssertComesBackAsync(transport);
        }
    }

    /// <summary>
    /// The reply to a command whose effects could not be written does not leave, under a policy that does not wait for the disk either. The
    /// long command runs on a worker, which has tried the write before the connection sends. Reads of what is only in memory go on.
    /// </summary>
    [Theory]
    [InlineData(TransportKind.Auto, "SET d x")]
    [InlineData(TransportKind.Auto, "SUNIONSTORE d s")]
    [InlineData(TransportKind.Sockets, "SET d x")]
    [InlineData(TransportKind.Sockets, "SUNIONSTORE d s")]
    public async Task AWriteThatFailedIsNotAcknowledged(TransportKind transport, string command)
    {
        await using RunningServer server = await StartAsync(_folder, transport, _disk, AppendFsync.No);
        using TestClient client = server.Connect();
        Assert.Equal("30000", client.Call(["SADD", "s", .. Enumerable.Range(0, 30_000).Select(i => $"{i}")]));
        _disk.Faults = Faults.All;
        Assert.ThrowsAny<Exception>(() => client.Run(command));
        using TestClient other = server.Connect();
        Assert.Equal("1", other.Run("EXISTS d"));
        Assert.Equal("30000", other.Run("SCARD s"));
        Assert.StartsWith("MISCONF Errors writing to the AOF file: ", other.Run(command), StringComparison.Ordinal);
        _disk.Faults = Faults.None;
        await UntilWrittenAsync(server, "SET d y", static () => { });
        Assert.Equal("y", other.Run("GET d"));
    }

    /// <summary>
    /// The journal goes on as soon as there is space for what it could not write. There is none for a base, which a rebuild would need, and no
    /// client asks for one. Under every policy, what is in memory only is written then.
    /// </summary>
    [Theory]
    [InlineData("always")]
    [InlineData("everysec")]
    [InlineData("no")]
    public async Task AJournalGoesOnWhenThereIsSpaceAgain(string policy)
    {
        await using RunningServer server = await StartAsync(_folder, TransportKind.Auto, _disk, Enum.Parse<AppendFsync>(policy, ignoreCase: true));
        using TestClient client = server.Connect();
        for (int i = 0; i < 50; i++) Set(client);
        _disk.Faults = Faults.Write | Faults.Open;
        TryToSet(server);
        Assert.StartsWith("MISCONF Errors writing to the AOF file: ", Ask(server, "SET x y"), StringComparison.Ordinal);
        JournalEngine journal = server.Core.Journal!.Engine;
        Assert.True(journal.AwaitsSpace);
        _disk.Faults = Faults.Open;
        await UntilWrittenAsync(server, "SET space again", static () => { });
        _acknowledged["space"] = "again";
        Assert.Equal(JournalState.Running, journal.State);
        string info = Ask(server, "INFO persistence");
        Assert.Contains("aof_rewrites:0", info, StringComparison.Ordinal);
        Assert.Contains("aof_last_write_status:ok", info, StringComparison.Ordinal);
        using TestClient other = server.Connect();
        for (int i = 0; i < 20; i++) Set(other);
        Assert.Equal("[1 0]", other.Run("WAITAOF 1 0 0"));
        await AssertComesBackAsync(TransportKind.Auto);
    }

    /// <summary>
    /// A server that becomes a primary while its role cannot be written takes no write until the role is kept: after a restart it would be a
    /// replica again, and would drop what it has acknowledged.
    /// </summary>
    [Fact]
    public async Task APrimaryTakesNoWriteBeforeItsRoleIsKept()
    {
        await using RunningServer server = await StartAsync(_folder, TransportKind.Auto, _disk);
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run("REPLICAOF 127.0.0.1 1"));
        _disk.Faults = Faults.Open;
        Assert.Equal("OK", client.Run("REPLICAOF NO ONE"));
        Assert.StartsWith("MISCONF The role of this server cannot be kept", Ask(server, "SET x y"), StringComparison.Ordinal);
        string script = client.Call("EVAL", "#!lua\nreturn redis.call('set', 'x', 'y')", "0");
        Assert.StartsWith("MISCONF The role of this server cannot be kept", script, StringComparison.Ordinal);
        _disk.Faults = Faults.None;
        await UntilWrittenAsync(server, "SET role kept", static () => { });
        _acknowledged["role"] = "kept";
        await AssertComesBackAsync(TransportKind.Auto);
    }

    /// <summary>
    /// The server was killed and starts again while there is no space. It serves the loaded data, refuses writes, and recovers
    /// without a request when there is space.
    /// </summary>
    [Theory]
    [InlineData(Faults.Write)]
    [InlineData(Faults.Open)]
    public async Task AStartOnAFullDiskServesReads(Faults faults)
    {
        string copy = await CopyOfARunningServerAsync();
        try
        {
            var disk = new WatchedDisk { Faults = faults };
            await using (RunningServer server = await StartAsync(copy, TransportKind.Auto, disk))
            {
                using TestClient client = server.Connect();
                foreach ((string key, string value) in _acknowledged) Assert.Equal(value, client.Run($"GET {key}"));
                Assert.StartsWith("MISCONF Errors writing to the AOF file: ", Ask(server, "SET x y"), StringComparison.Ordinal);
                Assert.Contains("aof_last_write_status:err", client.Run("INFO persistence"), StringComparison.Ordinal);
                await AssertComesBackAsync(TransportKind.Auto, copy);
                disk.Faults = Faults.None;
                await UntilWrittenAsync(server, "SET space again", static () => { });
                _acknowledged["space"] = "again";
                await client.UntilAsync("INFO persistence", static info =>
                    info.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal)
                    && info.Contains("aof_rewrite_scheduled:0", StringComparison.Ordinal));
                Set(client);
                await AssertComesBackAsync(TransportKind.Auto, copy);
            }
            await AssertComesBackAsync(TransportKind.Auto, copy);
        }
        finally
        {
            Directory.Delete(copy, recursive: true);
        }
    }

    /// <summary>
    /// Other failures than a lack of space need an operator. The server refuses to start after them, as Redis does.
    /// </summary>
    [Theory]
    [InlineData(Faults.Flush)]
    [InlineData(Faults.Rename)]
    public async Task AStartOnABrokenDiskIsRefused(Faults faults)
    {
        string copy = await CopyOfARunningServerAsync();
        try
        {
            var config = new ServerConfig { Dir = copy, AppendOnly = true, Port = 0, LogLevel = ServerLogLevel.Nothing };
            var host = Hosting.Build(config, new WatchedDisk { Faults = faults });
            var core = host.Services.GetRequiredService<ServerCore>();
            Assert.StartsWith(
                "The journal cannot be started: Input/output error", core.Prepare() ?? core.LoadData(), StringComparison.Ordinal);
            core.Journal?.Dispose();
            await host.DisposeAsync();
            await AssertComesBackAsync(TransportKind.Auto, copy);
        }
        finally
        {
            Directory.Delete(copy, recursive: true);
        }
    }

    /// <summary>
    /// A transaction with a write is refused as a whole, whether its commands were queued before or after the failure of the
    /// journal. A transaction of reads runs. The replies are those of redis-server 7.4.1.
    /// </summary>
    [Theory]
    [InlineData(TransportKind.Auto)]
    [InlineData(TransportKind.Sockets)]
    public async Task TransactionsWithWritesAreRefusedAfterAFailedWrite(TransportKind transport)
    {
        await using RunningServer server = await StartAsync(_folder, transport, _disk);
        using TestClient writer = server.Connect(), reader = server.Connect(), other = server.Connect();
        Assert.Equal("OK", writer.Run("SET key 1"));
        foreach (TestClient client in new[] { writer, reader }) Assert.Equal("OK", client.Run("MULTI"));
        Assert.Equal("QUEUED", writer.Run("SET key 2"));
        Assert.Equal("QUEUED", writer.Run("GET key"));
        Assert.Equal("QUEUED", reader.Run("GET key"));
        _disk.Faults = Faults.Write;
        // A read is refused if a change of its shard never became durable, so the failing writes concern another shard.
        string lost = Enumerable.Range(0, 100).Select(n => $"lost:{n}").First(name => ShardOf(server, name) != ShardOf(server, "key"));
        for (int i = 0; i < 5; i++) Ask(server, $"SET {lost} {i}");
        await other.UntilAsync("INFO persistence", info => info.Contains("aof_last_write_status:err", StringComparison.Ordinal));

        string misconf = other.Run("SET key 3");
        Assert.StartsWith("MISCONF Errors writing to the AOF file: ", misconf, StringComparison.Ordinal);
        Assert.Equal($"EXECABORT Transaction discarded because of: {misconf}", writer.Run("EXEC"));
        Assert.Equal("ERR EXEC without MULTI", writer.Run("EXEC"));
        Assert.Equal("[1]", reader.Run("EXEC"));
        // A transaction and a script that read what never became durable are refused. The transaction ends.
        Assert.Equal("OK", other.Run($"WATCH {lost}"));
        Assert.Equal("OK", other.Run("MULTI"));
        Assert.Equal("QUEUED", other.Run($"GET {lost}"));
        Assert.StartsWith("MISCONF", other.Run("EXEC"), StringComparison.Ordinal);
        Assert.Equal("text", other.Run("ECHO text"));
        Assert.StartsWith("MISCONF", other.Call("EVAL", "return redis.call('get', KEYS[1])", "1", lost), StringComparison.Ordinal);
        Assert.Equal("OK", other.Run("MULTI"));
        Assert.Equal(misconf, other.Run("SET key 4"));
        Assert.Equal("QUEUED", other.Run("GET key"));
        Assert.Equal("EXECABORT Transaction discarded because of previous errors.", other.Run("EXEC"));
        Assert.Equal("1", other.Run("GET key"));
        Assert.Equal("OK", other.Run("MULTI"));
        Assert.Equal(misconf, other.Run("PING"));
        Assert.Equal("EXECABORT Transaction discarded because of previous errors.", other.Run("EXEC"));
    }

    /// <summary>
    /// While a failed journal is rebuilt, a killed process would lose new writes. Under everysec, a write is refused until the
    /// rebuild is installed.
    /// </summary>
    [Fact]
    public async Task WritesAreRefusedUntilARebuildIsInstalled()
    {
        await using RunningServer server = await StartAsync(_folder, TransportKind.Auto, _disk);
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run("CONFIG SET appendfsync everysec"));
        _disk.Faults = Faults.Flush;
        JournalEngine journal = server.Core.Journal!.Engine;
        for (int i = 0; journal.State != JournalState.Failed; i++)
        {
            Assert.True(i < MostTries);
            Ask(server, $"SET key {i}");
            await Task.Delay(10);
        }
        _disk.FlushTime = TimeSpan.FromMilliseconds(300);
        _disk.Faults = Faults.None;
        bool rebuilt = false;
        for (int i = 0; ; i++)
        {
            Assert.True(i < MostTries);
            rebuilt |= journal.State == JournalState.Rebuilding;
            if (Ask(server, "SET key final") == "OK") break;
            if (!rebuilt) Ask(server, "BGREWRITEAOF");
            await Task.Delay(5);
        }
        Assert.True(rebuilt);
        Assert.Equal(JournalState.Running, journal.State);
        Assert.Contains("aof_last_write_status:ok", Ask(server, "INFO persistence"), StringComparison.Ordinal);
    }

    /// <summary>A policy that is set while the journal is off is in force when it is turned on again.</summary>
    [Fact]
    public async Task ThePolicyMayChangeWhileTheJournalIsOff()
    {
        await using RunningServer server = await StartAsync(_folder, TransportKind.Auto, _disk, AppendFsync.Everysec);
        using TestClient client = server.Connect();
        Set(client);
        foreach (string change in (string[])["appendonly no", "appendfsync always", "appendonly yes"])
            Assert.Equal("OK", client.Run($"CONFIG SET {change}"));
        Assert.Equal(FlushPolicy.Always, server.Core.Journal!.Engine.Policy);
    }

    /// <summary>
    /// A journal that is turned on while the server runs keeps nothing before its first base is complete. If the base cannot be written,
    /// writes are refused until it can.
    /// </summary>
    [Theory]
    [InlineData("always")]
    [InlineData("everysec")]
    public async Task WritesAreRefusedIfAJournalCannotBegin(string policy)
    {
        await using RunningServer server = await StartAsync(_folder, TransportKind.Auto, _disk, Enum.Parse<AppendFsync>(policy, ignoreCase: true));
        using TestClient client = server.Connect();
        Set(client);
        Assert.Equal("OK", client.Run("CONFIG SET appendonly no"));
        _disk.Faults = Faults.Open;
        Assert.Equal("OK", client.Run("CONFIG SET appendonly yes"));
        await client.UntilAsync("INFO persistence", info => info.Contains("aof_last_bgrewrite_status:err", StringComparison.Ordinal));
        using TestClient other = server.Connect();
        Assert.StartsWith("MISCONF Errors writing to the AOF file: ", other.Run("SET x y"), StringComparison.Ordinal);
        Assert.Contains("aof_last_write_status:err", other.Run("INFO persistence"), StringComparison.Ordinal);
        Assert.Equal("OK", other.Run("CONFIG SET appendonly no"));
        Assert.Equal("OK", other.Run("SET x y"));
        Assert.Equal("OK", other.Run("CONFIG SET appendonly yes"));
        _disk.Faults = Faults.None;
        await UntilWrittenAsync(server, "SET begun yes", () => Ask(server, "BGREWRITEAOF"));
        _acknowledged["begun"] = "yes";
        await other.UntilAsync("WAITAOF 1 0 10", static reply => reply == "[1 0]");
        for (int i = 0; i < 20; i++) Set(other);
        await AssertComesBackAsync(TransportKind.Auto);
    }

    private static int ShardOf(RunningServer server, string key) => server.Core.Shards.Of(KeyHash.Of(Encoding.UTF8.GetBytes(key))).Index;

    private static Task<RunningServer> StartAsync(
        string folder, TransportKind transport, WatchedDisk disk, AppendFsync policy = AppendFsync.Always) =>
        RunningServer.StartAsync(new ServerConfig(), transport, config =>
        {
            config.Dir = folder;
            config.AppendOnly = true;
            config.AppendFsync = policy;
        }, disk);

    private void Set(TestClient client)
    {
        (string key, string value) = ($"key:{_number % 30}", $"value:{_number++}");
        Assert.Equal("OK", client.Run($"SET {key} {value}"));
        _acknowledged[key] = value;
    }

    /// <summary>
    /// Sends writes. The first write may meet the failing disk: the server closes its connection or refuses it.
    /// </summary>
    private void TryToSet(RunningServer server)
    {
        for (int i = 0; i < 5; i++)
        {
            try
            {
                using TestClient client = server.Connect();
                if (client.Run($"SET tried:{i} {i}") == "OK") _acknowledged[$"tried:{i}"] = $"{i}";
            }
            catch (Exception e) when (e is EndOfStreamException or SocketException)
            {
                // The write is not acknowledged.
            }
        }
    }

    /// <summary>
    /// Returns the reply to a command on a new connection. The server may close a connection while it tries to reopen the
    /// journal, so the command is then sent again.
    /// </summary>
    private static string Ask(RunningServer server, string line)
    {
        while (true)
        {
            try
            {
                using TestClient client = server.Connect();
                return client.Run(line);
            }
            catch (Exception e) when (e is EndOfStreamException or SocketException { SocketErrorCode: SocketError.ConnectionReset or SocketError.Shutdown })
            {
                Thread.Sleep(5);
            }
        }
    }

    /// <summary>Repeats a write until it succeeds. A rebuild that began on the failing disk may close the connection.</summary>
    private static async Task UntilWrittenAsync(RunningServer server, string line, Action refused)
    {
        for (int i = 0; Ask(server, line) is var answer && answer != "OK"; i++)
        {
            Assert.True(i < MostTries, $"{line} still answers {answer}");
            refused();
            await Task.Delay(10);
        }
    }

    /// <summary>Durable data is served. A shard with a write that can never become durable replies with an error.</summary>
    private void AssertReads(RunningServer server)
    {
        int served = 0;
        foreach ((string key, string value) in _acknowledged)
        {
            string answer = Ask(server, $"GET {key}");
            if (answer.Contains("MISCONF", StringComparison.Ordinal)) continue;
            Assert.Equal(value, answer);
            served++;
        }
        Assert.NotEqual(0, served);
    }

    /// <summary>Checks the data that a crash would leave: another server starts on a copy of the current files.</summary>
    private async Task AssertComesBackAsync(TransportKind transport, string? folder = null)
    {
        string copy = CopyOf(folder ?? _folder);
        try
        {
            await using RunningServer server = await StartAsync(copy, transport, new WatchedDisk());
            using TestClient client = server.Connect();
            foreach ((string key, string value) in _acknowledged) Assert.Equal(value, client.Run($"GET {key}"));
        }
        finally
        {
            Directory.Delete(copy, recursive: true);
        }
    }

    /// <summary>Returns a copy of the files of a server with acknowledged writes, as a kill would leave them.</summary>
    private async Task<string> CopyOfARunningServerAsync()
    {
        await using RunningServer server = await StartAsync(_folder, TransportKind.Auto, _disk);
        using TestClient client = server.Connect();
        for (int i = 0; i < 50; i++) Set(client);
        return CopyOf(_folder);
    }

    /// <summary>
    /// The server runs during the copy. A rewrite that it repeats may remove its temporary file at any time.
    /// </summary>
    private static string CopyOf(string folder)
    {
        string copy = Directory.CreateTempSubdirectory("redisclone-copy-").FullName;
        string journal = Path.Combine(folder, "appendonlydir");
        Directory.CreateDirectory(Path.Combine(copy, "appendonlydir"));
        foreach (string file in Directory.GetFiles(journal).Where(f => !f.EndsWith(".lock", StringComparison.Ordinal)))
        {
            string name = Path.GetFileName(file);
            try
            {
                File.Copy(file, Path.Combine(copy, "appendonlydir", name));
            }
            catch (FileNotFoundException) when (name.StartsWith("temp-", StringComparison.Ordinal))
            {
            }
        }
        return copy;
    }
}
