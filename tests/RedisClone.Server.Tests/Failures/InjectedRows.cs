using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.Engine.Commands;

namespace RedisClone.Server.Tests.Failures;

/// <summary>The requests with which the tests of failures run the rows of the command table, and the data that these find.</summary>
internal static class InjectedRows
{
    /// <summary>They wait, end the server or the connection, or are not about data.</summary>
    private static readonly HashSet<string> s_left = ["shutdown", "debug", "monitor", "psync", "sync", "save", "bgsave", "bgrewriteaof", "client|kill", "quit"];

    private static readonly string[] s_types = ["string", "list", "hash", "set", "zset", "stream"];

    /// <summary>Requests of a row for keys of each type, a small and a large one.</summary>
    public static IEnumerable<string[]> RequestsOf(CommandRow row, Random random)
    {
        if (row.Handler is null || s_left.Contains(row.FullName)) yield break;
        Template[] templates = [.. Families.Of(row.FullName.ToUpperInvariant())];
        foreach (string type in s_types)
        {
            var arguments = new Arguments(random, [type, "large:" + type, "none"]) { OnlyKeys = true };
            foreach (Template template in templates.Take(4))
            {
                string[] request = [.. template.Instance(arguments).Select(a => a.Text)];
                // With members of several scores, what a range of names is depends on the form of the tree, in Redis too.
                if (!request.Any(static word => word.EndsWith("LEX", StringComparison.OrdinalIgnoreCase))) yield return request;
            }
        }
    }

    /// <summary>Makes a small and a large value of each type.</summary>
    public static void Prepare(Action<string> run)
    {
        run("SET string 12345");
        run("SET large:string " + new string('x', 5000));
        foreach (string prefix in (string[])["", "large:"])
        {
            int count = prefix.Length == 0 ? 3 : 700;
            for (int i = 0; i < count; i++)
            {
                run($"RPUSH {prefix}list m{i % 20}:{i}");
                run($"HSET {prefix}hash f{i} {i}");
                run($"SADD {prefix}set m{i}");
                run($"ZADD {prefix}zset {i} m{i}");
                run($"XADD {prefix}stream {i + 1}-1 f1 v{i}");
            }
            run($"XGROUP CREATE {prefix}stream g1 0");
            run($"XREADGROUP GROUP g1 c1 COUNT 20 STREAMS {prefix}stream >");
            run($"HPEXPIREAT {prefix}hash 4000000000000 FIELDS 2 f0 f1");
        }
    }
}
