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
    bool IsContainer)
{
    /// <summary>The words of a request that name the command.</summary>
    public string[] Words => FullName.ToUpperInvariant().Split('|');

    public int MinCount => Math.Abs(Arity);

    public bool IsRandom => Tips.Any(t => t.StartsWith("nondeterministic", StringComparison.Ordinal));

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
        var rows = new List<TableRow>();
        foreach (Reply row in client.Call("COMMAND").Items!) Add(row, rows);
        return rows;
    }

    /// <summary>
    /// Returns a valid request. It uses a template of the command if there is one, and otherwise the name, keys and ones.
    /// </summary>
    public string[] Request(Arguments arguments)
    {
        Template[] templates = [.. Families.Of(FullName.ToUpperInvariant())];
        if (templates.Length > 0) return [.. templates[arguments.Random.Next(templates.Length)].Instance(arguments).Select(a => a.Text)];
        string[] request = [.. Words, .. Enumerable.Repeat("1", MinCount - Words.Length)];
        foreach (Reply spec in KeySpecs)
        {
            Reply begin = Pairs(spec)["begin_search"];
            if (Pairs(begin)["type"].Text == "index" && Pairs(Pairs(begin)["spec"])["index"].Integer is var at && at < request.Length)
                request[at] = arguments.Key();
        }
        return request;
    }

    private static Dictionary<string, Reply> Pairs(Reply flat) => flat.Items!.Chunk(2).ToDictionary(p => p[0].Text!, p => p[1]);

    private static void Add(Reply row, List<TableRow> into)
    {
        Reply[] subcommands = row[9].Items!;
        into.Add(new TableRow(row[0].Text!, (int)row[1].Integer, Names(row[2]), Names(row[6]), Names(row[7]), row[8].Items!, subcommands.Length > 0));
        foreach (Reply subcommand in subcommands) Add(subcommand, into);
    }

    private static HashSet<string> Names(Reply list) => [.. list.Items!.Select(i => i.Text!)];
}
