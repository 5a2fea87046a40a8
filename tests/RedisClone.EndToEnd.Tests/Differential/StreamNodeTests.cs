using System.Globalization;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// The blocks of a stream end at the same entries as the nodes of a stream of redis-server. An approximate trim therefore leaves
/// the same number of entries. The test uses all limits of nodes, entries of several shapes, and deletions.
/// </summary>
public sealed class StreamNodeTests : IDisposable
{
    private const int Rounds = 60;

    private static readonly string[] s_numbers =
        ["1", "127", "128", "-1", "4095", "4096", "-4097", "32768", "1000000", "1000000000", "1000000000000"];
    private static readonly int[] s_lengths = [0, 1, 5, 63, 64, 100, 126, 300];

    private readonly ServerProcess _ours = ServerProcess.Ours();
    private readonly ServerProcess _redis = ServerProcess.Redis();

    public void Dispose()
    {
        _ours.Dispose();
        _redis.Dispose();
    }

    [Fact]
    public void AnApproximateTrimLeavesAsManyEntriesAsRedisServer()
    {
        Random random = Seed.Random("nodes");
        using RespClient ours = _ours.Connect(), theirs = _redis.Connect();
        for (int round = 0; round < Rounds; round++)
        {
            string bytes = Pick(random, "0", "100", "200", "500", "1000", "4096");
            string entries = bytes == "0" ? "50" : Pick(random, "0", "1", "3", "10", "100");
            Both(["CONFIG", "SET", "stream-node-max-bytes", bytes]);
            Both(["CONFIG", "SET", "stream-node-max-entries", entries]);
            Both(["DEL", "s"]);
            long milliseconds = Pick(random, 1, 1_000_000_000_000), sequence = 1;
            var ids = new List<string>();
            for (int i = random.Next(1, 300); i > 0; i--)
            {
                if (random.Next(2) == 0) sequence += Pick(random, 1, 1, 200);
                else (milliseconds, sequence) = (milliseconds + Pick(random, 1, 5, 300, 70_000), Pick(random, 0, 5));
                ids.Add($"{milliseconds}-{sequence}");
                Both(["XADD", "s", .. Cut(random), ids[^1], .. Fields(random)]);
                if (random.Next(10) == 0) Both(["XDEL", "s", ids[random.Next(ids.Count)]]);
                if (random.Next(5) == 0 || i == 1) Same($"max-bytes {bytes}, max-entries {entries}");
            }
        }
        _ours.AssertWell();

        void Both(string[] request) => Assert.Equal(theirs.Call(request).ToString(), ours.Call(request).ToString());

        void Same(string limits)
        {
            Reply here = ours.Call("XINFO", "STREAM", "s"), there = theirs.Call("XINFO", "STREAM", "s");
            Assert.True(here[1].Text == there[1].Text && here[3].Text == there[3].Text,
                $"{Seed.Note} {limits}: {here[1]} entries in {here[3]} nodes, redis-server has {there[1]} in {there[3]}");
        }
    }

    private static T Pick<T>(Random random, params T[] from) => from[random.Next(from.Length)];

    private static string[] Cut(Random random) => random.Next(4) switch
    {
        0 => ["MAXLEN", "~", random.Next(60).ToString(CultureInfo.InvariantCulture)],
        1 => ["MAXLEN", "=", random.Next(50, 90).ToString(CultureInfo.InvariantCulture)],
        _ => [],
    };

    private static IEnumerable<string> Fields(Random random)
    {
        foreach (string name in Pick<string[]>(random, ["f"], ["f"], ["f"], ["a", "b"], ["123", "name"]))
        {
            yield return name;
            yield return random.Next(2) == 0 ? Pick(random, s_numbers) : new string('x', Pick(random, s_lengths));
        }
    }
}
