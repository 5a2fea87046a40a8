using static RedisClone.EndToEnd.Tests.Differential.TemplateNode;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Derives the <see cref="Template"/> of a command from the syntax in its row. A new command therefore has one. The names of the
/// arguments determine their values. An unknown name means any text, or a number if the syntax says so.
/// </summary>
internal sealed class DerivedTemplate
{
    /// <summary>
    /// The kinds of <see cref="Arguments"/>, each with the names that arguments of this kind have. A name with a prefix is for one
    /// command or one group.
    /// </summary>
    private static readonly Dictionary<string, string> s_kinds = Kinds(
        """
        val           value
        element       element pivot
        member        member member1 member2
        field         field
        pattern       pattern
        number        increment decrement lowerbound upperbound BITFIELD:value
        float         score weight INCRBYFLOAT:increment HINCRBYFLOAT:increment ZINCRBY:increment
        int           rank LREM:count
        count         count limit len min-match-len num-matches
        some          entries-read entries-added frequency
        index         index start stop end sorted-set:offset generic:offset
        offset        offset
        bits          bit SETBIT:value
        type          encoding
        place         BITFIELD:offset BITFIELD_RO:offset
        min           min
        max           max
        lon           longitude
        lat           latitude
        distance      radius width height
        seconds       seconds ttl
        milliseconds  milliseconds
        at            unix-time-seconds
        atms          unix-time-milliseconds
        timeout       timeout
        block         stream:milliseconds WAIT:timeout WAITAOF:timeout
        db            db destination-db index1 index2 SELECT:index
        id            id lastid max-deleted-id
        nextid        last-id
        from          stream:start
        to            stream:end
        group         group
        consumer      consumer
        script        script
        sha1          sha1
        command       command command-name
        """);

    private readonly string _name;
    private readonly string _group;
    private readonly HashSet<string>? _known;

    private DerivedTemplate(string name, string group, HashSet<string>? known)
    {
        _name = name;
        _group = group;
        _known = known;
    }

    /// <summary>Returns the template, or null if another server does not document the words of a choice.</summary>
    /// <param name="fullName">The name in capitals. The name of a subcommand follows a bar.</param>
    /// <param name="group">The group of the row.</param>
    /// <param name="blocks">Whether the command may block. Its template is then exact.</param>
    /// <param name="syntax">The arguments.</param>
    /// <param name="known">The words that another server knows. The template has no others. Null: all words.</param>
    public static Template? Of(string fullName, string group, bool blocks, SyntaxPart[] syntax, HashSet<string>? known = null)
    {
        string[] words = fullName.Split('|');
        var derived = new DerivedTemplate(words[0], group, known);
        if (derived.Sequence(syntax) is not { } arguments) return null;
        return new Template(words[0], words.Length > 1 ? words[1] : null, blocks, TemplateNode.Of(words.Select(w => new Word(w)).Append(arguments)));
    }

    private TemplateNode? Sequence(SyntaxPart[] parts)
    {
        var nodes = new List<TemplateNode>();
        var options = new List<TemplateNode>();
        bool repeated = false;
        for (int i = 0; i < parts.Length; i++)
        {
            SyntaxPart part = parts[i];
            if (part.IsOptional && !IsKnown(part)) continue;
            TemplateNode? node;
            if (part.IsNumberOfOthers && i + 1 < parts.Length && parts[i + 1].IsRepeated)
                node = Once(parts[++i]) is { } counted ? Prefixed(part, new Counted(counted)) : null;
            else
                node = Part(part, repeated);
            if (node is null) return null;
            repeated |= parts[i].IsRepeated;
            if (part.IsOptional)
            {
                options.Add(new Maybe(node));
                continue;
            }
            nodes.AddRange(Drain(options));
            nodes.Add(node);
        }
        nodes.AddRange(Drain(options));
        return TemplateNode.Of(nodes);
    }

    /// <summary>A part as it stands in a sequence, without regard to whether it is optional.</summary>
    private TemplateNode? Part(SyntaxPart part, bool afterRepetition)
    {
        if (Once(part) is not { } node) return null;
        if (!part.IsRepeated) return Prefixed(part, node);
        if (part.RepeatsToken) return new Repeated(Prefixed(part, node));
        return Prefixed(part, afterRepetition ? new RepeatedAsBefore(node) : new Repeated(node));
    }

    /// <summary>One occurrence of a part, without its token.</summary>
    private TemplateNode? Once(SyntaxPart part)
    {
        if (part.IsWord) return new Word(part.Token!);
        if (part.Type == "block") return Sequence(part.Parts);
        if (!part.IsChoice) return new Value(KindOf(part));
        TemplateNode?[] ways = [.. part.Parts.Where(IsKnown).Select(way => Part(way, afterRepetition: false))];
        return ways.Length == 0 || ways.Contains(null) ? null : new Choice(ways!);
    }

    private static TemplateNode Prefixed(SyntaxPart part, TemplateNode node) =>
        part.Token is null || part.IsWord ? node : TemplateNode.Of(new Word(part.Token), node);

    private static IEnumerable<TemplateNode> Drain(List<TemplateNode> options)
    {
        TemplateNode[] all = [.. options];
        options.Clear();
        return all.Length > 1 ? [new Options(all)] : all;
    }

    /// <summary>Whether the other server knows every word without which the part cannot stand.</summary>
    private bool IsKnown(SyntaxPart part)
    {
        if (_known is null) return true;
        if (part.Token is not null && !_known.Contains(part.Token)) return false;
        return part.IsChoice ? part.Parts.Any(IsKnown) : part.Parts.All(p => p.IsOptional || IsKnown(p));
    }

    private string KindOf(SyntaxPart part)
    {
        if (part.Type == "key") return "key";
        foreach (string name in (string[])[$"{_name}:{part.Name}", $"{_group}:{part.Name}", part.Name])
            if (s_kinds.TryGetValue(name, out string? kind)) return kind;
        return part.Type switch { "integer" => "int", "double" => "float", _ => "val" };
    }

    private static Dictionary<string, string> Kinds(string lines) =>
        lines.Split('\n').Select(line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            .SelectMany(words => words.Skip(1), (words, name) => (name, Kind: words[0])).ToDictionary();
}
