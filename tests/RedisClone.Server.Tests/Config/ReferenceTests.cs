using RedisClone.Admin.Commands;
using RedisClone.Configuration;
using RedisClone.Engine.Commands;
using RedisClone.Server.Programs;

namespace RedisClone.Server.Tests.Config;

/// <summary>The pages in docs that are generated from tables match the tables.</summary>
public class ReferenceTests
{
    private static string Commands() => CommandReference.ToMarkdown(new CommandTable(CommandFamilies.All));

    [Fact]
    public void TheReferenceOfParametersIsCurrent() => AssertCurrent("configuration.md", ConfigReference.ToMarkdown(), "--write-config-reference");

    [Fact]
    public void TheReferenceOfCommandsIsCurrent() => AssertCurrent("commands.md", Commands(), "--write-command-reference");

    [Fact]
    public void APageIsPrintedOrReplacesAFileAtomically()
    {
        using var output = new StringWriter();
        Assert.Equal(0, ReferencePages.TryRun(["--write-config-reference"], output));
        Assert.Equal(ConfigReference.ToMarkdown(), output.ToString());

        string folder = Directory.CreateTempSubdirectory("redisclone-pages-").FullName, page = Path.Combine(folder, "page.md");
        File.WriteAllText(page, "an old one");
        Assert.Equal(0, ReferencePages.TryRun(["--write-command-reference", page], output));
        Assert.Equal(Commands(), File.ReadAllText(page));
        Assert.Equal(1, ReferencePages.TryRun(["--write-config-reference", Path.Combine(folder, "none", "page.md")], output));
        Directory.CreateDirectory($"{page}.{Environment.ProcessId}.tmp");
        Assert.Equal(1, ReferencePages.TryRun(["--write-config-reference", page], output));
        Assert.Equal(Commands(), File.ReadAllText(page));
        Directory.Delete(folder, recursive: true);

        Assert.Equal(1, ReferencePages.TryRun(["--write-config-reference", page, "more"], output));
        Assert.Null(ReferencePages.TryRun(["--port", "7000"], output));
        Assert.Null(ReferencePages.TryRun([], output));
    }

    private static void AssertCurrent(string page, string text, string option)
    {
        var root = new DirectoryInfo(AppContext.BaseDirectory);
        while (root is not null && !File.Exists(Path.Combine(root.FullName, "RedisClone.sln")))
            root = root.Parent;
        Assert.NotNull(root);

        Assert.True(File.ReadAllText(Path.Combine(root.FullName, "docs", page)) == text,
            $"docs/{page} is not current: dotnet run --project src/RedisClone.Server -- {option} docs/{page}");
    }
}
