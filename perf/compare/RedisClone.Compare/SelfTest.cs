using System.Globalization;
using System.Text;
using RedisClone.Compare.Load;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare;

/// <summary>
/// Checks the load generator: percentiles are compared with exact percentiles, replies are counted for every split of a stream, and
/// the counts are compared with the counters of a real redis-server.
/// </summary>
internal static class SelfTest
{
    private static readonly ServerKind s_redis = ServerKind.Discover().First(k => k.Name == ServerKind.Redis);

    public static bool Run(TextWriter to)
    {
        (string Name, Action Check)[] checks =
        [
            ("percentiles of the histogram are at most 1/128 above the exact percentiles", HistogramAgreesWithSorting),
            ("replies are counted for every split of the stream", RepliesAreCountedUnderEverySplit),
            ("counters and scattered numbers visit each number once", HolesVisitEachNumberOnce),
            ("redis-server has the keys of the fill", FillingReachesTheServer),
            ("the counts of commands match the counters of redis-server", CountsAgreeWithTheServer),
            ("the results of two loops are added up", TwoLoopsAddUp),
            ("a rate is not exceeded", RateIsNotExceeded),
            ("every published message is counted as delivered", DeliveriesAreCounted),
            ("a transaction is one operation", TransactionsAreOneOperation),
            ("an error reply ends the load with its text", ErrorsEndTheLoad),
            ("the processor time matches the report of the server", CpuTimeAgreesWithTheServer),
        ];
        bool passed = true;
        foreach ((string name, Action check) in checks)
        {
            try
            {
                check();
                to.WriteLine($"ok      {name}");
            }
            catch (Exception e)
            {
                to.WriteLine($"FAILED  {name}: {e.Message}");
                passed = false;
            }
        }

        to.WriteLine(passed ? "self-test passed" : "self-test failed");
        return passed;
    }

    private static void HistogramAgreesWithSorting()
    {
        var random = new Random(1);
        long[] values = [.. Enumerable.Range(0, 100_000).Select(_ => (long)Math.Exp(random.NextDouble() * 30))];
        var whole = new Histogram();
        var half = new Histogram();
        for (int i = 0; i < values.Length; i++)
            (i % 2 == 0 ? whole : half).Record(values[i]);
        whole.Add(half);
        Array.Sort(values);
        foreach (double share in (double[])[0, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1])
        {
            long exact = values[Math.Max(0, (int)Math.Ceiling(share * values.Length) - 1)];
            long found = whole.Percentile(share);
            Require(found >= exact && found <= exact + exact / 128, $"percentile {share}: {found}, exactly {exact}");
        }

        Equal(values[^1], whole.Max);
    }

    private static void RepliesAreCountedUnderEverySplit()
    {
        byte[] stream = Encoding.ASCII.GetBytes(
            "+OK\r\n:-12\r\n$5\r\nab\r\nc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n*2\r\n:1\r\n$1\r\n*\r\n+x\r\n" +
            "%1\r\n+a\r\n*1\r\n:2\r\n>3\r\n+message\r\n$1\r\nc\r\n$2\r\n\r\n\r\n_\r\n#t\r\n,1.5\r\n=5\r\ntxt:-\r\n-ERR no\r\n-LATER\r\n+last\r\n");
        for (int first = 0; first <= stream.Length; first++)
        {
            for (int second = first; second <= stream.Length; second++)
            {
                var scanner = new ReplyScanner();
                int count = scanner.Scan(stream.AsSpan(0, first));
                count += scanner.Scan(stream.AsSpan(first, second - first));
                count += scanner.Scan(stream.AsSpan(second));
                Equal(17, count);
                Equal(2, scanner.Errors);
                Require(scanner.FirstError == "ERR no", scanner.FirstError);
            }
        }
    }

    private static void HolesVisitEachNumberOnce()
    {
        foreach (string sign in (string[])["+", "~"])
        {
            var script = new RequestScript([new($"GET {{{sign}1000}}")], pipeline: 10, seed: 1);
            var seen = new HashSet<string>();
            for (int i = 0; i < 100; i++)
            {
                string[] lines = Encoding.ASCII.GetString(script.Prepare(i)).Split("\r\n");
                seen.UnionWith(lines.Where((_, line) => line % 5 == 4));
            }

            Equal(1_000, seen.Count);
        }
    }

    private static void FillingReachesTheServer() => WithRedis((server, client) =>
    {
        Equal(20_000, Send(server, new LoadPlan([new("SET key:{+20000} {*100}")], 8, 50), LoadLimit.Sending(20_000)).Operations);
        Require(client.Ask("DBSIZE") == ":20000", client.Ask("DBSIZE"));
        Require(client.Ask("GET", "key:19999").Length == 100, "the last key has no value of 100 bytes");
    });

