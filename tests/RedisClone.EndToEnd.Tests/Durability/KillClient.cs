using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// A client with numbered writes. The contents of its keys show exactly which writes took effect. After a kill these must be the
/// first N writes, where N is between the last acknowledged and the last sent write. Some writes are transactions, scripts or
/// writes to several keys. They append their number to a list that all clients share. The reply contains the index in this list.
/// </summary>
internal sealed class KillClient(int id)
{
    private const int Slots = 5;
    private const string Script = "redis.call('RPUSH', KEYS[1], ARGV[1]) redis.call('SET', KEYS[2], ARGV[2]) return redis.call('LLEN', KEYS[1])";

    private readonly List<(long Number, TimeSpan At, long Place)> _acknowledged = [];
    private Thread? _thread;
    private volatile Exception? _failure;
    private long _base;
    private long _sent;
    private int _life;
    private int _acknowledgedNow;

    private enum Kind { Transaction, Script, SeveralKeys, Plain }

    public static TimeSpan Now => Stopwatch.GetElapsedTime(0);

    public long TotalAcknowledged { get; private set; }

    /// <summary>The number of acknowledged writes since the last start. Another thread reads it.</summary>
    public int Acknowledged => Volatile.Read(ref _acknowledgedNow);

    public bool HasFailed => _failure is not null;

    public static string LogOf(int life) => $"log:{life}";

    /// <summary>Writes until the server exits.</summary>
    public void Start(ServerProcess server, int life, int seed)
    {
        _life = life;
        _acknowledged.Clear();
        _acknowledgedNow = 0;
        _thread = new Thread(() => Run(server.Port, new Random(seed))) { IsBackground = true };
        _thread.Start();
    }

    public void Join()
    {
        _thread?.Join();
        _thread = null;
        if (_failure is { } failure) throw new InvalidOperationException(failure.Message, failure);
    }

    /// <summary>
    /// Compares the contents with the acknowledged writes and continues from these contents. All writes that were acknowledged
    /// before <paramref name="mustHave"/> must be there. Returns the number of other acknowledged writes that are missing.
    /// </summary>
    public long Compare(RespClient client, string[] log, TimeSpan mustHave)
    {
        string prefix = $"{id}:";
        long[] logged =
        [
            .. log.Where(l => l.StartsWith(prefix, StringComparison.Ordinal))
                .Select(l => long.Parse(l.AsSpan(prefix.Length), CultureInfo.InvariantCulture)),
        ];
        long last = Math.Max(CheckKeys(client), _base);
        Assert.True(last <= _sent, $"client {id}: the keys contain write {last}, the last write sent is {_sent}");
        Assert.True(logged.LastOrDefault() <= last,
            $"client {id}: the list contains write {logged.LastOrDefault()}, the keys end with write {last}");
        long[] expected = [.. Numbers(_base + 1, last).Where(n => KindOf(n) is Kind.Transaction or Kind.Script)];
        Assert.True(expected.AsSpan().SequenceEqual(logged),
            $"client {id}: the list contains {string.Join(' ', logged)}, not {string.Join(' ', expected)}");
        long lost = 0;
        foreach ((long number, TimeSpan at, long place) in _acknowledged)
        {
            if (number <= last)
            {
                if (place > 0) Assert.True(log[place - 1] == $"{id}:{number}",
                    $"client {id}: {log[place - 1]} replaces {number} in the list");
                continue;
            }
            lost++;
            Assert.True(at > mustHave, $"client {id}: write {number} was acknowledged, the last write in the keys is {last}");
        }
        TotalAcknowledged += _acknowledged.Count;
        _acknowledged.Clear();
        _base = _sent = last;
        return lost;
    }

    /// <summary>
    /// Returns the number of the last write that the keys show. It fails if the keys are not the result of the writes up to this
    /// number.
    /// </summary>
    public long CheckKeys(RespClient client)
    {
        string[] keys = [.. Enumerable.Range(0, Slots).Select(Key), $"c{id}:x", $"c{id}:y"];
        string?[] found = [.. client.Call(["MGET", .. keys]).Items!.Select(v => v.Text)];
        long last = found.Max(NumberOf);
        var expected = new string?[keys.Length];
        foreach (long number in Numbers(Math.Max(1, last - 8 * Slots), last))
        {
            if (KindOf(number) == Kind.SeveralKeys) expected[^1] = expected[^2] = Value(number);
            else expected[SlotOf(number)] = Value(number);
        }
        for (int i = 0; i < keys.Length; i++)
            Assert.True(expected[i] == found[i],
                $"client {id}: {keys[i]} has write {NumberOf(found[i])}, not {NumberOf(expected[i])}; the last is {last}");
        return last;
    }

    private static IEnumerable<long> Numbers(long first, long last)
    {
        for (long number = first; number <= last; number++) yield return number;
    }

    private static Kind KindOf(long number) => (Kind)(number % 4);

    private static int SlotOf(long number) => (int)(number % Slots);

    private static string Value(long number) => $"{number}:{new string('v', (int)(number * 37 % 700))}";

    private static long NumberOf(string? value) => value is null ? 0 : long.Parse(value.AsSpan(0, value.IndexOf(':')), CultureInfo.InvariantCulture);

    private string Key(int slot) => $"c{id}:{slot}";

    private void Run(int port, Random random)
    {
        try
        {
            using var client = new RespClient(port);
            while (true)
            {
                long first = _sent + 1;
                _sent += random.Next(1, 7);
                var requests = new List<byte>();
                foreach (long number in Numbers(first, _sent)) Write(requests, number);
                client.SendRaw(requests.ToArray());
                foreach (long number in Numbers(first, _sent))
                {
                    _acknowledged.Add((number, Now, ReadPlace(client, number)));
                    Volatile.Write(ref _acknowledgedNow, _acknowledged.Count);
                }
            }
        }
        catch (Exception e) when (e is EndOfStreamException or SocketException)
        {
            // The server was killed.
        }
        catch (Exception e)
        {
            _failure = e;
        }
    }

    private void Write(List<byte> requests, long number)
    {
        string log = LogOf(_life), entry = $"{id}:{number}", key = Key(SlotOf(number)), value = Value(number);
        switch (KindOf(number))
        {
            case Kind.Transaction:
                requests.AddRange(Requests.Encode("MULTI"));
                requests.AddRange(Requests.Encode("SET", key, value));
                requests.AddRange(Requests.Encode("RPUSH", log, entry));
                requests.AddRange(Requests.Encode("EXEC"));
                break;
            case Kind.Script:
                requests.AddRange(Requests.Encode("EVAL", Script, "2", log, key, entry, value));
                break;
            case Kind.SeveralKeys:
                requests.AddRange(Requests.Encode("MSET", $"c{id}:x", value, $"c{id}:y", value));
                break;
            default:
                requests.AddRange(Requests.Encode("SET", key, value));
                break;
        }
    }

    /// <summary>Reads the replies to one write. Returns the index of the write in the list, or 0.</summary>
    private static long ReadPlace(RespClient client, long number)
    {
        switch (KindOf(number))
        {
            case Kind.Transaction:
                for (int i = 0; i < 3; i++) Expect(client.Read(), '+');
                return Expect(client.Read(), '*')[1].Integer;
            case Kind.Script:
                return Expect(client.Read(), ':').Integer;
            default:
                Expect(client.Read(), '+');
                return 0;
        }
    }

    private static Reply Expect(Reply reply, char type) =>
        reply.Type == type ? reply : throw new InvalidDataException($"the reply is {reply}");
}
