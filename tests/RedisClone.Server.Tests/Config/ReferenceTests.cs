using RedisClone.Server.Admin;
using RedisClone.Server.Commands;

namespace RedisClone.Server.Tests.Config;

/// <summary>The pages in docs that are made from tables are those that the tables give.</summary>
public class ReferenceTests
{
    [Fact]
    public void TheReferenceOfParametersIsCurrent() => AssertCurrent("configuration.md", ConfigReference.ToMarkdown(), "--write-config-reference");

    [Fact]
    public void TheReferenceOfCommandsIsCurrent() => AssertCurrent("commands.md", CommandReference.ToMarkdown(), "--write-command-reference");

    private static void AssertCurrent(string page, string text, string option)
    {
        var root = new DirectoryInfo(AppContext.BaseDirectory);
        while (root is not null && !File.Exists(Path.Combine(root.FullName, "RedisClone.sln")))
            root = root.Parent;
        Assert.NotNull(root);

        Assert.True(File.ReadAllText(Path.Combine(root.FullName, "docs", page)) == text,
            $"docs/{page} is not current: dotnet run --project src/RedisClone.Server -- {option} > docs/{page}");
    }
}
