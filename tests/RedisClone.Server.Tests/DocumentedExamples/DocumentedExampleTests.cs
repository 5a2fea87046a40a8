using System.Diagnostics;
using RedisClone.Configuration;
using RedisClone.Engine.Commands;
using RedisClone.Journal.Disk;
using RedisClone.Server.Tests.Clients;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.DocumentedExamples;

/// <summary>
/// The commands that the installed redis-server lacks answer as Redis's documentation says. The differential tests compare the
/// others with redis-server.
/// </summary>
public sealed class DocumentedExampleTests : IDisposable
{
    /// <summary>The redis-server of Debian, which the differential tests use, has the commands up to this version.</summary>
    private static readonly Version s_compared = new(7, 0, int.MaxValue);

    /// <summary>Commands whose version is below this one are not Redis's. Their version is that of this server.</summary>
    private static readonly Version s_oldestRedis = new(1, 0);

    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(60);

    private static readonly string s_files = Path.Combine(AppContext.BaseDirectory, nameof(DocumentedExamples));

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-examples-").FullName;

    public static TheoryData<string, string> Titles
    {
        get
        {
            var titles = new TheoryData<string, string>();
            foreach (string file in Files())
                foreach (Example example in Read(file)) titles.Add(file, example.Title);
            return titles;
        }
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [MemberData(nameof(Titles))]
    public async Task ACommandRepliesAsDocumented(string file, string title)
    {
        Example example = Read(file).Single(e => e.Title == title);
        await using RunningServer server = await RunningServer.StartAsync(
            new ServerConfig { Dir = _folder }, TransportKind.Auto, disk: RealDisk.Instance);
        var clients = new Dictionary<int, TestClient>();
        try
        {
            foreach (Step step in example.Steps)
            {
                if (!clients.TryGetValue(step.Client, out TestClient? client)) clients[step.Client] = client = server.Connect();
                await RunAsync(client, step);
            }
        }
        finally
        {
            foreach (TestClient client in clients.Values) client.Dispose();
        }
    }

    /// <summary>An example counts if the command succeeds in it. A command that is not supported always fails.</summary>
    [Fact]
    public void EveryCommandThatIsNotComparedHasAnExample()
    {
        // Only a node of a cluster runs these commands. The tests of the cluster do.
        const string withoutCluster = "(error) ERR This instance has cluster support disabled";
        var table = new CommandTable(CommandFamilies.All);
        HashSet<CommandRow> shown = [.. Files().SelectMany(Read).SelectMany(e => e.Steps)
            .Where(s => s.Words.Length > 0 && !s.Reply.Any(line => line != withoutCluster && line.StartsWith("(error)", StringComparison.Ordinal)))
            .Select(s => table.Resolve(new CommandHost.Prepared(s.Words).Request)!)];
        string[] missing = [.. table.All.Where(r => r.Handler is not null && r.Lacks is null && !IsCompared(r) && !shown.Contains(r)).Select(r => r.FullName)];
        const string folder = $"tests/RedisClone.Server.Tests/{nameof(DocumentedExamples)}";
        Assert.True(missing.Length == 0, $"these commands need an example in {folder}: {string.Join(", ", missing)}");
    }

    private static bool IsCompared(CommandRow row) => Version.Parse(row.Since) is var since && since >= s_oldestRedis && since <= s_compared;

    private static async Task RunAsync(TestClient client, Step step)
    {
        long start = Stopwatch.GetTimestamp();
        while (true)
        {
            if (step.Words.Length > 0) client.Send(step.Words);
            if (step.Blocks) return;
            string[] reply = RedisCliText.Lines(client.ReadResp());
            if (DocumentedReply.Fits(step.Reply, reply)) return;
            Assert.True(step.Repeats && Stopwatch.GetElapsedTime(start) < s_patience,
                $"{string.Join(' ', step.Words)}\ndocumented:\n{string.Join('\n', step.Reply)}\nreply:\n{string.Join('\n', reply)}");
            await Task.Delay(5);
        }
    }

    private static IEnumerable<string> Files() =>
        Directory.GetFiles(s_files, "*.txt").Select(path => Path.GetFileNameWithoutExtension(path)).Order(StringComparer.Ordinal);

    private static IEnumerable<Example> Read(string file) => Example.Read(File.ReadAllText(Path.Combine(s_files, file + ".txt")));
}
