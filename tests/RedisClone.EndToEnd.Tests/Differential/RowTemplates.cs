using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Table;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// The templates of all commands that two servers have: those that are derived from the rows of our server, without the options
/// that the other server lacks, and the lines of <see cref="Families"/>.
/// </summary>
internal sealed class RowTemplates
{
    private readonly HashSet<string> _names, _otherNames;
    private readonly ILookup<string, Template> _byGroup;

    public RowTemplates(ServerProcess ours, ServerProcess redis)
    {
        Rows = TableRow.Read(ours);
        Others = TableRow.Read(redis).ToDictionary(row => row.FullName);
        _names = [.. Rows.Select(row => row.FullName.ToUpperInvariant())];
        _otherNames = [.. Others.Keys.Select(name => name.ToUpperInvariant())];
        _byGroup = Rows.Where(IsDerived).Select(row => (row.Group, Template: row.Derive(Others[row.FullName])))
            .Where(d => d.Template is not null).ToLookup(d => d.Group, d => d.Template!);
    }

    /// <summary>The rows of our server.</summary>
    public List<TableRow> Rows { get; }

    /// <summary>The rows of the other server by name.</summary>
    public Dictionary<string, TableRow> Others { get; }

    public IEnumerable<Template> Independent => Families.Independent.SelectMany(Of);

    /// <summary>The templates of all commands with keys, and all lines, whether or not random requests compare them.</summary>
    public IEnumerable<Template> WithKeys => Families.Lines.Where(IsCommon)
        .Concat(Rows.Where(row => row.HasKeys && Others.ContainsKey(row.FullName)).Select(row => row.Derive(Others[row.FullName])).OfType<Template>());

    public IEnumerable<Template> Of(string family) => Of(Families.All[family]);

    private IEnumerable<Template> Of(Family family) => family.Templates.Where(IsCommon).Concat(family.Groups.SelectMany(group => _byGroup[group]));

    /// <summary>Whether both servers have the command of a line. Neither has NOSUCHCOMMAND.</summary>
    private bool IsCommon(Template line) => line.Name == "NOSUCHCOMMAND" || (line.IsIn(_names) && line.IsIn(_otherNames));

    private bool IsDerived(TableRow row) =>
        !row.IsContainer && Others.ContainsKey(row.FullName) && !NotDerived.HasLinesOnly(row) && !NotDerived.IsUncompared(row);
}
