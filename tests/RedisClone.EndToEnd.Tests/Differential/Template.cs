namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// The form of a request, from which the tests generate random requests. <see cref="DerivedTemplate"/> makes it from the row of a
/// command, or a line defines it:
/// <code>
/// word       itself
/// {kind}     an argument of a kind, see <see cref="Arguments"/>
/// [ x ]      x or nothing
/// ( x | y )  one of them
/// x +        x one to four times
/// !          in front: never malformed, because a wrong value would block, run forever or give a random result
/// </code>
/// Blanks separate all parts.
/// </summary>
internal sealed class Template
{
    private readonly TemplateNode _root;

    public Template(string name, string? subcommand, bool isExact, TemplateNode root)
    {
        Name = name;
        Subcommand = subcommand;
        IsExact = isExact;
        _root = root;
    }

    private Template(string line)
    {
        string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        IsExact = words[0] == "!";
        int at = IsExact ? 1 : 0;
        Name = words[at];
        Subcommand = at + 1 < words.Length && char.IsAsciiLetterUpper(words[at + 1][0]) ? words[at + 1] : null;
        _root = ParseAlternatives(words, ref at);
        if (at != words.Length) throw new FormatException($"{line}: unexpected {words[at]}");
    }

    public string Name { get; }

    /// <summary>The second word if the command is a container: the subcommand.</summary>
    public string? Subcommand { get; }

    /// <summary>The name of the command in capitals. The name of a subcommand follows a bar.</summary>
    public string FullName => Subcommand is null ? Name : $"{Name}|{Subcommand}";

    public bool IsExact { get; }

    /// <summary>The literal words that a request may have.</summary>
    public IEnumerable<string> Words => _root.Words;

    public static Template[] Parse(string lines) =>
        [.. lines.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries).Select(l => new Template(l))];

    /// <summary>Returns whether a server with these commands has this command.</summary>
    public bool IsIn(HashSet<string> commands) =>
        commands.Contains(Name)
        && (Subcommand is null || !commands.Any(c => c.StartsWith(Name + "|", StringComparison.Ordinal)) || commands.Contains($"{Name}|{Subcommand}"));

    public List<Argument> Instance(Arguments arguments)
    {
        var into = new List<Argument>();
        _root.Emit(arguments, into);
        return into;
    }

    private static TemplateNode ParseAlternatives(string[] words, ref int at)
    {
        var ways = new List<TemplateNode> { ParseSequence(words, ref at) };
        while (at < words.Length && words[at] == "|")
        {
            at++;
            ways.Add(ParseSequence(words, ref at));
        }
        return ways.Count == 1 ? ways[0] : new TemplateNode.Choice([.. ways]);
    }

    private static TemplateNode ParseSequence(string[] words, ref int at)
    {
        var parts = new List<TemplateNode>();
        while (at < words.Length && words[at] is not ("|" or ")" or "]"))
        {
            string word = words[at++];
            TemplateNode part;
            if (word is "(" or "[")
            {
                part = ParseAlternatives(words, ref at);
                if (at == words.Length || words[at] != (word == "(" ? ")" : "]"))
                    throw new FormatException($"{string.Join(' ', words)}: {word} is not closed");
                at++;
                if (word == "[") part = new TemplateNode.Maybe(part);
            }
            else
            {
                part = word[0] == '{' ? new TemplateNode.Value(word[1..^1]) : new TemplateNode.Word(word);
            }
            if (at < words.Length && words[at] == "+")
            {
                at++;
                part = new TemplateNode.Repeated(part);
            }
            parts.Add(part);
        }
        return TemplateNode.Of(parts);
    }
}
