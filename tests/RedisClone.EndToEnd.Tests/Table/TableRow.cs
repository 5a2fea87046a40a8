using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Table;

/// <summary>A row of the command table of a running server, as COMMAND reports it.</summary>
internal sealed record TableRow(
    string FullName,
    int Arity,
    HashSet<string> Flags,
    HashSet<string> Categories,
    HashSet<string> Tips,
    Reply[] KeySpecs,
    bool IsContainer,
    string Group,
    SyntaxPart[] Syntax)
{
    /// <summary>The words of a request that name the command.</summary>
    public string[] Words => FullName.ToUpperInvariant().Split('|');

    public int MinCount => Math.Abs(Arity);

    public bool IsRandom => Tips.Any(t => t.StartsWith("nondeterministic", StringComparison.Ordinal));

    /// <summary>Whether the result is random or depends on the clock. A random order alone does not count.</summary>
    public bool HasRandomResult => Tips.Contains("nondeterministic_output");

    /// <summary>The literal words of the arguments.</summary>
    public HashSet<string> SyntaxWords => [.. Syntax.SelectMany(part => part.Words)];

    /// <summary>
    /// Whether the command accepts keys of every type: it is a command of the keyspace, or it overwrites its keys.
    /// </summary>
    public bool ReplacesAnyType => Categories.Contains("@keyspace") || KeyFlags.All(f => f.Contains("OW"));

    public bool HasKeys => KeyFlags.Any();

    private IEnumerable<HashSet<string>> KeyFlags => KeySpecs
        .Select(spec => Pairs(spec)["flags"].Items!.Select(f => f.Text!).ToHashSet()).Where(f => !f.Contains("not_key"));

    public static List<TableRow> Read(ServerProcess server)
    {
        using RespClient client = server.Connect();
        Dictionary<string, Reply> docs = Pairs(client.Call("COMMAND", "DOCS"));
        var rows = new List<TableRow>();
        foreach (Reply row in client.Call("COMMAND").Items!) Add(row, docs[row[0].Text!], rows);
        return rows;
    }

    /// <summary>
    /// Derives the template of the row. It has only the options that the row of another server knows too, if there is one.
    /// Returns null if such a template cannot be derived.
    /// </summary>
    public Template? Derive(TableRow? other = null) =>
        DerivedTemplate.Of(FullName.ToUpperInvariant(), Group, Flags.Contains("blocking"), Syntax, other?.SyntaxWords);

    /// <summary>Returns a valid request, of a line of <see cref="Families"/> or of the derived template.</summary>
    public string[] Request(Arguments arguments, TableRow? other = null)
    {
        Template[] templates = [.. Families.LinesOf(FullName.ToUpperInvariant())];
        if (templates.Length == 0) templates = [Derive(other) ?? Derive()!];
        else if (!NotDerived.HasLinesOnly(this) && Derive(other) is { } derived) templates = [.. templates, derived];
        return [.. templates[arguments.Random.Next(templates.Length)].Instance(arguments).Select(a => a.Text)];
    }

    private static Dictionary<string, Reply> Pairs(Reply flat) => flat.Items!.Chunk(2).ToDictionary(p => p[0].Text!, p => p[1]);

    private static void Add(Reply row, Reply docs, List<TableRow> into)
    {
        Reply[] subcommands = row[9].Items!;
        Dictionary<string, Reply> about = Pairs(docs);
        SyntaxPart[] syntax = about.TryGetValue("arguments", out Reply? arguments) ? [.. arguments.Items!.Select(Part)] : [];
        into.Add(new TableRow(
            row[0].Text!, (int)row[1].Integer, Names(row[2]), Names(row[6]), Names(row[7]), row[8].Items!, subcommands.Length > 0,
            about["group"].Text!, syntax));
        if (subcommands.Length == 0) return;
        Dictionary<string, Reply> further = Pairs(about["subcommands"]);
        foreach (Reply subcommand in subcommands) Add(subcommand, further[subcommand[0].Text!], into);
    }

    private static SyntaxPart Part(Reply argument)
    {
        Dictionary<string, Reply> about = Pairs(argument);
        HashSet<string> flags = about.TryGetValue("flags", out Reply? names) ? Names(names) : [];
        string name = about.TryGetValue("display_text", out Reply? shown) ? shown.Text! : about["name"].Text!;
        SyntaxPart[] parts = about.TryGetValue("arguments", out Reply? inner) ? [.. inner.Items!.Select(Part)] : [];
        return new SyntaxPart(
            about["type"].Text!, name, about.TryGetValue("token", out Reply? token) ? token.Text : null, flags.Contains("optional"), flags.Contains("multiple"),
            flags.Contains("multiple_token"), parts);
    }

    private static HashSet<string> Names(Reply list) => [.. list.Items!.Select(i => i.Text!)];
}
