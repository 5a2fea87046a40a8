using RedisClone.EndToEnd.Tests.Hostile;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// BACKUP while the server runs. A server that starts on the copy has the contents at the time of the seal, with and without a
/// journal.
/// </summary>
public sealed class BackupTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-backup-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>A start on a backup may name its directory as the one of the journal. It stays that of backups too, by its name or by a link.</summary>
    [Theory]
    [InlineData("appendonlydir")]
    [InlineData("link")]
    public void TheJournalIsNoBackup(string directory)
    {
        using ServerProcess server = ServerProcess.Ours("--dir", _folder, "--appendonly", "yes", "--backupdirname", directory);
        using RespClient client = server.Connect();
        if (directory == "link") File.CreateSymbolicLink(Path.Combine(_folder, directory), Path.Combine(_folder, "appendonlydir"));
        client.Expect("+OK", "SET", "k", "v");
        string[] files = [.. Directory.GetFiles(Path.Combine(_folder, "appendonlydir")).Order()];
        Assert.True(client.Call("BACKUP", "START").IsError);
        Assert.True(client.Call("BACKUP", "CLEANUP").IsError);
        Assert.Equal(files, Directory.GetFiles(Path.Combine(_folder, "appendonlydir")).Order());
        server.AssertWell();
    }

    /// <summary>The single file of Redis before 7.0 is not loaded while appendonly is off. A journal that begins later must not replace it.</summary>
    [Fact]
    public void AnOldFileThatWasNotLoadedStays()
    {
        string old = Path.Combine(_folder, "appendonly.aof");
        const string text = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";
        File.WriteAllText(old, text);
        using ServerProcess server = ServerProcess.Ours("--dir", _folder);
        using RespClient client = server.Connect();
        client.Call("BGREWRITEAOF");
        UntilRewritten();
        client.Expect("+OK", "BACKUP", "START");
        Until(client, "incrementing");
        client.Expect("+OK", "CONFIG", "SET", "appendonly", "yes");
        UntilRewritten();
        client.Expect("+OK", "BACKUP", "SEAL");
        Assert.Equal(text, File.ReadAllText(old));
        server.AssertWell();

        void UntilRewritten()
        {
            while (!client.Call("INFO", "persistence").Text!.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal)) Thread.Sleep(10);
        }
    }

    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void AServerStartsOnTheCopy(string journal)
    {
        using ServerProcess server = ServerProcess.Ours("--dir", _folder, "--appendonly", journal);
        using RespClient client = server.Connect();
        client.Expect("$\"idle\"", "ECHO", State(client));
        Assert.True(client.Call("BACKUP", "SEAL").IsError);
        for (int i = 0; i < 1000; i++) client.Expect("+OK", "SET", $"key-{i}", "before");
        client.Expect("+OK", "BACKUP", "START");
        Until(client, "incrementing");
        Assert.True(client.Call("BACKUP", "START").IsError);
        Assert.Single(client.Call("BACKUP", "LIST").Items!);
        for (int i = 0; i < 500; i++) client.Expect("+OK", "SET", $"key-{i}", "meanwhile");
        client.Expect("+OK", "BACKUP", "SEAL");
        client.Expect("+OK", "SET", "key-999", "after");
        Assert.Equal("sealed", State(client));
        string[] files = [.. client.Call("BACKUP", "LIST").Items!.Select(f => f.Text!)];
        Assert.Equal(3, files.Length);
        Assert.All(files, file => Assert.True(File.Exists(file), file));
        Assert.Equal(files.Order(), Directory.GetFiles(Path.Combine(_folder, "backupdir")).Order());

        string copy = Path.Combine(_folder, "copy");
        Directory.CreateDirectory(Path.Combine(copy, "appendonlydir"));
        foreach (string file in files) File.Copy(file, Path.Combine(copy, "appendonlydir", Path.GetFileName(file)));
        Assert.Equal(0, ServerProcess.RunOurs("verify", copy).ExitCode);
        using (ServerProcess restored = ServerProcess.Ours("--dir", copy, "--appendonly", "yes"))
        using (RespClient other = restored.Connect())
        {
            other.Expect(":1000", "DBSIZE");
            other.Expect("$\"meanwhile\"", "GET", "key-499");
            other.Expect("$\"before\"", "GET", "key-999");
        }
        client.Expect("+OK", "BACKUP", "CLEANUP");
        Assert.Empty(Directory.GetFiles(Path.Combine(_folder, "backupdir")));
        Assert.Equal("idle", State(client));

        client.Expect("+OK", "BACKUP", "START");
        client.Expect("+OK", "BACKUP", "ABORT");
        Assert.Equal("failed", State(client));
        client.Expect("+OK", "BACKUP", "CLEANUP");
        server.AssertWell();
    }

    /// <summary>The limit of the size of a file is reached as the end of a disk is. Writes that came later are not in the backup.</summary>
    [Fact]
    public void ABackupWithoutRoomIsNotSealed()
    {
        using var server = new ShellServer("export DOTNET_EnableWriteXorExecute=0; ulimit -f 300; exec SERVER > log", "--save ''", "--appendonly no");
        using RespClient client = server.Connect();
        client.Expect("+OK", "BACKUP", "START");
        Until(client, "incrementing");
        for (int i = 0; i < 1000; i++) client.Expect("+OK", "SET", $"key:{i}", new string('x', 1000));
        Until(client, "failed");
        Assert.True(client.Call("BACKUP", "SEAL").IsError);
        server.AssertStops();
    }

    /// <summary>The effects after it do not lead from the base of the backup to the new data.</summary>
    [Fact]
    public void ABackupEndsWhenAllDataIsReplaced()
    {
        using ServerProcess server = ServerProcess.Ours("--dir", _folder, "--appendonly", "no", "--enable-debug-command", "yes");
        using RespClient client = server.Connect();
        client.Expect("+OK", "SET", "key", "old");
        client.Expect("+OK", "SAVE");
        client.Expect("+OK", "SET", "key", "new");
        client.Expect("+OK", "BACKUP", "START");
        Until(client, "incrementing");
        client.Expect("+OK", "DEBUG", "RELOAD", "NOSAVE", "NOFLUSH", "MERGE");
        Assert.True(client.Call("BACKUP", "SEAL").IsError);
        Assert.Equal("failed", State(client));
        server.AssertWell();
    }

    [Fact]
    public void WhatACrashHasLeftCanBeRemoved()
    {
        string[] arguments = ["--dir", _folder, "--appendonly", "no", "--save", ""];
        using (ServerProcess server = ServerProcess.Ours(arguments))
        using (RespClient client = server.Connect())
        {
            client.Expect("+OK", "BACKUP", "START");
            Until(client, "incrementing");
            server.Kill();
        }
        string other = Path.Combine(_folder, "backupdir", "other");
        File.WriteAllText(other, "");
        using ServerProcess again = ServerProcess.Ours(arguments);
        using RespClient after = again.Connect();
        Assert.Contains("BACKUP CLEANUP", after.Call("BACKUP", "START").Text);
        after.Expect("+OK", "BACKUP", "CLEANUP");
        Assert.Equal([other], Directory.GetFiles(Path.Combine(_folder, "backupdir")));
        File.Delete(other);
        after.Expect("+OK", "BACKUP", "START");
        again.AssertWell();
    }

    private static string State(RespClient client) => client.Call("BACKUP", "STATUS").Items![1].Text!;

    private static void Until(RespClient client, string state)
    {
        for (int looks = 0; State(client) != state; looks++)
        {
            Assert.True(looks < 6000, $"the backup is {State(client)}");
            Thread.Sleep(10);
        }
    }
}
