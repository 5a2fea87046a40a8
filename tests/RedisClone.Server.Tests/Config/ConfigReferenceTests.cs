using RedisClone.Server.Admin;

namespace RedisClone.Server.Tests.Config;

public class ConfigReferenceTests
{
    [Fact]
    public void The_committed_reference_is_the_one_that_the_table_gives()
    {
        var root = new DirectoryInfo(AppContext.BaseDirectory);
        while (root is not null && !File.Exists(Path.Combine(root.FullName, "RedisClone.sln")))
            root = root.Parent;
        Assert.NotNull(root);

        var committed = File.ReadAllText(Path.Combine(root.FullName, "docs", "configuration.md"));
        Assert.True(committed == ConfigReference.ToMarkdown(),
            "docs/configuration.md is not current: dotnet run --project src/RedisClone.Server -- --write-config-reference > docs/configuration.md");
    }
}
