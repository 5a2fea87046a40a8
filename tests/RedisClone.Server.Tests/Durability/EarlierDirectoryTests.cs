using RedisClone.Admin.Commands;
using RedisClone.Configuration;
using RedisClone.Journal.Disk;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// A data directory of an earlier build opens with the same data. EarlierDirectory has values of every type in two databases, a
/// function, expiry times, a transaction and the effects of a script, written before the process was killed.
/// </summary>
public sealed class EarlierDirectoryTests : IDisposable
{
    /// <summary>The answer of DEBUG DIGEST in the server that wrote the directory.</summary>
    private const string Digest = "0efb9791d042118387dc50569f694582de19ff75";

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-earlier-").FullName;

    public EarlierDirectoryTests()
    {
        string source = Path.Combine(AppContext.BaseDirectory, "Durability", "EarlierDirectory");
        foreach (string file in Directory.GetFiles(source, "*", SearchOption.AllDirectories))
        {
            string copy = Path.Combine(_folder, Path.GetRelativePath(source, file));
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(file, copy);
        }
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task TheDirectoryOfAnEarlierBuildOpensWithTheSameData(bool journal)
    {
        for (int start = 0; start < 2; start++)
        {
            await using RunningServer server = await RunningServer.StartAsync(new ServerConfig(), TransportKind.Auto, config =>
            {
                config.Dir = _folder;
                config.AppendOnly = journal;
            }, RealDisk.Instance);
            Assert.Equal(Digest, Convert.ToHexStringLower(KeyspaceDigest.OfAll(server.Core)));
            using TestClient client = server.Connect();
            Assert.Equal("42", client.Run("FCALL answer 0"));
            Assert.Equal("4102444800000", client.Run("PEXPIRETIME timed:base"));
            Assert.Equal("12346", client.Run("GET number:base"));
        }
    }
}
