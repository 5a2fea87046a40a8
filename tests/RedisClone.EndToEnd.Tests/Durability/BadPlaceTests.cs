using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// Unusable data directories cause a clear message, and the server overwrites no file. Commands that wait for the disk get
/// correct replies.
/// </summary>
public sealed class BadPlaceTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-place-").FullName;

    private string[] Place => ["--dir", _folder, "--appendonly", "yes"];

    private string Journal => Path.Combine(_folder, "appendonlydir");

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void ASecondServerDoesNotStartOnTheSameDirectory()
    {
        using ServerProcess first = ServerProcess.Ours(Place);
        (int code, string output) = ServerProcess.RunOurs([.. Place, "--port", "0"]);
        Assert.Equal(1, code);
        Assert.Contains("is in use by another server", output, StringComparison.Ordinal);
        first.AssertWell();
    }

    [Fact]
    public void AServerWarnsWhenItReplacesTheDumpOfAnotherServer()
    {
        const string Warning = "another server seems to use the same dir and dbfilename";
        using ServerProcess first = ServerProcess.Ours("--dir", _folder), second = ServerProcess.Ours("--dir", _folder);
        using RespClient one = first.Connect(), other = second.Connect();
        one.Expect("+OK", "SET", "key", "value");
        one.Expect("+OK", "SAVE");
        one.Expect("+OK", "SAVE");
        other.Expect("+OK", "SAVE");
        second.AssertLogs(Warning);
        second.AssertWell();
        Assert.DoesNotContain(Warning, first.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("dump.rdb", "this is no snapshot, but it is long enough to be one", "no")]
    [InlineData("dump.rdb", "", "no")]
    [InlineData("appendonlydir/appendonly.aof.manifest", "not a manifest", "yes")]
    [InlineData("appendonlydir/appendonly.aof.1.incr.aof", "REDIS0010 an RDB where an increment should be", "yes")]
    public void AFileOfTheWrongKindIsRefusedAndNotChanged(string name, string content, string appendOnly)
    {
        Directory.CreateDirectory(Journal);
        if (name.EndsWith(".incr.aof", StringComparison.Ordinal))
            File.WriteAllText(Path.Combine(Journal, "appendonly.aof.manifest"), "file appendonly.aof.1.incr.aof seq 1 type i\n");
        File.WriteAllText(Path.Combine(_folder, name), content);
        string[] before = Directory.GetFiles(_folder, "*", SearchOption.AllDirectories);
        NotLoaded("--dir", _folder, "--appendonly", appendOnly);
        Assert.Equal(content, File.ReadAllText(Path.Combine(_folder, name)));
        Assert.Equal(before, Directory.GetFiles(_folder, "*", SearchOption.AllDirectories).Where(f => !f.EndsWith(".lock", StringComparison.Ordinal)));
    }

    [Fact]
    public void ADirectoryIsNotASnapshot()
    {
        Directory.CreateDirectory(Path.Combine(_folder, "dump.rdb"));
        Assert.Contains("The snapshot dump.rdb cannot be read", NotLoaded("--dir", _folder), StringComparison.Ordinal);
    }

    [Fact]
    public void AFileThatCannotBeOpenedIsNamed()
    {
        Directory.CreateDirectory(Journal);
        File.WriteAllText(Path.Combine(Journal, "appendonly.aof.manifest"), "file appendonly.aof.1.incr.aof seq 1 type i\n");
        File.CreateSymbolicLink(Path.Combine(Journal, "appendonly.aof.1.incr.aof"), "nowhere");
        Assert.Contains("The journal cannot be loaded: appendonly.aof.1.incr.aof cannot be read", NotLoaded(Place), StringComparison.Ordinal);
    }

    /// <summary>Returns the message of a server that does not start because of its data.</summary>
    private static string NotLoaded(params string[] arguments)
    {
        (int code, string output) = ServerProcess.RunOurs([.. arguments, "--port", "0"]);
        Assert.True(code == 1, output);
        Assert.Contains("Fatal error loading the DB", output, StringComparison.Ordinal);
        Assert.DoesNotContain("Unhandled exception", output, StringComparison.Ordinal);
        return output;
    }

    [Fact]
    public void TheMessageNamesTheDirectoryThatTheJournalCannotCreate()
    {
        File.WriteAllText(Journal, "a file where the directory should be");
        (int code, string output) = ServerProcess.RunOurs([.. Place, "--port", "0"]);
        Assert.Equal(1, code);
        Assert.Contains("appendonlydir", output, StringComparison.Ordinal);
        Assert.Equal("a file where the directory should be", File.ReadAllText(Journal));
    }

    [Theory]
    [InlineData("always")]
    [InlineData("everysec")]
    [InlineData("no")]
    public void WaitaofRepliesWhenTheWriteIsOnDisk(string policy)
    {
        using (ServerProcess server = ServerProcess.Ours([.. Place, "--appendfsync", policy]))
        using (RespClient client = server.Connect())
        {
            client.Expect("+OK", "SET", "key", "value");
            client.Expect("*[:1 :0]", "WAITAOF", "1", "0", "60000");
            server.Kill();
        }
        using (ServerProcess server = ServerProcess.Ours(Place))
        using (RespClient client = server.Connect()) client.Expect("$\"value\"", "GET", "key");
        using (ServerProcess server = ServerProcess.Ours())
        using (RespClient client = server.Connect())
        {
            Assert.True(client.Call("WAITAOF", "1", "0", "0").IsError);
            client.Expect("*[:0 :0]", "WAITAOF", "0", "1", "10");
        }
    }

    [Fact]
    public void AJournalIsTurnedOnAndOffWhileTheServerRuns()
    {
        using (ServerProcess server = ServerProcess.Ours("--dir", _folder))
        using (RespClient client = server.Connect())
        {
            client.Expect("+OK", "SET", "before", "1");
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "yes");
            client.Expect("+OK", "SET", "later", "2");
            client.Expect("*[:1 :0]", "WAITAOF", "1", "0", "60000");
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "no");
            client.Expect("+OK", "SET", "lost", "3");
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "yes");
            client.Expect(":1", "DEL", "lost");
            client.Expect("*[:1 :0]", "WAITAOF", "1", "0", "60000");
            server.Kill();
        }
        using (ServerProcess server = ServerProcess.Ours(Place))
        using (RespClient client = server.Connect())
        {
            client.Expect("$\"2\"", "GET", "later");
            client.Expect(":2", "DBSIZE");
        }
    }

    /// <summary>A client that waits for the disk does not wait for a journal that is turned off.</summary>
    [Fact]
    public void AWaitingClientContinuesWhenTheJournalIsTurnedOff()
    {
        using ServerProcess server = ServerProcess.Ours([.. Place, "--appendfsync", "everysec"]);
        using RespClient waiting = server.Connect(), client = server.Connect();
        for (int round = 0; round < 20; round++)
        {
            waiting.Expect("+OK", "SET", "key", "value");
            waiting.Send("WAITAOF", "1", "0", "0");
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "no");
            // The request arrives before or after the end of the journal, and before or after the first base file of the round.
            // In each case it must get a reply.
            Assert.Matches(@"^(\*\[:[01] :0\]|-ERR WAITAOF cannot be used .*)$", waiting.Read().ToString());
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "yes");
        }
    }

    /// <summary>The journal positions that a client has seen stay valid after the journal is turned off and on.</summary>
    [Theory]
    [InlineData("always")]
    [InlineData("everysec")]
    public void AnEarlierClientIsServedWhenTheJournalIsTurnedOffAndOn(string policy)
    {
        using ServerProcess server = ServerProcess.Ours([.. Place, "--appendfsync", policy]);
        using RespClient before = server.Connect(), client = server.Connect();
        before.Pipeline([.. Enumerable.Range(0, 500).Select(i => new[] { "SET", $"key:{i}", "value" })]);
        for (int round = 0; round < 3; round++)
        {
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "no");
            before.Expect("+OK", "SET", "between", "value");
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "yes");
            before.Expect("$\"value\"", "GET", "key:1");
            before.Expect("+OK", "SET", "last", $"{round}");
            before.Expect("*[:1 :0]", "WAITAOF", "1", "0", "60000");
        }
        server.Kill();
        using ServerProcess again = ServerProcess.Ours(Place);
        using RespClient asking = again.Connect();
        asking.Expect("$\"2\"", "GET", "last");
        asking.Expect(":502", "DBSIZE");
    }

    /// <summary>
    /// The journal is turned off before its first base file is begun, or while the base file is put in place. The server
    /// continues in both cases, and does not confuse this base file with a later one.
    /// </summary>
    [Fact]
    public void TheJournalCanBeTurnedOnAndOffFasterThanItStarts()
    {
        string[][] turns = [["CONFIG", "SET", "appendonly", "yes"], ["SET", "key", "value"], ["CONFIG", "SET", "appendonly", "no"]];
        using ServerProcess server = ServerProcess.Ours("--dir", _folder);
        using RespClient client = server.Connect();
        for (int round = 0; round < 20; round++)
            Assert.All(client.Pipeline([.. Enumerable.Repeat(turns, 20).SelectMany(turn => turn)]), reply => Assert.Equal("+OK", reply.ToString()));
        client.Expect("+OK", "CONFIG", "SET", "appendonly", "yes");
        client.Expect("+OK", "SET", "last", "value");
        client.Expect("*[:1 :0]", "WAITAOF", "1", "0", "60000");
        server.Kill();
        using ServerProcess again = ServerProcess.Ours(Place);
        using RespClient asking = again.Connect();
        asking.Expect(":2", "DBSIZE");
    }
}
