using System.Globalization;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Concurrency;

/// <summary>
/// Many clients use keys in different shards at the same time. Any partial effect would break an invariant, which the test checks
/// during the run and at the end. There are few keys, so the clients always compete for them.
/// </summary>
public sealed class AtomicityTests
{
    private const int Clients = 6;
    private const int Times = 400;

    /// <summary>Transport, event loops, shards.</summary>
    public static TheoryData<string, int, int> Servers => new()
    {
        { "eventloop", 1, 64 },
        { "eventloop", 2, 16 },
        { "eventloop", 4, 64 },
        { "sockets", 2, 64 },
    };

    /// <summary>The clients always set all keys of a group together, to one value.</summary>
    [Theory]
    [MemberData(nameof(Servers))]
    public void AllKeysOfAGroupAreAlwaysEqual(string transport, int loops, int shards) => With(transport, loops, shards, server =>
    {
        string[] group = [.. Enumerable.Range(0, 12).Select(i => $"group:{i}")];
        using RespClient setup = server.Connect();
        setup.Expect("+OK", Mset(group, "0"));
        var crowd = new Crowd(server);
        for (int c = 0; c < Clients; c++)
        {
            int id = c;
            crowd.Add($"writer {c}", Times, (client, random) =>
            {
                string value = $"{id}:{random.Next()}";
                string[] order = [.. group];
                random.Shuffle(order);
                switch (random.Next(4))
                {
                    case 0:
                        client.Expect("+OK", Mset(order, value));
                        break;
                    case 1:
                        Reply[] replies = client.Pipeline([["MULTI"], .. order.Select(k => new[] { "SET", k, value }), ["EXEC"]]);
                        Assert.All(replies[^1].Items!, r => Assert.Equal("+OK", r.ToString()));
                        break;
                    case 2:
                        // A copy of one key over all other keys keeps the keys equal.
                        client.Pipeline([["MULTI"], .. order[1..].Select(k => new[] { "COPY", order[0], k, "REPLACE" }), ["EXEC"]]);
                        break;
                    default:
                        client.Pipeline([["MULTI"], ["RENAME", order[0], "aside"], ["MSET", .. Mset(order, value)[1..]], ["DEL", "aside"], ["EXEC"]]);
                        break;
                }
            });
        }
        for (int w = 0; w < 2; w++)
        {
            crowd.AddWatcher($"reader {w}", (client, random) =>
            {
                Reply[] seen = random.Next(2) == 0
                    ? client.Call(["MGET", .. group]).Items!
                    : client.Pipeline([["MULTI"], .. group.Select(k => new[] { "GET", k }), ["EXEC"]])[^1].Items!;
                string[] values = [.. seen.Select(r => r.ToString()).Distinct()];
                Assert.True(values.Length == 1, $"one reply has several values: {string.Join(' ', values)}");
                client.Expect($":{group.Length}", ["EXISTS", .. group]);
            });
        }
        crowd.Join();
        setup.Expect($":{group.Length}", "DBSIZE");
    });

    /// <summary>Transactions move money between accounts and watch the accounts that they read. The sum stays the same.</summary>
    [Theory]
    [MemberData(nameof(Servers))]
    public void WatchedTransfersKeepTheSum(string transport, int loops, int shards) => With(transport, loops, shards, server =>
    {
        const int accounts = 8, each = 1000;
        string[] all = [.. Enumerable.Range(0, accounts).Select(i => $"account:{i}")];
        using RespClient setup = server.Connect();
        setup.Expect("+OK", Mset(all, $"{each}"));
        int done = 0;
        var crowd = new Crowd(server);
        for (int c = 0; c < Clients; c++)
        {
            crowd.Add($"transfer {c}", Times, (client, random) =>
            {
                string from = all[random.Next(accounts)], to = all[random.Next(accounts)];
                if (from == to) return;
                client.Expect("+OK", "WATCH", from, to);
                Reply balances = client.Call("MGET", from, to);
                int amount = random.Next(1, 100);
                Reply[] replies = client.Pipeline(
                [
                    ["MULTI"],
                    ["SET", from, $"{balances[0].Number() - amount}"],
                    ["SET", to, $"{balances[1].Number() + amount}"],
                    ["EXEC"],
                ]);
                if (!replies[^1].IsNil) Interlocked.Increment(ref done);
            });
        }
        crowd.AddWatcher("auditor", (client, _) => Assert.Equal(accounts * each, client.Call(["MGET", .. all]).Items!.Sum(b => b.Number())));
        crowd.Join();
        Assert.Equal(accounts * each, setup.Call(["MGET", .. all]).Items!.Sum(b => b.Number()));
        Assert.True(done > 0, "no transfer succeeded");
    });

