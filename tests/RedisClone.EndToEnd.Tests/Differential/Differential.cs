using System.Text;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Table;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Sends the same requests to our server and to redis-server and compares each reply. After a difference it empties both servers,
/// so that the next difference is not a consequence of this one.
/// </summary>
internal sealed class Differential : IDisposable
{
    private const int MaxFindings = 12;

    private readonly RespClient _ours;
    private readonly RespClient _theirs;
    private readonly List<string> _findings = [];
    private readonly Queue<string> _recent = new();
    private readonly List<string[]> _queued = [];
    private readonly KeyHistory _history = new();
    private readonly Comparison _comparison;

    public Differential(ServerProcess ours, ServerProcess redis, int protocol, IEnumerable<TableRow> rows)
    {
        _ours = ours.Connect(protocol);
        _theirs = redis.Connect(protocol);
        _comparison = new Comparison(rows);
        Reset();
    }

    public IReadOnlyList<string> Findings => _findings;

    /// <summary>The number of times that both servers were emptied.</summary>
    public int Resets { get; private set; }

    public bool Enough => _findings.Count >= MaxFindings;

    /// <summary>Sends the requests to each server in one write and compares the replies.</summary>
    public void Run(IReadOnlyList<string[]> requests)
    {
        Reply[] ours = _ours.Pipeline(requests);
        Reply[] theirs = _theirs.Pipeline(requests);
        for (int i = 0; i < requests.Count; i++)
        {
            if (_recent.Count > 12) _recent.Dequeue();
            _recent.Enqueue($"{Requests.Show(requests[i])} -> {theirs[i]}");
            _history.Note(requests[i]);
            bool same = SameReply(requests[i], ours[i], theirs[i]);
            if (!same) Report(requests[i], ours[i].ToString(), theirs[i].ToString());
            // If exactly one server refuses a request intentionally, the contents of the two servers differ from now on.
            else if (ours[i].IsError == theirs[i].IsError) continue;
            Reset();
            return;
        }
    }

    /// <summary>Compares the contents of all databases.</summary>
    public void CompareState()
    {
        foreach (RespClient client in new[] { _ours, _theirs }) client.Call("DISCARD");
        string ours = Contents.Of(_ours, withEncodings: true), theirs = Contents.Of(_theirs, withEncodings: true);
        if (ours == theirs) return;
        string[] a = ours.Split('\n'), b = theirs.Split('\n');
        Report(["(the state at the end)"], string.Join('\n', a.Except(b).Take(10)), string.Join('\n', b.Except(a).Take(10)));
    }

    public void Dispose()
    {
        _ours.Dispose();
        _theirs.Dispose();
    }

    /// <summary>The replies of the commands in a transaction are in the reply to EXEC.</summary>
    private bool SameReply(string[] request, Reply ours, Reply theirs)
    {
        if (theirs is { Type: '+', Text: "QUEUED" })
        {
            _queued.Add(request);
            return ours.ToString() == theirs.ToString();
        }
        string name = request[0].ToUpperInvariant();
        // The transaction before this MULTI may have ended in any way.
        if (name == "MULTI" && theirs.Type == '+') _queued.Clear();
        if (name == "EXEC" && theirs.Items?.Length == _queued.Count && ours.Items?.Length == _queued.Count)
            return _queued.Index().All(q => _comparison.Same(q.Item, ours[q.Index], theirs[q.Index], _history));
        return _comparison.Same(request, ours, theirs, _history);
    }

    private void Report(string[] request, string ours, string theirs)
    {
        var text = new StringBuilder();
        text.AppendLine(Requests.Show(request)).Append("   ours:  ").AppendLine(ours).Append("   redis: ").AppendLine(theirs).AppendLine("   before it:");
        foreach (string line in _recent) text.Append("      ").AppendLine(line.Length > 300 ? line[..300] : line);
        _findings.Add(text.ToString());
    }

    private void Reset()
    {
        Resets++;
        _recent.Clear();
        _queued.Clear();
        _history.Clear();
        foreach (RespClient client in new[] { _ours, _theirs })
        {
            client.Call("DISCARD");
            client.Call("FLUSHALL");
            client.Pipeline(CommandStream.Preparation);
        }
    }
}
