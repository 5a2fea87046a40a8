using RedisClone.Storage.Values;
using RedisClone.Storage.Values.SortedSets;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class SortedSetValueTests(ITestOutputHelper output) : ValueTestBase(output)
{
    private readonly Dictionary<string, double> _model = [];

    private List<KeyValuePair<string, double>> Ordered =>
        [.. _model.OrderBy(pair => pair.Value).ThenBy(pair => pair.Key, StringComparer.Ordinal)];

    [Theory]
    [InlineData(128, 64, 60, 1000)]
    [InlineData(40, 64, 60, 4)]
    [InlineData(128, 64, 2_000, 1_000_000)]
    [InlineData(0, 64, 1_500, 3)]
    [InlineData(0, 64, 500, 1)]
    public void IsOrderedByScoreAndMember(int entries, int value, int members, int scores)
    {
        Store.Limits = new ValueLimits { ZsetMaxListpackEntries = entries, ZsetMaxListpackValue = value };
        int steps = Math.Max(members * 4, 3_000);
        for (int step = 0; step < steps; step++)
        {
            Entry set = Entry.Exists ? Entry : SortedSetValue.Create(Keyspace, Key, Hash);
            string member = RandomText(members, 80);
            byte[] bytes = Bytes(member);
            bool known = _model.TryGetValue(member, out double old);
            Assert.Equal(known, SortedSetValue.TryGetScore(set, bytes, out double score));
            Assert.Equal(old, score);
            switch (Random.Next(20))
            {
                case < 14 when step < steps / 2 || Random.Next(2) == 0:
                    score = known && Random.Next(3) == 0 ? old + (Random.Next(3) - 1) * 0.25 : RandomScore(scores);
                    Assert.Equal(!known, SortedSetValue.Set(set, bytes, score, out double previous));
                    Assert.Equal(old, previous);
                    _model[member] = score;
                    break;
                case < 19:
                    Assert.Equal(known, SortedSetValue.Remove(set, bytes));
                    _model.Remove(member);
                    break;
                case 19 when Random.Next(members / 10 + 1) == 0:
                    var range = new RankRange(Random.Next(_model.Count + 1), 0);
                    range = range with { Count = Random.Next((int)Math.Min(_model.Count - range.Start, 40) + 1) };
                    foreach (KeyValuePair<string, double> pair in Ordered.Skip((int)range.Start).Take((int)range.Count).ToList())
                        _model.Remove(pair.Key);
                    SortedSetValue.RemoveRange(set, range);
                    break;
            }
            Assert.Equal(_model.Count, SortedSetValue.Count(set));
            if (_model.Count == 0) Keyspace.Remove(set);
            CheckMemory();
            if (step % (steps / 15) == 0) Check(Keyspace);
        }
        Check(Keyspace);
        CheckCopyAndRemoval(Check);
    }

    [Fact]
    public void ScoresKeepAllBits()
    {
        foreach (int entries in (int[])[128, 0])
        {
            Store.Limits = new ValueLimits { ZsetMaxListpackEntries = entries };
            Entry set = SortedSetValue.Create(Keyspace, Key, Hash);
            double[] scores =
            [
                0, -0.0, 1, -1, 0.1,
                double.MaxValue, double.MinValue, double.Epsilon, double.PositiveInfinity, double.NegativeInfinity,
                int.MaxValue, int.MinValue, int.MaxValue + 1.0, 1L << 53, -(1L << 53), (1L << 53) + 2.0, 1e17,
                long.MaxValue, long.MinValue,
            ];
            foreach (double first in scores)
            {
                foreach (double then in scores)
                {
                    SortedSetValue.Remove(set, "m"u8);
                    SortedSetValue.Set(set, "m"u8, first, out _);
                    SortedSetValue.Set(set, "m"u8, then, out double previous);
                    // As in Redis, a small sorted set has no -0, and a score of 0 in a large one does not change to -0.
                    double expected = then == first ? first : then;
                    if (entries > 0 && expected == 0) expected = 0;
                    Assert.Equal(first, previous);
                    Assert.True(SortedSetValue.TryGetScore(set, "m"u8, out double score));
                    Assert.Equal(BitConverter.DoubleToInt64Bits(expected), BitConverter.DoubleToInt64Bits(score));
                    foreach (ScoredMember member in SortedSetValue.Members(set)) Assert.Equal(then, member.Score);
                }
            }
            Keyspace.Remove(set);
        }
    }

    [Theory]
    [InlineData(128)]
    [InlineData(0)]
    public void LexRangesAreIntervals(int entries)
    {
        Store.Limits = new ValueLimits { ZsetMaxListpackEntries = entries };
        Entry set = SortedSetValue.Create(Keyspace, Key, Hash);
        string[] members = ["", "0", "1", "10", "2", "a", "aa", "ab", "b", "é"];
        foreach (string member in members) SortedSetValue.Set(set, Bytes(member), 0, out _);
        foreach (string low in members)
        {
            foreach (string high in members)
            {
                for (int form = 0; form < 4; form++)
                {
                    bool lowIn = (form & 1) == 0, highIn = (form & 2) == 0;
                    int from = Array.FindIndex(members, m => Compare(m, low) is var c && (c > 0 || c == 0 && lowIn));
                    int count = members.Count(m => (Compare(m, low) is var c && (c > 0 || c == 0 && lowIn))
                        && (Compare(m, high) is var d && (d < 0 || d == 0 && highIn)));
                    RankRange range = SortedSetValue.Ranks(
                        set,
                        lowIn ? LexBound.Inclusive(Bytes(low)) : LexBound.Exclusive(Bytes(low)),
                        highIn ? LexBound.Inclusive(Bytes(high)) : LexBound.Exclusive(Bytes(high)));
                    Assert.Equal(count, range.Count);
                    if (count > 0) Assert.Equal(from, range.Start);
                }
            }
            Assert.Equal(members.Length, SortedSetValue.Ranks(set, LexBound.Lowest, LexBound.Highest).Count);
            Assert.Equal(0, SortedSetValue.Ranks(set, LexBound.Highest, LexBound.Lowest).Count);
            LexBound bound = LexBound.Exclusive(Bytes(low));
            Assert.Equal(Array.IndexOf(members, low), SortedSetValue.Ranks(set, LexBound.Lowest, bound).Count);
        }
    }

    [Fact]
    public void LimitSelectsPartOfRange()
    {
        var range = new RankRange(10, 20);
        Assert.Equal(new RankRange(10, 20), range.Limit(0, -1, false));
        Assert.Equal(new RankRange(15, 5), range.Limit(5, 5, false));
        Assert.Equal(new RankRange(20, 5), range.Limit(5, 5, true));
        Assert.Equal(new RankRange(10, 15), range.Limit(5, long.MaxValue, true));
        Assert.Equal(0, range.Limit(20, 5, true).Count);
        Assert.Equal(0, range.Limit(-1, 5, false).Count);
        Assert.Equal(0, range.Limit(long.MaxValue, long.MaxValue, false).Count);
        Assert.Equal(0, range.Limit(0, 0, false).Count);
    }

    private static int Compare(string left, string right) => string.CompareOrdinal(left, right);

    private double RandomScore(int scores) => Random.Next(12) switch
    {
        0 => double.PositiveInfinity,
        1 => double.NegativeInfinity,
        2 => Random.NextDouble(),
        3 => Random.Next(scores) * 1e15,
        _ => Random.Next(scores),
    };

    private void Check(Keyspace keyspace)
    {
        Entry set = keyspace.Find(Key, Hash);
        if (!set.Exists) return;
        List<KeyValuePair<string, double>> ordered = Ordered;
        Assert.Equal(ordered, Read(SortedSetValue.Members(set)));
        long count = ordered.Count;
        for (int i = 0; i < 4; i++)
        {
            long first = Random.NextInt64(-count - 3, count + 3), last = Random.NextInt64(-count - 3, count + 3);
            RankRange range = SortedSetValue.Ranks(set, first, last);
            List<KeyValuePair<string, double>> part = ordered.GetRange((int)range.Start, (int)range.Count);
            Assert.Equal(part, Read(SortedSetValue.Members(set, range)));
            part.Reverse();
            Assert.Equal(part, Read(SortedSetValue.Members(set, range, backwards: true)));

            double min = RandomScore(100), max = RandomScore(100);
            bool minOut = Random.Next(2) == 0, maxOut = Random.Next(2) == 0;
            part = [.. ordered.Where(pair => minOut ? pair.Value > min : pair.Value >= min)
                .Where(pair => maxOut ? pair.Value < max : pair.Value <= max)];
            range = SortedSetValue.Ranks(set, new ScoreRange(min, max, minOut, maxOut));
            Assert.Equal(part, Read(SortedSetValue.Members(set, range)));

            int rank = Random.Next(ordered.Count);
            Assert.True(SortedSetValue.TryGetRank(set, Bytes(ordered[rank].Key), out long found, out double score));
            Assert.Equal(rank, found);
            Assert.Equal(ordered[rank].Value, score);
            Assert.Contains(Text(SortedSetValue.Random(set).Member), _model.Keys);
            int wanted = Random.Next((int)count + 3);
            Assert.Equal(Math.Min(wanted, count), Read(SortedSetValue.Sample(set, wanted)).Distinct().Count());
        }
        var scanned = new HashSet<KeyValuePair<string, double>>();
        ulong cursor = 0;
        do scanned.UnionWith(Read(SortedSetValue.Scan(set, ref cursor)));
        while (cursor != 0);
        Assert.True(scanned.SetEquals(ordered));
    }

    private static List<KeyValuePair<string, double>> Read(SortedSetMembers members)
    {
        var read = new List<KeyValuePair<string, double>>();
        foreach (ScoredMember member in members) read.Add(new(Text(member.Member), member.Score));
        return read;
    }
}
