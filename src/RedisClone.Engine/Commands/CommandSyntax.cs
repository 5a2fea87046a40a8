using System.Text.RegularExpressions;

namespace RedisClone.Engine.Commands;

/// <summary>
/// Parses the arguments of a command in the notation of manuals and of redis-cli's hints. Words in capitals are literal; names
/// stand for values. [x] is optional. &lt;x | y&gt; and [x | y] are choices. x [x ...] and &lt;x ...&gt; occur once or more. A
/// word directly before a value is its token.
/// </summary>
internal sealed partial class CommandSyntax
{
    private const string Ellipsis = "...";

    private static readonly Dictionary<string, ArgumentKind> s_kinds = Kinds(
        (ArgumentKind.Key, "key newkey key1 key2 source destination src dst destkey sourcekey"),
        (ArgumentKind.Pattern, "pattern"),
        (ArgumentKind.UnixTime, "unix-time-seconds unix-time-milliseconds"),
        (ArgumentKind.Double, "longitude latitude radius width height score weight"),
        (ArgumentKind.Integer,
            "bit bits client-id count cursor db decrement destination-db end-slot entries-added entries-read frequency index " +
            "index1 index2 len limit maxage maxlen milliseconds min-match-len ms num-matches numfields numids numkeys numlocal " +
            "numreplicas offset port protover rank seconds slot start-slot ttl version"));

    private readonly string[] _tokens;
    private int _next;

    private CommandSyntax(string text) => _tokens = [.. Tokens().Matches(text).Select(match => match.Value)];

    private string Peek => _next < _tokens.Length ? _tokens[_next] : "";

    /// <exception cref="FormatException">The text is malformed, which is a mistake in the table.</exception>
    public static CommandArgument[] Parse(string text)
    {
        var reader = new CommandSyntax(text);
        List<CommandArgument> arguments = reader.Sequence();
        if (reader.Peek.Length > 0) throw new FormatException($"'{reader.Peek}' is not expected in '{text}'");
        return [.. arguments];
    }

    private List<CommandArgument> Sequence()
    {
        var items = new List<CommandArgument>();
        string? word = null;            // until the next token shows whether the word stands alone
        while (Peek is not ("" or "]" or ">" or "|" or Ellipsis))
        {
            bool isWord = IsWord(Peek);
            if (word is not null && (isWord || Peek == "["))
            {
                items.Add(Word(word));
                word = null;
            }
            if (isWord)
            {
                word = _tokens[_next++];
            }
            else if (Peek == "[")
            {
                Bracket(items);
            }
            else
            {
                items.Add((Peek == "<" ? Choice() : Value(_tokens[_next++])) with { Token = word });
                word = null;
            }
        }
        if (word is not null) items.Add(Word(word));
        return items;
    }

    private CommandArgument Choice()
    {
        _next++;
        CommandArgument group = Alternatives();
        bool repeats = TryTake(Ellipsis);
        Expect(">");
        return group with { IsRepeated = group.IsRepeated || repeats };
    }

    /// <summary>Parses brackets: an optional argument, or a repetition of the arguments before them.</summary>
    private void Bracket(List<CommandArgument> items)
    {
        int open = _next++;
        CommandArgument group = Alternatives();
        ReadOnlySpan<string> inner = _tokens.AsSpan(open + 1, _next - open - 1);
        bool repeats = TryTake(Ellipsis);
        Expect("]");
        if (!repeats || !_tokens.AsSpan(0, open).EndsWith(inner))
        {
            items.Add(group with { IsOptional = true, IsRepeated = group.IsRepeated || repeats });
            return;
        }
        int count = group.Kind == ArgumentKind.Block ? group.Parts.Length : 1;
        CommandArgument once = AsOne(items[^count..]);
        items.RemoveRange(items.Count - count, count);
        items.Add(once with { IsRepeated = true, RepeatsToken = group.Token is not null });
    }

    private CommandArgument Alternatives()
    {
        var choices = new List<CommandArgument>();
        do choices.Add(AsOne(Sequence()));
        while (TryTake("|"));
        return choices is [var only] ? only : new CommandArgument(ArgumentKind.Choice, choices[0].GroupName) { Parts = [.. choices] };
    }

    private bool TryTake(string token)
    {
        if (Peek != token) return false;
        _next++;
        return true;
    }

    private void Expect(string token)
    {
        if (!TryTake(token)) throw new FormatException($"'{token}' is missing in '{string.Join(' ', _tokens)}'");
    }

    /// <summary>
    /// The token of a block's first value becomes the token of the block, because it stands before the whole block.
    /// </summary>
    private static CommandArgument AsOne(List<CommandArgument> items) => items switch
    {
        [] => throw new FormatException("there is an empty group"),
        [var only] => only,
        [{ Token: { } token, Kind: not ArgumentKind.Word, IsOptional: false } first, .. var rest] =>
            new CommandArgument(ArgumentKind.Block, first.GroupName) { Token = token, Parts = [first with { Token = null }, .. rest] },
        _ => new CommandArgument(ArgumentKind.Block, items[0].GroupName) { Parts = [.. items] },
    };

    private static CommandArgument Word(string word) => new(ArgumentKind.Word, word.ToLowerInvariant()) { Token = word };

    private static CommandArgument Value(string name) => new(s_kinds.GetValueOrDefault(name, ArgumentKind.Text), name);

    private static bool IsWord(string token) => token is not ("[" or "<") && !token.Any(char.IsAsciiLetterLower);

    private static Dictionary<string, ArgumentKind> Kinds(params (ArgumentKind Kind, string Names)[] kinds) =>
        kinds.SelectMany(kind => kind.Names.Split(' '), (kind, name) => (name, kind.Kind)).ToDictionary();

    [GeneratedRegex(@"\.\.\.|[][<>|]|[^\s\][<>|]+")]
    private static partial Regex Tokens();
}
