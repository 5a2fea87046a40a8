using System.Xml.Linq;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>
/// Every script of memtier-scripts runs on an existing server and on a server that it starts, with the available load tool. The
/// tests measure nothing.
/// </summary>
public sealed class LoadScriptTests : IDisposable
{
    private readonly string _results = Directory.CreateTempSubdirectory("redisclone-load-").FullName;

    public void Dispose() => Directory.Delete(_results, recursive: true);

    private static readonly (string Script, int Loads)[] s_scripts =
        [("origin", 1), ("latency", 12), ("durable", 6), ("large-values", 3), ("ycsb", 6), ("mixed-types", 2)];

    [Fact]
    public async Task EachScriptPrintsATableAndABlockToPasteAndWritesCsvAndAPlot()
    {
        using ServerProcess server = ServerProcess.Ours();
        (int code, string output) = await RunAsync("all", $"ours=127.0.0.1:{server.Port}");
        Assert.True(code == 0, output);
        server.AssertWell();

        string[] lines = output.Split('\n'), measured = await File.ReadAllLinesAsync(Repository.PathOf("perf/measured/memtier.md"));
        int begin = Array.FindIndex(lines, line => line.StartsWith("<!-- memtier-scripts: begin", StringComparison.Ordinal));
        int end = Array.IndexOf(lines, "<!-- memtier-scripts: end -->");
        Assert.InRange(begin, 0, end);
        Assert.Single(measured, lines[begin]);
        Assert.Single(measured, lines[end]);
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
    public async Task TablesAndPicturesAreMadeFromTheCheckedInRuns()
    {
        (int code, string output) = await Repository.RunAsync(Repository.PathOf("perf/report"), "--check");
        Assert.True(code == 0, output);
    }

    [Fact]
    public async Task StartedServersAreComparedAndStopped()
    {
        (int code, string output) = await RunAsync("origin", "one=redis-server", "two=redis-server");
        Assert.True(code == 0, output);
        Assert.Contains("| set-get | one |", output, StringComparison.Ordinal);
        Assert.Contains("| set-get | two |", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task EveryScriptPrintsItsPurpose()
    {
        Assert.Equal(s_scripts.Select(script => script.Script).Append("all").Order(StringComparer.Ordinal),
            Directory.GetFiles(Repository.PathOf("memtier-scripts")).Select(path => Path.GetFileName(path)).Order(StringComparer.Ordinal));
        (int code, string output) = await RunAsync("all", "--help");
        Assert.True(code == 0, output);
        Assert.Contains("The mixes A to F of YCSB", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("SCALE", "x")]
    [InlineData("SCALE", "0")]
    [InlineData("SECONDS_TO_RUN", "abc")]
    [InlineData("SECONDS_TO_RUN", "-1")]
    [InlineData("SECONDS_TO_RUN", "nan")]
    [InlineData("RESULTS", "/proc/x")]
    [InlineData("MEMTIER", "/nonexistent")]
    public async Task AnInvalidVariableIsRefusedInOneLineBeforeAnyRequest(string name, string value) =>
        AssertRefused($"{name}={value}: ", await RunWithAsync(name, value, "origin", "server=127.0.0.1:1"));

    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1: a server is NAME=HOST:PORT or NAME=PATH")]
    [InlineData("server=127.0.0.1:65536", "server=127.0.0.1:65536: there is no port 65536")]
    [InlineData("server=/etc", "/etc: no such program")]
    public async Task AnInvalidServerIsNamedInOneLine(string argument, string reason) =>
        AssertRefused(reason, await RunAsync("origin", argument));

    [Fact]
    public async Task AServerThatDoesNotListenIsNamedInOneLine()
    {
        int port = Ports.Free();
        AssertRefused($"ours: 127.0.0.1:{port}: Connection refused", await RunAsync("origin", $"ours=127.0.0.1:{port}"));
    }

    [Fact]
    public async Task AMissingPasswordIsNamedInOneLineAndTakenFromTheEnvironment()
    {
        using ServerProcess server = ServerProcess.Ours("--requirepass", "se:cret");
        string place = $"127.0.0.1:{server.Port}";
        AssertRefused($"ours: {place}: NOAUTH ", await RunAsync("origin", $"ours={place}"));
        AssertRefused($"ours: {place}: WRONGPASS ", await RunWithAsync("REDISCLI_AUTH", "secret", "origin", $"ours={place}"));
        (int code, string output) = await RunWithAsync("REDISCLI_AUTH", "se:cret", "origin", $"ours={place}");
        Assert.True(code == 0, output);
        Assert.Contains("| set-get | ours |", output, StringComparison.Ordinal);
    }

    private static void AssertRefused(string start, (int Code, string Output) ended)
    {
        Assert.NotEqual(0, ended.Code);
        Assert.StartsWith(start, Assert.Single(ended.Output.TrimEnd('\n').Split('\n')), StringComparison.Ordinal);
    }

    private Task<(int Code, string Output)> RunAsync(string script, params string[] arguments) => RunWithAsync("RESULTS", _results, script, arguments);

    /// <summary>Runs a script with one environment variable set to another value.</summary>
    private Task<(int Code, string Output)> RunWithAsync(string name, string value, string script, params string[] arguments) => Repository.RunAsync(
        Repository.PathOf("memtier-scripts/" + script), arguments,
        [new("SCALE", "1"), new("SECONDS_TO_RUN", "0.2"), new("RESULTS", _results), new("PYTHONDONTWRITEBYTECODE", "1"), new(name, value)]);
}
