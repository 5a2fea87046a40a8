using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Table;

/// <summary>
/// Requirements for every row of the command table, independent of the command. The rows come from the running server.
/// </summary>
public sealed class CommandTableTests : IDisposable
{
    /// <summary>
    /// Commands that end the connection or the server, change the behaviour of later commands, wait for other clients, or take
    /// long on purpose.
    /// </summary>
    private static readonly HashSet<string> s_notAlone =
    [
        "quit", "reset", "hello", "auth", "monitor", "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe", "shutdown",
        "sync", "psync", "replconf", "replicaof", "slaveof", "migrate", "failover", "client|reply", "client|kill", "client|pause", "client|no-evict", "debug",
        "pfselftest", "pfdebug", "multi", "acl|setuser", "save", "bgsave", "bgrewriteaof", "restore-asking", "asking",
        "config|set", "script|debug", "acl|genpass",
        "himport|prepare", "himport|discard", "himport|discardall", "himport|set", "backup|start", "backup|seal",
        "backup|abort", "backup|cleanup", "backup|status", "backup|list",
    ];

    private readonly ServerProcess _ours = ServerProcess.Ours("--io-loops", "1");
    private readonly List<TableRow> _rows;

    public CommandTableTests() => _rows = TableRow.Read(_ours);

    public void Dispose() => _ours.Dispose();

    [Fact]
    public void EveryRowRefusesAWrongNumberOfArguments()
    {
        var findings = new List<string>();
        using RespClient client = _ours.Connect();
        foreach (TableRow row in _rows)
        {
            var counts = Enumerable.Range(row.Words.Length, Math.Max(0, row.MinCount - row.Words.Length)).ToList();
            if (row.Arity > 0) counts.AddRange([row.Arity + 1, row.Arity + 20]);
            foreach (int count in counts)
            {
                string[] request = [.. row.Words, .. Enumerable.Repeat("1", count - row.Words.Length)];
                string name = row.IsContainer && request.Length > 1 ? row.FullName + "|1" : row.FullName;
                string reply = client.Call(request).ToString();
                // An error of EXEC is always an EXECABORT that quotes the cause.
                if (reply[0] != '-' || !reply.EndsWith($"wrong number of arguments for '{name}' command", StringComparison.Ordinal))
                    findings.Add($"{Requests.Show(request)}: {reply}");
            }
        }
        Assert.True(findings.Count == 0, string.Join('\n', findings));
        _ours.AssertWell();
    }

    [Fact]
    public void EveryRowWithKeysMatchesRedisForKeysOfEveryType()
    {
        using ServerProcess redis = ServerProcess.Redis();
        Dictionary<string, TableRow> theirRows = TableRow.Read(redis).ToDictionary(row => row.FullName);
        using RespClient ours = _ours.Connect(), theirs = redis.Connect();
        var comparison = new Comparison(_rows);
        Random random = Seed.Random("types");
        var findings = new List<string>();
        foreach (TableRow row in _rows.Where(r => r.HasKeys && !s_notAlone.Contains(r.FullName)))
        {
            bool known = theirRows.TryGetValue(row.FullName, out TableRow? theirRow);
            bool refused = false;
            foreach (string type in Arguments.OtherKeys)
            {
                var arguments = new Arguments(random, [type]) { OnlyKeys = true };
                for (int i = 0; i < 3; i++)
                {
                    string[] request = row.Request(arguments, theirRow);
                    Reply reply = Run(ours, request);
                    refused |= reply.ToString().StartsWith("-WRONGTYPE", StringComparison.Ordinal);
                    if (reply.ToString().Contains("internal error", StringComparison.OrdinalIgnoreCase)) findings.Add($"{Requests.Show(request)}: {reply}");
                    if (!known || row.IsRandom) continue;
                    Reply expected = Run(theirs, request);
                    if (!comparison.Same(request, reply, expected, new KeyHistory()))
                        findings.Add($"{Requests.Show(request)}\n   ours:  {reply}\n   redis: {expected}");
                }
            }
            // DELEX reports a wrong type in words of its own.
            if (!refused && !known && !row.ReplacesAnyType && row.FullName != "delex")
                findings.Add($"{row.FullName} accepts keys of any type");
        }
        Assert.True(findings.Count == 0, $"{Seed.Note}\n{string.Join('\n', findings)}");
        _ours.AssertWell();
    }

