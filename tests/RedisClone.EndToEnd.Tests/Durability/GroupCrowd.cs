using System.Globalization;
using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// Producers add numbered entries. Consumers of a group join, die with pending entries, return, claim entries of other consumers,
/// and give back entries that they cannot process. The class records the guarantees of a group: each added entry is delivered,
/// and an acknowledged entry is not delivered again, even if the server is restarted.
/// </summary>
internal sealed class GroupCrowd(Random random)
{
    private const int Producers = 2;
    private const int Consumers = 20;
    private const string Group = "group";

    /// <summary>Several streams, so that reads use several shards.</summary>
    private static readonly string[] s_streams = ["work:1", "work:2", "work:3"];

    private readonly Lock _lock = new();
    private readonly List<Thread> _threads = [];
    private readonly HashSet<long> _added = [];
    private readonly HashSet<long> _processed = [];
    private readonly Dictionary<long, long> _acknowledgedAt = [];
    private long _sent;
    private long _clock;
    private long _deliveries;
    private volatile Exception? _failure;
    private volatile bool _isOver;

    private readonly record struct Entry(string Stream, string Id, long Number);

    public string Summary
    {
        get
        {
            lock (_lock) return $"{_added.Count} entries added, {_processed.Count} processed, {_deliveries} deliveries";
        }
    }

    public long Processed
    {
        get
        {
            lock (_lock) return _processed.Count;
        }
    }

    public static void Prepare(RespClient client)
    {
        foreach (string stream in s_streams) client.Expect("+OK", "XGROUP", "CREATE", stream, Group, "0", "MKSTREAM");
    }

    /// <summary>Continues with a server, which may be a new one, until <see cref="Join"/>.</summary>
    public void Start(ServerProcess server, bool produce)
    {
        _isOver = false;
        for (int i = 0; produce && i < Producers; i++) Start(server, Produce);
        for (int i = 0; i < Consumers; i++)
        {
            string name = $"consumer-{i}";
            Start(server, (port, own) => Consume(port, name, mayFail: produce, own));
        }
    }

    /// <summary>From now on, clients that lose their connection stop.</summary>
    public void Finish() => _isOver = true;

    public void Join()
    {
        foreach (Thread thread in _threads) thread.Join();
        _threads.Clear();
        ThrowIfFailed();
    }

    public void ThrowIfFailed()
    {
        if (_failure is { } failure) throw new InvalidOperationException(failure.Message, failure);
    }

    /// <summary>Returns whether all entries are delivered and acknowledged.</summary>
    public static bool IsDone(RespClient client)
    {
        foreach (string stream in s_streams)
        {
            Reply group = client.Call("XINFO", "GROUPS", stream)[0];
            if (Field(group, "pending").Integer != 0) return false;
            if (Field(group, "last-delivered-id").Text != Field(client.Call("XINFO", "STREAM", stream), "last-generated-id").Text) return false;
        }
        return true;
    }

    public void CheckNothingIsLost()
    {
        lock (_lock)
        {
            long[] lost = [.. _added.Except(_processed).Order()];
            Assert.True(lost.Length == 0, $"{lost.Length} of {_added.Count} entries were never processed: {string.Join(' ', lost.Take(20))}");
        }
    }

    private void Start(ServerProcess server, Action<int, Random> work)
    {
        int port = server.Port;
        var own = new Random(random.Next());
        var thread = new Thread(() =>
        {
            try
            {
                work(port, own);
            }
            catch (Exception e) when (_isOver && e is EndOfStreamException or SocketException)
            {
            }
            catch (Exception e)
            {
                _failure ??= e;
            }
        })
        { IsBackground = true };
        _threads.Add(thread);
        thread.Start();
    }

    private bool GoesOn => !_isOver && _failure is null;

    private void Produce(int port, Random own)
    {
        using var client = new RespClient(port);
        while (GoesOn)
        {
            string[] numbers = [.. Enumerable.Range(0, own.Next(1, 9)).Select(_ => Interlocked.Increment(ref _sent).ToString(CultureInfo.InvariantCulture))];
            Reply[] replies = client.Pipeline([.. numbers.Select(number => new[] { "XADD", Any(s_streams, own), "*", "number", number })]);
            foreach (Reply reply in replies) Valid(reply, "XADD");
            lock (_lock) _added.UnionWith(numbers.Select(n => long.Parse(n, CultureInfo.InvariantCulture)));
            Thread.Sleep(own.Next(4));
        }
    }

    /// <summary>
    /// Runs one consumer after another under a few names. A consumer may find the entries that died with the earlier consumer of
    /// its name.
    /// </summary>
    private void Consume(int port, string name, bool mayFail, Random own)
    {
        while (GoesOn)
        {
            using var client = new RespClient(port);
            string life = $"{name}.{own.Next(3)}";
            while (GoesOn)
            {
                List<Entry> entries = Take(client, life, own);
                if (mayFail && own.Next(12) == 0)
                {
                    Process(entries[..own.Next(entries.Count + 1)]);
                    break;
                }
                if (mayFail && own.Next(12) == 0)
                {
                    GiveBack(client, entries);
                    continue;
                }
                Process(entries);
                Acknowledge(client, entries, own);
                if (own.Next(20) == 0) Leave(client, life);
            }
        }
    }

