using System.Xml.Linq;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>Every script of memtier-scripts runs, on a server that is there and on one that it starts, with whichever tool is here. Nothing is measured.</summary>
public sealed class LoadScriptTests : IDisposable
{
    private readonly string _results = Directory.CreateTempSubdirectory("redisclone-load-").FullName;

    public void Dispose() => Directory.Delete(_results, recursive: true);

    private static readonly (string Script, int Loads)[] s_scripts =
        [("origin", 1), ("latency", 12), ("durable", 6), ("large-values", 3), ("ycsb", 6), ("mixed-types", 2)];

    [Fact]
    public async Task Each_prints_a_table_and_writes_csv_and_a_plot_and_the_tables_end_in_a_block_to_paste()
    {
        using ServerProcess server = ServerProcess.Ours();
        (int code, string output) = await RunAsync("all", $"ours=127.0.0.1:{server.Port}");
        Assert.True(code == 0, output);
        server.AssertWell();

        string[] lines = output.Split('\n'), readme = await File.ReadAllLinesAsync(Repository.PathOf("perf/README.md"));
        int begin = Array.FindIndex(lines, line => line.StartsWith("<!-- memtier-scripts: begin", StringComparison.Ordinal)), end = Array.IndexOf(lines, "<!-- memtier-scripts: end -->");
        Assert.InRange(begin, 0, end);
        Assert.Single(readme, lines[begin]);
        Assert.Single(readme, lines[end]);
        string block = string.Join('\n', lines[begin..end]);
        foreach ((string script, int loads) in s_scripts)
        {
            string table = block.Split("\n\n").SkipWhile(part => !part.StartsWith(script + ", ", StringComparison.Ordinal)).Skip(1).First();
            Assert.Equal(loads, table.Split('\n').Count(line => line.Contains("| ours |", StringComparison.Ordinal)));
            Assert.Equal(1 + loads, (await File.ReadAllLinesAsync(Path.Combine(_results, script + ".csv"))).Length);
            XElement plot = XElement.Load(Path.Combine(_results, script + ".svg"));
            Assert.True(plot.Descendants().Count(element => element.Name.LocalName == "rect") > 2 * loads);
        }
    }

    [Fact]
    public async Task Servers_that_are_started_are_compared_and_ended()
    {
        (int code, string output) = await RunAsync("origin", "one=redis-server", "two=redis-server");
        Assert.True(code == 0, output);
        Assert.Contains("| set-get | one |", output, StringComparison.Ordinal);
        Assert.Contains("| set-get | two |", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Every_script_tells_what_it_does()
    {
        Assert.Equal(s_scripts.Select(script => script.Script).Append("all").Order(StringComparer.Ordinal),
            Directory.GetFiles(Repository.PathOf("memtier-scripts")).Select(path => Path.GetFileName(path)).Order(StringComparer.Ordinal));
        (int code, string output) = await RunAsync("all", "--help");
        Assert.True(code == 0, output);
        Assert.Contains("The mixes A to F of YCSB", output, StringComparison.Ordinal);
    }

    private Task<(int Code, string Output)> RunAsync(string script, params string[] arguments) => Repository.RunAsync(Repository.PathOf("memtier-scripts/" + script), arguments,
        [new("SCALE", "1"), new("SECONDS_TO_RUN", "0.2"), new("RESULTS", _results), new("PYTHONDONTWRITEBYTECODE", "1")]);
}
