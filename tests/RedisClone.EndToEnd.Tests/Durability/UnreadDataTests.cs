using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>Data that a start does not load because of a changed configuration.</summary>
public sealed class UnreadDataTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-unread-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void ASnapshotBesideANewJournalIsNamed()
    {
        Save("0");
        using ServerProcess server = ServerProcess.Ours("--dir", _folder, "--appendonly", "yes");
        using RespClient client = server.Connect();
        client.Expect(":0", "DBSIZE");
        server.AssertLogs("dump.rdb is not loaded, because appendonly is on");
    }

    [Fact]
    public void AJournalThatIsOffIsNamed()
    {
        using (ServerProcess first = ServerProcess.Ours("--dir", _folder, "--appendonly", "yes"))
        using (RespClient client = first.Connect()) client.Expect("+OK", "SET", "k", "v");
        using ServerProcess server = ServerProcess.Ours("--dir", _folder);
        server.AssertLogs("appendonlydir is not loaded, because appendonly is off");
    }

    /// <summary>A node serves database 0 only, so the other keys would be lost to clients.</summary>
    [Fact]
    public void ANodeOfAClusterRefusesOtherDatabases()
    {
        Save("3");
        (int code, string output) = ServerProcess.RunOurs(
            "--dir", _folder, "--port", $"{Ports.Free()}", "--cluster-enabled", "yes", "--cluster-port", $"{Ports.Free()}");
        Assert.NotEqual(0, code);
        Assert.Contains("You can't have keys in a DB different than DB 0 when in Cluster mode", output, StringComparison.Ordinal);
    }

    private void Save(string database)
    {
        using ServerProcess first = ServerProcess.Ours("--dir", _folder);
        using RespClient client = first.Connect();
        client.Expect("+OK", "SELECT", database);
        client.Expect("+OK", "SET", "k", "v");
        client.Expect("+OK", "SAVE");
    }
}
