using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Table;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Random requests compare each command of the data structures with redis-server if redis-server has this command. A new command
/// therefore needs templates. A command that redis-server lacks needs a form, which the tests of the command table use.
/// </summary>
public sealed class CoverageTests
{
    private static readonly string[] s_groups = ["list", "hash", "set", "sorted-set", "geo"];

    [Fact]
    public void EveryCommandOfTheStructuresIsGenerated()
    {
        using ServerProcess ours = ServerProcess.Ours(), redis = ServerProcess.Redis();
        HashSet<string> theirs = CommandNames.Of(redis);
        HashSet<string> compared = [.. Families.Compared.SelectMany(family => Families.All[family]).Select(template => template.Name)];
        string[] structures =
        [
            .. TableRow.Read(ours).Where(row => !row.IsContainer && !row.FullName.Contains('|') && IsOfStructures(ours, row.FullName)).Select(row => row.FullName.ToUpperInvariant()),
            "SORT", "SORT_RO", "COPY", "RENAME", "RENAMENX", "MOVE", "OBJECT",
        ];
        Assert.True(structures.Length > 100, "the command table has too few commands with a group");
        Assert.DoesNotContain(structures, name => theirs.Contains(name) && !compared.Contains(name));
        Assert.DoesNotContain(structures, name => !theirs.Contains(name) && !Families.Of(name).Any());
    }

    /// <summary>
    /// The templates of a family have alternatives. A run of the usual length generates each command of the family.
    /// </summary>
    [Fact]
    public void EveryTemplateMakesRequests()
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
