using RedisClone.Engine.Commands;
using RedisClone.Protocol;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// The keys that a row reports for a request are the keys that its handler uses, so the permission checks cover the actual
/// access. The test generates requests for every row. A key that the row does not report is not changed, a key that it reports as
/// read-only is not changed, and the contents of the other keys do not affect the result.
/// </summary>
public sealed class KeySpecificationTests(ITestOutputHelper output)
{
    private const int RequestsOfRow = 8, RequestsOfRowWithOptions = 40, RequestsOfRowWithParse = 250;

    /// <summary>Each key has a value, and most have the names of options.</summary>
    private static readonly string[] s_keys =
        ["STORE", "STOREDIST", "STREAMS", "BY", "GET", "COUNT", "LIMIT", "ALPHA", "GROUP", "KEYS", "a1", "a2", "a3"];

    private static readonly string[] s_values =
        ["1", "2", "3", "0", "m", "f1", "g", "c", "0-1", "1-1", ">", "$", "*", "-", "+", "AND", "u8", "[a", "(1", "5"];

    /// <summary>The replies of these commands are random or depend on the memory of a shard.</summary>
    private static readonly HashSet<string> s_chance = ["srandmember", "hrandfield", "zrandmember", "spop", "memory|usage"];

    // With save points each FLUSHALL would write a file.
    private readonly CommandHost _host = new(config => config.SavePoints = []);

    [Fact]
    public void RowsWithAMemberAfterTheirKeyFetchItAhead()
    {
        foreach (CommandRow row in _host.Core.Commands.All.Where(row => row.FirstKey == 1))
        {
            string[] words = row.Syntax.Split(' ');
            bool isMember = words is [_, "member" or "field" or "member1", ..];
            Assert.True(!isMember || row.FirstMember == 2, row.FullName);
            Assert.True(row.FirstMember == 0 || row.FirstMember > row.FirstKey, row.FullName);
        }
    }

    [Fact]
    public void TheHandlerUsesTheKeysThatTheRowReports()
    {
        var random = Seed.Random(output);
        var generator = new RequestGenerator(random, s_keys, s_values);
        var findings = new List<string>();
        int changed = 0;
        foreach (CommandRow row in _host.Core.Commands.All.Where(IsComparable))
        {
            int count = row.Syntax.Contains('[') ? RequestsOfRowWithOptions : RequestsOfRow;
            if (row.FindKeys is not null) count = RequestsOfRowWithParse;
            for (; count > 0; count--)
            {
                string[] request = generator.Request(row);
                if (!row.ArityFits(request.Length)) continue;
                if (Compare(row, request, random, ref changed) is { } finding)
                    findings.Add($"{string.Join(' ', request)}: {finding}");
            }
        }
        Assert.True(findings.Count == 0, string.Join('\n', findings.Take(60)));
        Assert.True(changed > 200, $"only {changed} requests changed anything");
    }

    [Fact]
    public void EveryRowWithAKeyInItsSyntaxReportsTheKey()
    {
        IEnumerable<CommandRow> without = _host.Core.Commands.All
            .Where(row => row.Keys.Length == 0 && HasKey(CommandSyntax.Parse(row.Syntax)));
        // CLUSTER KEYSLOT uses only the name of the key.
        Assert.DoesNotContain(
            without, row => row.Parent?.Name != "debug" && row.FullName is not ("migrate" or "cluster|keyslot"));
    }

    private static bool IsComparable(CommandRow row) =>
        row.Handler is not null && row.Group != "scripting" && row.Keys.Any(key => (key.Flags & KeyFlags.NotKey) == 0);

    private static bool HasKey(CommandArgument[] parts) => parts.Any(part => part.Kind == ArgumentKind.Key || HasKey(part.Parts));

    private string? Compare(CommandRow row, string[] request, Random random, ref int changes)
    {
        Dictionary<string, KeyFlags> named = Named(row, request);
        int kinds = random.Next();
        Fill(kinds, []);
        string[] before = Digests();
        string reply = _host.Call(request);
        string[] after = Digests();
        for (int i = 0; i < s_keys.Length; i++)
        {
            if (before[i] == after[i]) continue;
            changes++;
            if (!named.TryGetValue(s_keys[i], out KeyFlags flags)) return $"changes {s_keys[i]}, which is none of its keys";
            // Redis also reports XREADGROUP as read-only.
            if (row.Name != "xreadgroup" && (flags & (KeyFlags.Update | KeyFlags.Insert | KeyFlags.Delete)) == 0)
                return $"changes {s_keys[i]}, which it says that it reads";
        }
        // No rule can match the names that a pattern of SORT produces. The user must therefore have permission to read all keys.
        bool looksUp = row.Name.StartsWith("sort", StringComparison.Ordinal) && request.Any(word => word.Contains('*'));
        if (looksUp || s_chance.Contains(row.FullName)) return null;
        Fill(kinds, named.Keys);
        string again = _host.Call(request);
        if (again != reply) return $"answers {reply}, and {again} when other keys hold something else";
        string[] afterAgain = Digests();
        for (int i = 0; i < s_keys.Length; i++)
            if (named.ContainsKey(s_keys[i]) && afterAgain[i] != after[i])
                return $"leaves {s_keys[i]} differently when other keys hold something else";
        return null;
    }

    private Dictionary<string, KeyFlags> Named(CommandRow row, string[] words)
    {
        Request request = new CommandHost.Prepared(words).Request;
        var named = new Dictionary<string, KeyFlags>();
        var positions = new KeyPositions(stackalloc int[128]);
        if (row.CollectKeys(request, ref positions))
            for (int i = 0; i < positions.Count; i++)
            {
                string key = words[positions[i]];
                named[key] = named.GetValueOrDefault(key) | row.FlagsOfKey(request, positions[i], positions.FlagsOf(i));
            }
        positions.Dispose();
        return named;
    }

    /// <summary>
    /// Gives every key a value of a type that the number determines. If the list of kept keys is not empty, the other keys get a
    /// value of another type.
    /// </summary>
    private void Fill(int kinds, ICollection<string> kept)
    {
        _host.Run("FLUSHALL");
        foreach (string key in s_keys)
        {
            kinds = (int)((uint)kinds * 1664525 + 1013904223);
            int kind = (kinds >> 16 & 0xFFFF) % 8;
            if (kept.Count > 0 && !kept.Contains(key)) kind = (kind + 3) % 8;
            switch (kind)
            {
                case 0: _host.Run($"SET {key} 12"); break;
                case 1: _host.Run($"RPUSH {key} 3 1 2"); break;
                case 2: _host.Run($"SADD {key} 1 2 m"); break;
                case 3: _host.Run($"ZADD {key} 1 1 2 2 3 m"); break;
                case 4: _host.Run($"HSET {key} f1 1 m 2"); break;
                case 5: _host.Run($"GEOADD {key} 0 0 1 0.00001 0 m 1 1 2"); break;
                case 6:
                    _host.Run($"XADD {key} 1-1 f v");
                    _host.Run($"XGROUP CREATE {key} g 0");
                    break;
                default: break;
            }
        }
    }

    private string[] Digests() =>
        [.. s_keys.Select(key => _host.Run($"DEBUG DIGEST-VALUE {key}") + _host.Run($"PEXPIRETIME {key}"))];
}