    private List<Entry> Take(RespClient client, string name, Random own)
    {
        string idle = $"{own.Next(40)}";
        string count = $"{own.Next(1, 20)}";
        string stream = Any(s_streams, own);
        long since = Interlocked.Increment(ref _clock);
        var entries = new List<Entry>();
        switch (own.Next(10))
        {
            case 0:
                Add(entries, stream, Call(client, "XAUTOCLAIM", stream, Group, name, idle, "0", "COUNT", count)[1]);
                break;
            case 1:
                Reply[] pending = Call(client, "XPENDING", stream, Group, "IDLE", idle, "-", "+", count).Items!;
                if (pending.Length > 0) Add(entries, stream, Call(client, ["XCLAIM", stream, Group, name, idle, .. pending.Select(p => p[0].Text!)]));
                break;
            case 2:
                AddAll(entries, Read("CLAIM", idle, ">"));
                break;
            case 3:
                AddAll(entries, Read("BLOCK", "20", "0"));
                break;
            default:
                AddAll(entries, Read("BLOCK", "20", ">"));
                break;
        }
        lock (_lock)
        {
            _deliveries += entries.Count;
            foreach (Entry entry in entries)
            {
                bool again = _acknowledgedAt.TryGetValue(entry.Number, out long at) && at < since;
                if (again)
                    throw new InvalidOperationException(
                        $"entry {entry.Id} of {entry.Stream}, number {entry.Number}, was delivered again after its XACK");
            }
        }
        return entries;

        Reply Read(string option, string value, string from) => Call(client,
            ["XREADGROUP", "GROUP", Group, name, "COUNT", count, option, value, "STREAMS", .. s_streams, .. s_streams.Select(_ => from)]);
    }

    private void Process(IReadOnlyList<Entry> entries)
    {
        lock (_lock)
        {
            foreach (Entry entry in entries)
            {
                if (entry.Number > Interlocked.Read(ref _sent)) throw new InvalidOperationException($"number {entry.Number} was never sent");
                _processed.Add(entry.Number);
            }
        }
    }

    private void Acknowledge(RespClient client, List<Entry> entries, Random own)
    {
        foreach (IGrouping<string, Entry> group in entries.GroupBy(e => e.Stream))
        {
            string[] ids = [.. group.Select(e => e.Id)];
            switch (own.Next(3))
            {
                case 0:
                    Call(client, ["XACKDEL", group.Key, Group, "IDS", $"{ids.Length}", .. ids]);
                    break;
                case 1:
                    Call(client, ["XACK", group.Key, Group, .. ids]);
                    Call(client, ["XDEL", group.Key, .. ids]);
                    break;
                default:
                    Call(client, ["XACK", group.Key, Group, .. ids]);
                    break;
            }
            long at = Interlocked.Increment(ref _clock);
            lock (_lock)
            {
                foreach (Entry entry in group) _acknowledgedAt.TryAdd(entry.Number, at);
            }
        }
    }

    private static void GiveBack(RespClient client, List<Entry> entries)
    {
        foreach (IGrouping<string, Entry> group in entries.GroupBy(e => e.Stream))
        {
            string[] ids = [.. group.Select(e => e.Id)];
            Call(client, ["XNACK", group.Key, Group, "FAIL", "IDS", $"{ids.Length}", .. ids]);
        }
    }

    /// <summary>
    /// A consumer is deleted together with its pending entries, so only consumers without pending entries leave.
    /// </summary>
    private static void Leave(RespClient client, string name)
    {
        foreach (string stream in s_streams)
        {
            if (Call(client, "XPENDING", stream, Group, "-", "+", "1", name).Items!.Length == 0)
                client.Expect(":0", "XGROUP", "DELCONSUMER", stream, Group, name);
        }
    }

    private static void AddAll(List<Entry> entries, Reply streams)
    {
        foreach (Reply stream in streams.Items ?? []) Add(entries, stream[0].Text!, stream[1]);
    }

    /// <summary>An entry that was deleted in the meantime has no fields.</summary>
    private static void Add(List<Entry> entries, string stream, Reply from)
    {
        foreach (Reply entry in from.Items!)
        {
            if (!entry[1].IsNil) entries.Add(new Entry(stream, entry[0].Text!, entry[1][1].Number()));
        }
    }

    private static Reply Call(RespClient client, params IReadOnlyList<string> request) => Valid(client.Call(request), request[0]);

    private static Reply Valid(Reply reply, string command) =>
        reply.IsError ? throw new InvalidOperationException($"{command}: {reply}") : reply;

    private static Reply Field(Reply map, string name)
    {
        int at = Array.FindIndex(map.Items!, item => item.Text == name);
        return map[at + 1];
    }

    private static string Any(string[] values, Random own) => values[own.Next(values.Length)];
}
