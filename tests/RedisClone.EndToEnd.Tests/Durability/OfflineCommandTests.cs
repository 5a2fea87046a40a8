using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// The commands verify and repair: the report of the executable on a data directory that no server uses. The commands do not
/// change the directory.
/// </summary>
public sealed class OfflineCommandTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-offline-").FullName;

    private string Increment => Directory.GetFiles(Path.Combine(_folder, "appendonlydir"), "*.incr.aof").OrderByDescending(f => new FileInfo(f).Length).First();

    private string[] Place => ["--dir", _folder, "--appendonly", "yes", "--appendfsync", "always"];

    public void Dispose()
    {
        Directory.Delete(_folder, recursive: true);
        if (Directory.Exists(_folder + ".repaired")) Directory.Delete(_folder + ".repaired", recursive: true);
    }

    [Fact]
    public void IntactDataIsReportedAsIntact()
    {
        Fill();
        (int code, string output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code == 0, output);
        Assert.Contains("Clean: ", output, StringComparison.Ordinal);
        Assert.Contains("dump.rdb: whole", output, StringComparison.Ordinal);
        Assert.Contains("with appendonly yes the journal appendonlydir/appendonly.aof, otherwise the snapshot dump.rdb.", output, StringComparison.Ordinal);
        Assert.Equal(0, ServerProcess.RunOurs("verify", Path.Combine(_folder, "appendonlydir")).ExitCode);
        Assert.Equal(3, ServerProcess.RunOurs("verify", Path.Combine(_folder, "nothing")).ExitCode);
        Assert.Equal(3, ServerProcess.RunOurs("verify").ExitCode);
        foreach (string command in (string[])["verify", "repair", "health"])
        {
            (code, output) = ServerProcess.RunOurs(command, "--help");
            Assert.Equal(0, code);
            Assert.Contains($" {command} ", output, StringComparison.Ordinal);
        }
        Assert.Contains("verify DIR", ServerProcess.RunOurs("--help").Output, StringComparison.Ordinal);
    }

    [Fact]
    public void AMissingManifestIsReportedAndCreatedAgain()
    {
        Fill();
        string manifest = Path.Combine(_folder, "appendonlydir", "appendonly.aof.manifest");
        File.Delete(manifest);
        string[] names = [.. Directory.GetFiles(Path.Combine(_folder, "appendonlydir"), "*.aof").Select(Path.GetFileName)!];
        (int code, string output) = ServerProcess.RunOurs([.. Place, "--port", "0"]);
        Assert.True(code == 1, output);
        Assert.All(names, name => Assert.Contains(name, output, StringComparison.Ordinal));
        (code, output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code == 2, output);
        Assert.All(names, name => Assert.Contains(name, output, StringComparison.Ordinal));
        Assert.False(File.Exists(manifest));

        (code, output) = ServerProcess.RunOurs("repair", _folder);
        Assert.True(code == 0, output);
        using ServerProcess server = ServerProcess.Ours("--dir", _folder + ".repaired", "--appendonly", "yes");
        using RespClient client = server.Connect();
        Assert.Equal("value-50", client.Call("GET", "key-50").Text);
    }

    [Fact]
    public void AJournalWithAnotherNameIsReported()
    {
        Fill();
        using ServerProcess server = ServerProcess.Ours([.. Place, "--appendfilename", "another.aof"]);
        server.AssertLogs($"{Path.Combine(_folder, "appendonlydir", "appendonly.aof")}: was appenddirname");
        using RespClient client = server.Connect();
        client.Expect(":0", "DBSIZE");
    }

    /// <summary>A start moves the single file of Redis before 7.0 into the append-only directory.</summary>
    [Fact]
    public void AnOldStyleFileIsVerifiedAndCopied()
    {
        const string Set = "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n";
        string file = Path.Combine(_folder, "appendonly.aof");
        File.WriteAllText(file, Set);
        (int code, string output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code == 0, output);
        Assert.Contains("Clean: 1 units", output, StringComparison.Ordinal);

        File.WriteAllText(file, Set + "*3\r\n$3\r\nSE");
        Assert.Equal(1, ServerProcess.RunOurs("verify", _folder).ExitCode);
        (code, output) = ServerProcess.RunOurs("repair", _folder);
        Assert.True(code == 1, output);
        Assert.Equal([file], Directory.GetFileSystemEntries(_folder));
        using (ServerProcess server = ServerProcess.Ours("--dir", _folder + ".repaired", "--appendonly", "yes"))
        using (RespClient client = server.Connect()) client.Expect("$\"value\"", "GET", "key");

        File.WriteAllText(file, "no command" + Set);
        (code, output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code == 2, output);
        Assert.Contains("Refused: appendonly.aof at offset 0", output, StringComparison.Ordinal);
    }

    [Fact]
    public void ADirectoryIsNotASnapshot()
    {
        string dump = Directory.CreateDirectory(Path.Combine(_folder, "dump.rdb")).FullName;
        (int code, string output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code == 2, output);
        Assert.Contains(dump, output, StringComparison.Ordinal);
        Assert.Equal(1, ServerProcess.RunOurs("--dir", _folder, "--port", "0").ExitCode);
    }

    [Fact]
    public void DamageIsReportedAndTheIntactPartIsCopied()
    {
        Fill();
        byte[] damaged = File.ReadAllBytes(Increment);
        int middle = damaged.AsSpan().IndexOf("value-50"u8);
        damaged[middle] ^= 1;
        File.WriteAllBytes(Increment, damaged);
        (int code, string output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code == 2, output);
        Assert.Contains($"Refused: {Path.GetFileName(Increment)} at offset ", output, StringComparison.Ordinal);
        Assert.NotEqual(0, ServerProcess.RunOurs([.. Place, "--port", "0"]).ExitCode);

        (code, output) = ServerProcess.RunOurs("repair", _folder);
        Assert.True(code == 1, output);
        Assert.Equal(damaged, File.ReadAllBytes(Increment));
        Assert.Equal(3, ServerProcess.RunOurs("repair", _folder).ExitCode);
        using ServerProcess server = ServerProcess.Ours("--dir", _folder + ".repaired", "--appendonly", "yes");
        using RespClient client = server.Connect();
        Assert.Equal("value-49", client.Call("GET", "key-49").Text);
        Assert.True(client.Call("GET", "key-50").IsNil);
    }

    [Fact]
    public void NewerIncrementsThatTheManifestDoesNotNameAreReported()
    {
        Fill();
        string manifest = Path.Combine(_folder, "appendonlydir", "appendonly.aof.manifest");
        string older = File.ReadAllText(manifest);
        using (ServerProcess server = ServerProcess.Ours(Place))
        {
            using RespClient client = server.Connect();
            client.Call("SET", "later", "value");
            server.Kill();
        }
        string newest = File.ReadAllLines(manifest)[^1].Split(' ')[1];
        Assert.DoesNotContain(newest, older, StringComparison.Ordinal);
        File.WriteAllText(manifest, older);
        foreach (string command in (string[])["verify", "repair"])
        {
            (int code, string output) = ServerProcess.RunOurs(command, _folder);
            Assert.True(code == 1, output);
            Assert.Contains($"{newest}: has newer commands", output, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void AnIncompleteEndIsReportedAsTruncation()
    {
        Fill();
        byte[] bytes = File.ReadAllBytes(Increment);
        File.WriteAllBytes(Increment, bytes.AsSpan(0, bytes.AsSpan().IndexOf("value-99"u8)));
        (int code, string output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code is 1 or 2, output);
        Assert.Contains("offset ", output, StringComparison.Ordinal);
    }

    [Fact]
    public void ATruncatedSnapshotIsRefused()
    {
        Fill();
        string dump = Path.Combine(_folder, "dump.rdb");
        File.WriteAllBytes(dump, File.ReadAllBytes(dump).AsSpan(0, 200));
        (int code, string output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code == 2, output);
        Assert.Contains("dump.rdb: damaged at offset ", output, StringComparison.Ordinal);
        Assert.Equal(2, ServerProcess.RunOurs("repair", _folder).ExitCode);
        Assert.False(File.Exists(Path.Combine(_folder + ".repaired", "dump.rdb")));
        Assert.Equal(200, new FileInfo(dump).Length);
    }

    /// <summary>A server would start without data in an empty copy.</summary>
    [Fact]
    public void ARepairThatCopiesNothingLeavesNoDirectory()
    {
        string journal = Directory.CreateDirectory(Path.Combine(_folder, "appendonlydir")).FullName;
        File.WriteAllText(Path.Combine(journal, "appendonly.aof.manifest"), "");
        Assert.Equal(2, ServerProcess.RunOurs("repair", _folder).ExitCode);
        Assert.False(Directory.Exists(_folder + ".repaired"));
    }

    /// <summary>The files have a valid format, but a server does not start on them because of their contents.</summary>
    [Theory]
    [InlineData("a key is there twice", "FE00 0001610162 0001610163", true)]
    [InlineData("a key is there twice", "FE00 0001610162 0001610163", false)]
    [InlineData("Missing library metadata", "F5 03666F6F", true)]
    [InlineData("Missing library metadata", "F5 03666F6F", false)]
    [InlineData("handle more than 16 databases", "FE11 0001610162", true)]
    [InlineData("handle more than 16 databases", "FE11 0001610162", false)]
    public void ContentsThatPreventAStartAreRefused(string reason, string content, bool asSnapshot)
    {
        byte[] file = [.. "REDIS0009"u8, .. Convert.FromHexString(content.Replace(" ", "", StringComparison.Ordinal)), 0xFF, .. new byte[8]];
        if (asSnapshot) File.WriteAllBytes(Path.Combine(_folder, "dump.rdb"), file);
        else
        {
            string journal = Directory.CreateDirectory(Path.Combine(_folder, "appendonlydir")).FullName;
            File.WriteAllBytes(Path.Combine(journal, "appendonly.aof.1.base.rdb"), file);
            File.WriteAllText(Path.Combine(journal, "appendonly.aof.manifest"), "file appendonly.aof.1.base.rdb seq 1 type b\n");
        }
        (int code, string output) = ServerProcess.RunOurs("verify", _folder);
        Assert.True(code == 2, output);
        Assert.Contains(reason, output, StringComparison.Ordinal);
        (code, string start) = ServerProcess.RunOurs("--dir", _folder, "--port", "0", "--appendonly", asSnapshot ? "no" : "yes");
        Assert.NotEqual(0, code);
        Assert.Contains(reason, start, StringComparison.Ordinal);
        Assert.Equal(2, ServerProcess.RunOurs("repair", _folder).ExitCode);
    }

    [Fact]
    public void VerifyUsesTheOptionsOfTheServer()
    {
        File.WriteAllBytes(Path.Combine(_folder, "dump.rdb"), [.. "REDIS0009"u8, .. Convert.FromHexString("FE110001610162FF"), .. new byte[8]]);
        Assert.Equal(2, ServerProcess.RunOurs("verify", _folder).ExitCode);
        (int code, string output) = ServerProcess.RunOurs("verify", _folder, "--databases", "32");
        Assert.True(code == 0, output);
        Assert.Equal(3, ServerProcess.RunOurs("verify", _folder, "--no-such-option", "1").ExitCode);
    }

    /// <summary>A start reads and writes the role and nodes.conf. A verification does neither, also with the options of a server.</summary>
    [Fact]
    public void VerifyChangesNoOtherFile()
    {
        Fill();
        string role = Path.Combine(_folder, "redisclone-6379.role");
        File.WriteAllText(role, $"position {new string('a', 40)} 5 0 9\n");
        string[] before = [.. Directory.GetFiles(_folder, "*", SearchOption.AllDirectories).Order().Select(path => $"{path} {File.ReadAllText(path)}")];
        foreach (string command in new[] { "verify", "repair" })
        {
            (int code, string output) = ServerProcess.RunOurs(command, _folder, "--dir", _folder, "--port", "6379", "--cluster-enabled", "yes");
            Assert.True(code == 0, output);
        }
        Directory.Delete($"{_folder}.repaired", recursive: true);
        Assert.Equal(before, Directory.GetFiles(_folder, "*", SearchOption.AllDirectories).Order().Select(path => $"{path} {File.ReadAllText(path)}"));
    }

    [Fact]
    public void RepairUsesTheOptionsOfTheServer()
    {
        File.WriteAllBytes(Path.Combine(_folder, "dump.rdb"), [.. "REDIS0009"u8, .. Convert.FromHexString("FE110001610162FF"), .. new byte[8]]);
        string copy = Path.Combine(_folder, "copy");
        Assert.Equal(2, ServerProcess.RunOurs("repair", _folder, copy).ExitCode);
        (int code, string output) = ServerProcess.RunOurs("repair", _folder, copy, "--databases", "32");
        Assert.True(code == 0, output);
        Assert.Equal(3, ServerProcess.RunOurs("repair", _folder, copy, "another").ExitCode);
    }

    private void Fill()
    {
        using ServerProcess server = ServerProcess.Ours(Place);
        using RespClient client = server.Connect();
        for (int i = 0; i < 100; i++) client.Expect("+OK", "SET", $"key-{i}", $"value-{i}");
        client.Expect("+OK", "SAVE");
        server.Kill();
    }
}
