using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Table;
using RedisClone.Server.Tests.DocumentedExamples;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Random requests compare each command with redis-server if redis-server has this command, with all options that both have.
/// What redis-server lacks needs documented examples.
/// </summary>
public sealed class CoverageTests : IDisposable
{
    private readonly ServerProcess _ours = ServerProcess.Ours();
    private readonly ServerProcess _redis = ServerProcess.Redis();
    private readonly RowTemplates _templates;

    public CoverageTests() => _templates = new RowTemplates(_ours, _redis);

    public void Dispose()
    {
        _ours.Dispose();
        _redis.Dispose();
    }

    [Fact]
    public void EveryRowIsComparedOrItsEntrySaysWhyNot()
    {
        Template[] compared = [.. Families.All.Keys.SelectMany(_templates.Of)];
        string[] without =
        [
            .. _templates.Rows.Where(row => !row.IsContainer && _templates.Others.ContainsKey(row.FullName) && !NotDerived.IsUncompared(row))
                .Select(row => row.FullName.ToUpperInvariant()).Where(name => !compared.Any(t => t.Name == name || t.FullName == name)),
        ];
        Assert.True(without.Length == 0, $"these rows need lines in {nameof(Families)} or an entry in {nameof(NotDerived)}: {string.Join(", ", without)}");
    }

    [Fact]
    public void EveryEntryOfRowsThatAreNotDerivedFitsARow() => Assert.Empty(NotDerived.Unused(_templates.Rows));

    /// <summary>
    /// The templates of a family have alternatives. A run of the usual length generates each command of the family.
    /// </summary>
    [Fact]
    public void EveryTemplateMakesRequests()
    {
        Random random = Seed.Random("coverage");
        foreach (string family in Families.All.Keys)
        {
            Template[] templates = [.. _templates.Of(family)];
            var stream = new CommandStream(templates, random);
            HashSet<string> met = [.. Enumerable.Range(0, 20_000).Select(_ => stream.Next()[0])];
            Assert.Empty(templates.Select(template => template.Name).Distinct().Except(met));
        }
    }

    [Fact]
    public void EveryOptionThatIsNotComparedHasAnExample()
    {
        string folder = Repository.PathOf("tests/RedisClone.Server.Tests/DocumentedExamples");
        string[][] shown = [.. Directory.GetFiles(folder, "*.txt").SelectMany(path => Example.Read(File.ReadAllText(path)))
            .SelectMany(example => example.Steps).Select(step => step.Words)];
        var without = new List<string>();
        foreach (TableRow row in _templates.Rows.Where(row => !NotDerived.IsUncompared(row)))
        {
            HashSet<string> compared = _templates.Others.TryGetValue(row.FullName, out TableRow? other) ? other.SyntaxWords : [];
            string[] lines = [.. Families.LinesOf(row.FullName.ToUpperInvariant()).SelectMany(line => line.Words)];
            string[][] examples = [.. shown.Where(words => words.Take(row.Words.Length).SequenceEqual(row.Words, StringComparer.OrdinalIgnoreCase))];
            without.AddRange(row.SyntaxWords.Except(compared).Except(lines)
                .Where(word => !examples.Any(words => words.Contains(word, StringComparer.OrdinalIgnoreCase))).Select(word => $"{row.FullName} {word}"));
        }
        Assert.True(without.Count == 0, $"these options need an example in {folder}: {string.Join(", ", without)}");
    }
}