    /// <summary>
    /// All commands that move elements move them between lists. No element is lost and no element is duplicated.
    /// </summary>
    [Theory]
    [MemberData(nameof(Servers))]
    public void MovedElementsAreConserved(string transport, int loops, int shards) => With(transport, loops, shards, server =>
    {
        const int lists = 6, elements = 60;
        string[] all = [.. Enumerable.Range(0, lists).Select(i => $"list:{i}")];
        using RespClient setup = server.Connect();
        for (int i = 0; i < elements; i++) setup.Call("RPUSH", all[i % lists], $"e{i}");
        var crowd = new Crowd(server);
        for (int c = 0; c < Clients; c++)
        {
            crowd.Add($"mover {c}", Times, (client, random) =>
            {
                string from = all[random.Next(lists)], to = all[random.Next(lists)], side = Side(random), other = Side(random);
                Reply reply = random.Next(6) switch
                {
                    0 => client.Call("LMOVE", from, to, side, other),
                    1 => client.Call("RPOPLPUSH", from, to),
                    2 => client.Call("BLMOVE", from, to, side, other, "0.005"),
                    3 => client.Call("BRPOPLPUSH", from, to, "0.005"),
                    4 => client.Pipeline([["MULTI"], ["LMOVE", from, to, side, other], ["LMOVE", to, from, side, other], ["EXEC"]])[^1],
                    _ => MoveByPop(client, all, to, random),
                };
                Assert.False(reply.IsError, reply.ToString());
            });
        }
        crowd.Join();
        Assert.Equal(Enumerable.Range(0, elements).Select(i => $"e{i}").Order(), Contents(setup, all).Order());
    });

    /// <summary>Each pushed element reaches exactly one of the clients that block for it.</summary>
    [Theory]
    [MemberData(nameof(Servers))]
    public void BlockedClientsGetEachElementOnce(string transport, int loops, int shards) =>
        With(transport, loops, shards, server =>
    {
        const int consumers = 5, producers = 3, each = 300;
        string[] queues = [.. Enumerable.Range(0, 4).Select(i => $"queue:{i}")];
        var received = new System.Collections.Concurrent.ConcurrentBag<string>();
        var crowd = new Crowd(server);
        for (int c = 0; c < consumers; c++)
        {
            crowd.AddWatcher($"consumer {c}", (client, random) =>
            {
                string[] order = [.. queues];
                random.Shuffle(order);
                Reply reply = random.Next(3) switch
                {
                    0 => client.Call(["BLPOP", .. order, "0.05"]),
                    1 => client.Call(["BRPOP", .. order, "0.05"]),
                    _ => client.Call(["BLMPOP", "0.05", $"{order.Length}", .. order, "LEFT", "COUNT", "2"]),
                };
                if (reply.IsNil) return;
                if (reply[1].Items is { } several) foreach (Reply element in several) received.Add(element.Text!);
                else received.Add(reply[1].Text!);
            });
        }
        for (int p = 0; p < producers; p++)
        {
            int id = p, next = 0;
            crowd.Add($"producer {p}", each / 2, (client, random) =>
            {
                string a = $"{id}:{next++}", b = $"{id}:{next++}";
                string one = queues[random.Next(queues.Length)], two = queues[random.Next(queues.Length)];
                if (random.Next(2) == 0) client.Call("RPUSH", one, a, b);
                else client.Pipeline([["MULTI"], ["LPUSH", one, a], ["RPUSH", two, b], ["EXEC"]]);
            });
        }
        crowd.Join();
        using RespClient last = server.Connect();
        string[] all = [.. received, .. Contents(last, queues)];
        string[] expected = [.. Enumerable.Range(0, producers).SelectMany(p => Enumerable.Range(0, each).Select(i => $"{p}:{i}")).Order()];
        Assert.Equal(expected, all.Order());
    });