    /// <summary>
    /// Another connection gets a reply between the two halves of a request; if the request is a write, it empties the server. One
    /// event loop serves both connections, so the first half has arrived, and it must have had no effect.
    /// </summary>
    [Fact]
    public void EveryRowAcceptsARequestThatIsSplitAnywhere()
    {
        Random random = Seed.Random("split");
        var arguments = new Arguments(random, ["k1"]) { OnlyKeys = true };
        var comparison = new Comparison(_rows);
        var findings = new List<string>();
        using RespClient client = _ours.Connect(), other = _ours.Connect();
        foreach (TableRow row in _rows.Where(r => !s_notAlone.Contains(r.FullName)))
        {
            string[] request = row.Request(arguments);
            byte[] bytes = Requests.Encode(request);
            other.Call("FLUSHALL");
            client.SendRaw(bytes);
            Reply whole = client.Read();
            for (int split = 1; split < bytes.Length; split++)
            {
                client.SendRaw(bytes.AsSpan(0, split));
                // The flags of a container do not tell whether its subcommand writes.
                other.Call(row.Flags.Contains("write") || row.IsContainer ? "FLUSHALL" : "PING");
                client.SendRaw(bytes.AsSpan(split));
                Reply reply = client.Read();
                if (row.IsRandom ? reply.Type == whole.Type : comparison.Same(request, reply, whole, new KeyHistory())) continue;
                findings.Add($"{Requests.Show(request)} split at {split}: {reply}, whole: {whole}");
                break;
            }
        }
        Assert.True(findings.Count == 0, $"{Seed.Note}\n{string.Join('\n', findings)}");
        _ours.AssertWell();
    }

    [Fact]
    public void GetkeysFindsTheKeysThatRedisFinds()
    {
        using ServerProcess redis = ServerProcess.Redis();
        using RespClient ours = _ours.Connect(), theirs = redis.Connect();
        var comparison = new Comparison(_rows);
        var arguments = new Arguments(Seed.Random("getkeys"), ["k1", "k2", "k3"]);
        var findings = new List<string>();
        foreach (Template template in new RowTemplates(_ours, redis).WithKeys)
        {
            for (int i = 0; i < 12; i++)
            {
                List<Argument> request = template.Instance(arguments);
                int at = arguments.Random.Next(1, request.Count + 1);
                if (i % 3 == 0 && at < request.Count) request[at] = arguments.Deform(request[at]);
                else if (i % 3 == 1 && at < request.Count) request.RemoveAt(at);
                string[] asked = ["COMMAND", "GETKEYS", .. request.Select(a => a.Text)];
                Reply reply = ours.Call(asked), expected = theirs.Call(asked);
                // The keys of a malformed request are undefined, so any reply is accepted.
                bool isDeformed = i % 3 != 2;
                if (!comparison.Same(asked, reply, expected, new KeyHistory()) && !isDeformed)
                    findings.Add($"{Requests.Show(asked)}\n   ours:  {reply}\n   redis: {expected}");
            }
        }
        Assert.True(findings.Count == 0, $"{Seed.Note}\n{string.Join('\n', findings.Take(40))}");
        _ours.AssertWell();
    }

    /// <summary>A command that blocks does not block in a transaction.</summary>
    private static Reply Run(RespClient client, string[] request)
    {
        client.Call("FLUSHALL");
        client.Pipeline(CommandStream.Preparation);
        Reply[] replies = client.Pipeline([["MULTI"], request, ["EXEC"]]);
        return replies[2].Items is [var only] ? only : replies[1];
    }
}
