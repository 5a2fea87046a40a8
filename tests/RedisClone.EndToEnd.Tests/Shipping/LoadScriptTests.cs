using System.Xml.Linq;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>Every script of memtier-scripts runs, on a server that is there and on one that it starts, with whichever tool is here. Nothing is measured.</summary>
public sealed class LoadScriptTests : IDisposable
{
    private readonly string _results = Directory.CreateTempSubdirectory("redisclone-load-").FullName;

    public void Dispose() => Directory.Delete(_results, recursive: true);

    [Theory]
    [InlineData("origin", 1)]
    [InlineData("latency", 12)]
    [InlineData("durable", 6)]
    [InlineData("large-values", 3)]
    [InlineData("ycsb", 6)]
    [InlineData("mixed-types", 2)]
    public async Task It_prints_a_table_and_writes_csv_and_a_plot(string script, int loads)
    {
        using ServerProcess server = ServerProcess.Ours();
        (int code, string output) = await RunAsync(script, $"ours=127.0.0.1:{server.Port}");
        Assert.True(code == 0, output);
        Assert.Equal(loads, output.Split('\n').Count(line => line.StartsWith("| ", StringComparison.Ordinal) && line.Contains("| ours |", StringComparison.Ordinal)));
        Assert.Equal(1 + loads, (await File.ReadAllLinesAsync(Path.Combine(_results, script + ".csv"))).Length);
        XElement plot = XElement.Load(Path.Combine(_results, script + ".svg"));
        Assert.True(plot.Descendants().Count(element => element.Name.LocalName == "rect") > 2 * loads);
        server.AssertWell();
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
    public async Task All_runs_every_script()
    {
        string all = await File.ReadAllTextAsync(Repository.PathOf("memtier-scripts/all"));
        foreach (string script in Directory.GetFiles(Repository.PathOf("memtier-scripts")).Select(path => Path.GetFileName(path)).Where(name => name != "all"))
            Assert.Contains($" {script}", all, StringComparison.Ordinal);
        (int code, string output) = await RunAsync("all", "--help");
        Assert.True(code == 0, output);
        Assert.Contains("The mixes A to F of YCSB", output, StringComparison.Ordinal);
    }

    private Task<(int Code, string Output)> RunAsync(string script, params string[] arguments) => Repository.RunAsync(Repository.PathOf("memtier-scripts/" + script), arguments,
        [new("SCALE", "1"), new("SECONDS_TO_RUN", "0.2"), new("RESULTS", _results), new("PYTHONDONTWRITEBYTECODE", "1")]);
}