    /// <summary>
    /// The commands of one connection take effect in the order in which they arrive, across shards and despite waits. Each
    /// request of a long pipeline sees the effects of the requests before it.
    /// </summary>
    [Theory]
    [MemberData(nameof(Servers))]
    public void APipelineTakesEffectInOrder(string transport, int loops, int shards) => With(transport, loops, shards, server =>
    {
        var crowd = new Crowd(server);
        for (int c = 0; c < Clients; c++)
        {
            string prefix = $"c{c}:";
            var model = new Dictionary<string, string>();
            crowd.Add($"pipeline {c}", 30, (client, random) =>
            {
                var requests = new List<string[]>();
                var expected = new List<string?>();
                for (int i = 0; i < 150; i++)
                {
                    string key = prefix + random.Next(10), value = $"{random.Next()}";
                    switch (random.Next(8))
                    {
                        case <= 2:
                            requests.Add(["SET", key, value]);
                            model[key] = value;
                            expected.Add("+OK");
                            break;
                        case <= 5:
                            requests.Add(["GET", key]);
                            expected.Add(model.TryGetValue(key, out string? now) ? $"$\"{now}\"" : "$nil");
                            break;
                        case 6:
                            string second = prefix + random.Next(10);
                            requests.Add(["MSET", key, value, second, value]);
                            model[key] = model[second] = value;
                            expected.Add("+OK");
                            break;
                        default:
                            // Both commands visit all shards, which blocks the other clients for a moment.
                            requests.Add(random.Next(2) == 0 ? ["KEYS", prefix + "no*"] : ["DBSIZE"]);
                            expected.Add(null);
                            break;
                    }
                }
                Reply[] replies = client.Pipeline(requests);
                for (int i = 0; i < replies.Length; i++)
                    Assert.True(expected[i] is null || replies[i].ToString() == expected[i], $"{Requests.Show(requests[i])}: {replies[i]}, not {expected[i]}");
            });
        }
        crowd.Join();
    });

    private static void With(string transport, int loops, int shards, Action<ServerProcess> test)
    {
        using ServerProcess server = ServerProcess.Ours("--transport", transport, "--io-loops", $"{loops}", "--shards", $"{shards}");
        test(server);
        server.AssertWell();
    }

    private static string[] Mset(string[] keys, string value) => ["MSET", .. keys.SelectMany(k => new[] { k, value })];

    private static string Side(Random random) => random.Next(2) == 0 ? "LEFT" : "RIGHT";

    private static IEnumerable<string> Contents(RespClient client, string[] lists) =>
        lists.SelectMany(l => client.Call("LRANGE", l, "0", "-1").Items!).Select(e => e.Text!);

    /// <summary>
    /// Takes several elements and puts them back in one transaction. No other client can have these elements in the meantime.
    /// </summary>
    private static Reply MoveByPop(RespClient client, string[] from, string to, Random random)
    {
        Reply popped = client.Call(["LMPOP", $"{from.Length}", .. from, Side(random), "COUNT", "3"]);
        return popped.IsNil ? popped : client.Call(["RPUSH", to, .. popped[1].Items!.Select(e => e.Text!)]);
    }
}
