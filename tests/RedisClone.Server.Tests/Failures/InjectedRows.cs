using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.Engine.Commands;

namespace RedisClone.Server.Tests.Failures;

/// <summary>
/// The requests with which the tests of failures run the rows of the command table, and the data for these requests.
/// </summary>
internal static class InjectedRows
{
    /// <summary>Commands that wait, that end the server or the connection, or that do not use data.</summary>
    private static readonly HashSet<string> s_left = ["shutdown", "debug", "monitor", "psync", "sync", "save", "bgsave", "bgrewriteaof", "client|kill", "quit"];

    /// <summary>The names of <see cref="ArgumentKind"/> in COMMAND DOCS.</summary>
    private static readonly string[] s_kinds = ["string", "integer", "double", "key", "pattern", "unix-time", "pure-token", "oneof", "block"];

    private static readonly string[] s_types = ["string", "list", "hash", "set", "zset", "stream"];

    /// <summary>Returns requests of a row for a small and a large key of each type.</summary>
    public static IEnumerable<string[]> RequestsOf(CommandRow row, Random random)
    {
        if (row.Handler is null || s_left.Contains(row.FullName)) yield break;
        Template[] templates = [.. Families.LinesOf(row.FullName.ToUpperInvariant()).Take(4)];
        if (row.Keys.Length > 0) templates = [.. templates, .. Enumerable.Repeat(Derive(row), 4 - Math.Min(templates.Length, 3))];
        foreach (string type in s_types)
        {
            var arguments = new Arguments(random, [type, "large:" + type, "none"]) { OnlyKeys = true };
            foreach (Template template in templates)
            {
                string[] request = [.. template.Instance(arguments).Select(a => a.Text)];
                // In Redis too, the result of a lexicographical range over different scores depends on the form of the tree.
                if (!request.Any(static word => word.EndsWith("LEX", StringComparison.OrdinalIgnoreCase))) yield return request;
            }
        }
    }

    private static Template Derive(CommandRow row) =>
        DerivedTemplate.Of(
            row.FullName.ToUpperInvariant(), row.Group, row.Has(CommandFlags.Blocking), [.. CommandSyntax.Parse(row.Syntax).Select(Part)])!;

    private static SyntaxPart Part(CommandArgument argument) => new(
        s_kinds[(int)argument.Kind], argument.Name, argument.Token, argument.IsOptional, argument.IsRepeated, argument.RepeatsToken,
        [.. argument.Parts.Select(Part)]);

    /// <summary>Creates a small and a large value of each type.</summary>
    public static void Prepare(Action<string> run)
    {
        run("SET string 12345");
        run("SET large:string " + new string('x', 5000));
        foreach (string prefix in (string[])["", "large:"])
        {
            int count = prefix.Length == 0 ? 3 : 700;
            run($"RPUSH {prefix}list {Words(count, static i => $"m{i % 20}:{i}")}");
            run($"HSET {prefix}hash {Words(count, static i => $"f{i} {i}")}");
            run($"SADD {prefix}set {Words(count, static i => $"m{i}")}");
            run($"ZADD {prefix}zset {Words(count, static i => $"{i} m{i}")}");
            for (int i = 0; i < count; i++) run($"XADD {prefix}stream {i + 1}-1 f1 v{i}");
            run($"XGROUP CREATE {prefix}stream g1 0");
            run($"XREADGROUP GROUP g1 c1 COUNT 20 STREAMS {prefix}stream >");
            run($"HPEXPIREAT {prefix}hash 4000000000000 FIELDS 2 f0 f1");
        }
    }

    private static string Words(int count, Func<int, string> word) => string.Join(' ', Enumerable.Range(0, count).Select(word));
}