    private static void CountsAgreeWithTheServer() => WithRedis((server, client) =>
    {
        LoadResult result = Send(server, new LoadPlan([new("SET key:{100} {*256}"), new("GET key:{100}", 10)], 50, 30));
        long sets = Calls(client, "set");
        long gets = Calls(client, "get");
        Equal(sets + gets, result.Operations);
        Require(Math.Abs(gets - 10 * sets) <= 50 * 30, $"{sets} SET, {gets} GET");
    });

    private static void TwoLoopsAddUp() => WithRedis((server, client) =>
    {
        LoadResult result = Send(server, new LoadPlan([new("GET key:{100}")], 8, 1), threads: 2);
        Equal(Calls(client, "get"), result.Operations);
    });

    private static void RateIsNotExceeded() => WithRedis((server, _) =>
    {
        const int rate = 2_000;
        long operations = Send(server, new LoadPlan([new("GET key")], 10, 10) { RatePerSecond = rate }).Operations;
        Require(operations is > 0 and <= rate * 3 / 10 + 10, $"{operations} in 0.3 s");
    });

    private static void DeliveriesAreCounted() => WithRedis((server, client) =>
    {
        LoadResult result = Send(server, new LoadPlan([new($"PUBLISH {LoadPlan.Channel} {{*64}}")], 2, 3) { Subscribers = 100 });
        Equal(Calls(client, "publish") * 100, result.Operations);
    });

    private static void TransactionsAreOneOperation() => WithRedis((server, client) =>
    {
        var plan = new LoadPlan([new("MULTI"), new("INCR key:{1000}", 3), new("EXEC")], 5, 5) { RequestsPerOperation = 5 };
        LoadResult result = Send(server, plan);
        Equal(Calls(client, "exec"), result.Operations);
        Equal(Calls(client, "incr"), result.Operations * 3);
    });

    private static void ErrorsEndTheLoad() => WithRedis((server, client) =>
    {
        client.Ask("SET", "text", "x");
        try
        {
            Send(server, new LoadPlan([new("LPUSH text x")], 1, 1));
        }
        catch (LoadException e)
        {
            Require(e.Message.StartsWith("WRONGTYPE", StringComparison.Ordinal), e.Message);
            return;
        }

        throw new InvalidOperationException("the load continued after an error reply");
    });

    private static void CpuTimeAgreesWithTheServer() => WithRedis((server, client) =>
    {
        const double tick = 0.02; // INFO rounds each of the two parts to the clock of the scheduler
        Send(server, new LoadPlan([new("GET key")], 10, 10));
        double before = server.Cpu().Total / 1e9;
        string info = client.Ask("INFO", "cpu");
        double after = server.Cpu().Total / 1e9;
        double reported = Field(info, "used_cpu_user:") + Field(info, "used_cpu_sys:");
        Require(reported >= before - tick && reported <= after + tick, $"{reported} s, measured {before} to {after}");
    });

    private static LoadResult Send(ServerProcess server, LoadPlan plan, LoadLimit? limit = null, int threads = 1)
    {
        using var generator = new LoadGenerator(server.Setup.EndPoint, plan, threads);
        return generator.Run(limit ?? LoadLimit.Lasting(TimeSpan.FromMilliseconds(300)));
    }

    private static long Calls(RespClient client, string command) =>
        (long)Field(client.Ask("INFO", "commandstats"), $"cmdstat_{command}:calls=");

    private static double Field(string info, string name)
    {
        int at = info.IndexOf(name, StringComparison.Ordinal) + name.Length;
        int end = info.AsSpan(at).IndexOfAnyExceptInRange('.', '9') + at;
        return double.Parse(info.AsSpan(at, end - at), CultureInfo.InvariantCulture);
    }

    private static void WithRedis(Action<ServerProcess, RespClient> check)
    {
        int[] cores = [.. Enumerable.Range(0, Environment.ProcessorCount)];
        using ServerProcess server = ServerProcess.Start(s_redis, Path.GetTempPath(), cores, new Workload("self-test", "self-test", [], Load: null));
        using var client = new RespClient(server.Setup.Port);
        check(server, client);
    }

    private static void Equal(long expected, long actual) => Require(expected == actual, $"expected {expected}, found {actual}");

    private static void Require(bool condition, string otherwise)
    {
        if (!condition)
            throw new InvalidOperationException(otherwise);
    }
}
