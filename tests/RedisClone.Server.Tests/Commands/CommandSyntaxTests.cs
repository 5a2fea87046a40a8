using RedisClone.Engine.Commands;

namespace RedisClone.Server.Tests.Commands;

/// <summary>The usage of each command, as its row defines it and as COMMAND DOCS parses it.</summary>
public sealed class CommandSyntaxTests
{
    /// <summary>Commands that accept more or fewer arguments than their usage shows, as in Redis.</summary>
    private static readonly HashSet<string> s_arityIsLoose = ["quit", "command", "hotkeys|start"];

    private static readonly CommandTable s_table = new(CommandFamilies.All);

    [Fact]
    public void UsageAndArityOfEveryRowAgree()
    {
        var findings = new List<string>();
        foreach (CommandRow row in s_table.All)
        {
            if (row.Handler is null || s_arityIsLoose.Contains(row.FullName)) continue;
            CommandArgument[] arguments = CommandSyntax.Parse(row.Syntax);
            int words = arguments.Sum(a => a.MinWords) + (row.Parent is null ? 1 : 2);
            int arity = arguments.All(a => a.IsExact) ? words : -words;
            if (arity != row.Arity) findings.Add($"{row.FullName} {row.Syntax}: {arity}, not {row.Arity}");
        }
        Assert.True(findings.Count == 0, string.Join('\n', findings));
    }

    [Fact]
    public void EveryKeyInAUsageHasItsSpecification()
    {
        var findings = new List<string>();
        foreach (CommandRow row in s_table.All)
        {
            if (row.FullName == "cluster|keyslot") continue;
            bool named = All(CommandSyntax.Parse(row.Syntax)).Any(a => a.Kind == ArgumentKind.Key);
            bool specified = row.Keys.Any(k => (k.Flags & KeyFlags.NotKey) == 0);
            if (named != specified) findings.Add($"{row.FullName} {row.Syntax}");
        }
        Assert.True(findings.Count == 0, string.Join('\n', findings));
    }

    [Theory]
    [InlineData("key", "key:Key")]
    [InlineData("key [key ...]", "key:Key+")]
    [InlineData("[key [key ...]]", "key:Key?+")]
    [InlineData("key value [key value ...]", "(key:Key value:Text)+")]
    [InlineData("[NX | XX] [GET]", "(NX|XX)? GET?")]
    [InlineData("<LEFT | RIGHT>", "(LEFT|RIGHT)")]
    [InlineData("[EX seconds | KEEPTTL]", "(EX=seconds:Integer|KEEPTTL)?")]
    [InlineData("[COUNT count [ANY]]", "COUNT=(count:Integer ANY?)?")]
    [InlineData("[GET pattern [GET pattern ...]]", "GET=pattern:Pattern?+=")]
    [InlineData("[GET encoding offset [GET encoding offset ...]]", "GET=(encoding:Text offset:Integer)?+=")]
    [InlineData("FIELDS numfields field value [field value ...]", "FIELDS=numfields:Integer (field:Text value:Text)+")]
    [InlineData("WEIGHTS weight [weight ...]", "WEIGHTS=weight:Double+")]
    [InlineData("STREAMS key [key ...] id [id ...]", "STREAMS=key:Key+ id:Text+")]
    [InlineData("key <A x | B ...>", "key:Key (A=x:Text|B)+")]
    [InlineData("[<MAXLEN | MINID> [= | ~] threshold] <* | id>", "((MAXLEN|MINID) (=|~)? threshold:Text)? (*|id:Text)")]
    [InlineData("<host port | NO ONE>", "((host:Text port:Integer)|(NO ONE))")]
    public void AUsageIsParsed(string usage, string expected) =>
        Assert.Equal(expected, string.Join(' ', CommandSyntax.Parse(usage).Select(Show)));

    [Theory]
    [InlineData("key [value")]
    [InlineData("key value]")]
    [InlineData("<A | >")]
    [InlineData("key ...")]
    public void AMalformedUsageIsRefused(string usage) => Assert.Throws<FormatException>(() => CommandSyntax.Parse(usage));

    private static IEnumerable<CommandArgument> All(CommandArgument[] arguments) => arguments.SelectMany(a => All(a.Parts).Prepend(a));

    private static string Show(CommandArgument a)
    {
        string text = a.Kind switch
        {
            ArgumentKind.Word => a.Token!,
            ArgumentKind.Choice => $"({string.Join('|', a.Parts.Select(Show))})",
            ArgumentKind.Block => $"({string.Join(' ', a.Parts.Select(Show))})",
            _ => $"{a.Name}:{a.Kind}",
        };
        if (a.Token is not null && a.Kind != ArgumentKind.Word) text = a.Token + "=" + text;
        return text + (a.IsOptional ? "?" : "") + (a.IsRepeated ? "+" : "") + (a.RepeatsToken ? "=" : "");
    }
}
