using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>The commands in README, CONTRIBUTING and docs work. tests/documented runs them.</summary>
public sealed class DocumentedCommandTests
{
    private const string Block = "\n```sh\n";

    private static readonly string[] s_files = [.. Directory.GetFiles(Repository.PathOf("docs"), "*.md").Concat(Directory.GetFiles(Repository.Root, "*.md"))
        .Where(path => File.ReadAllText(path).Contains(Block, StringComparison.Ordinal)).Select(path => Path.GetRelativePath(Repository.Root, path))];

    public static TheoryData<string> Files => [.. s_files];

    [Theory]
    [MemberData(nameof(Files))]
    public async Task EveryCommandRuns(string file)
    {
        (int code, string output) = await Repository.RunAsync(Repository.PathOf("tests/documented"), ServerProcess.OurProgram, file);
        Assert.True(code == 0, output);
    }

    [Fact]
    public async Task EveryExceptionIsADocumentedCommand()
    {
        string all = string.Concat(s_files.Select(file => File.ReadAllText(Repository.PathOf(file))));
        foreach (string line in (await File.ReadAllLinesAsync(Repository.PathOf("tests/documented.tsv"))).Skip(1))
            Assert.Contains("\n" + line.Split('\t')[0], all, StringComparison.Ordinal);
    }
}
