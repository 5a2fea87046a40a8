using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Table;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// A command of the structures' families that redis-server has too is compared with it by random requests: whoever adds one adds its
/// templates. What redis-server does not have yet has a form that the tests of the table use.
/// </summary>
public sealed class CoverageTests
{
    private static readonly string[] s_groups = ["list", "hash", "set", "sorted-set", "geo"];

    [Fact]
    public void Every_command_of_the_structures_is_generated()
    {
        using ServerProcess ours = ServerProcess.Ours(), redis = ServerProcess.Redis();
        HashSet<string> theirs = CommandNames.Of(redis);
        HashSet<string> compared = [.. Families.Compared.SelectMany(family => Families.All[family]).Select(template => template.Name)];
        string[] structures =
        [
            .. TableRow.Read(ours).Where(row => !row.IsContainer && !row.FullName.Contains('|') && IsOfStructures(ours, row.FullName)).Select(row => row.FullName.ToUpperInvariant()),
            "SORT", "SORT_RO", "COPY", "RENAME", "RENAMENX", "MOVE", "OBJECT",
        ];
        Assert.True(structures.Length > 100, "the table tells no groups");
        Assert.DoesNotContain(structures, name => theirs.Contains(name) && !compared.Contains(name));
        Assert.DoesNotContain(structures, name => !theirs.Contains(name) && !Families.Of(name).Any());
    }

    /// <summary>Templates have alternatives: in a run of the usual length each command is met, and answered by more than errors.</summary>
    [Fact]
    public void Every_template_makes_requests()
    {
        Random random = Seed.Random("coverage");
        foreach (string family in Families.Compared)
        {
            var stream = new CommandStream(Families.All[family], random);
            HashSet<string> met = [.. Enumerable.Range(0, 20_000).Select(_ => stream.Next()[0])];
            Assert.Empty(Families.All[family].Select(template => template.Name).Distinct().Except(met));
        }
    }

    private static bool IsOfStructures(ServerProcess server, string name)
    {
        using RespClient client = server.Connect();
        Reply docs = client.Call("COMMAND", "DOCS", name);
        Reply[] about = docs[1].Items!;
        int group = Array.FindIndex(about, item => item.Text == "group");
        return s_groups.Contains(about[group + 1].Text);
    }
}
