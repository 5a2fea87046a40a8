namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// The forms of a command in one line, from which the tests generate random requests:
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
    private readonly Node _root;

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

    public bool IsExact { get; }

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

    private static Node ParseAlternatives(string[] words, ref int at)
    {
        var ways = new List<Node> { ParseSequence(words, ref at) };
        while (at < words.Length && words[at] == "|")
        {
            at++;
            ways.Add(ParseSequence(words, ref at));
        }
        return ways.Count == 1 ? ways[0] : new Choice([.. ways]);
    }

    private static Node ParseSequence(string[] words, ref int at)
    {
        var parts = new List<Node>();
        while (at < words.Length && words[at] is not ("|" or ")" or "]"))
        {
            string word = words[at++];
            Node part;
            if (word is "(" or "[")
            {
                part = ParseAlternatives(words, ref at);
                if (at == words.Length || words[at] != (word == "(" ? ")" : "]"))
                    throw new FormatException($"{string.Join(' ', words)}: {word} is not closed");
                at++;
                if (word == "[") part = new Maybe(part);
            }
            else
            {
                part = word[0] == '{' ? new Value(word[1..^1]) : new Word(word);
            }
            if (at < words.Length && words[at] == "+")
            {
                at++;
                part = new Repeated(part);
            }
            parts.Add(part);
        }
        return new Sequence([.. parts]);
    }

    private abstract record Node
    {
        public abstract void Emit(Arguments arguments, List<Argument> into);
    }

    private sealed record Word(string Text) : Node
    {
        public override void Emit(Arguments arguments, List<Argument> into) => into.Add(new Argument("word", Text));
    }

    private sealed record Value(string Kind) : Node
    {
        public override void Emit(Arguments arguments, List<Argument> into) => arguments.Make(Kind, into);
    }

    private sealed record Sequence(Node[] Parts) : Node
    {
        public override void Emit(Arguments arguments, List<Argument> into)
        {
            foreach (Node part in Parts) part.Emit(arguments, into);
        }
    }

    private sealed record Choice(Node[] Ways) : Node
    {
        public override void Emit(Arguments arguments, List<Argument> into) => Ways[arguments.Random.Next(Ways.Length)].Emit(arguments, into);
    }

    private sealed record Maybe(Node Part) : Node
    {
        public override void Emit(Arguments arguments, List<Argument> into)
        {
            if (arguments.Random.Next(2) == 0) Part.Emit(arguments, into);
        }
    }

    private sealed record Repeated(Node Part) : Node
    {
        public override void Emit(Arguments arguments, List<Argument> into)
        {
            for (int n = 1 + arguments.Random.Next(4); n > 0; n--) Part.Emit(arguments, into);
        }
    }
}
