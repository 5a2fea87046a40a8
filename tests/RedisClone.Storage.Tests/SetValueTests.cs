using System.Globalization;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Sets;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class SetValueTests(ITestOutputHelper output) : ValueTestBase(output)
{
    private readonly HashSet<string> _model = [];

    [Theory]
    [InlineData(512, 128, 64, 100, true)]
    [InlineData(20, 128, 64, 100, true)]
    [InlineData(20, 30, 64, 40, false)]
    [InlineData(1_000, 10, 64, 2_000, false)]
    [InlineData(10, 1_000, 2, 500, true)]
    [InlineData(0, 0, 64, 3_000, false)]
    public void MatchesSetModel(int integers, int entries, int value, int members, bool often)
    {
        Store.Limits = new ValueLimits
        {
            SetMaxIntsetEntries = integers,
            SetMaxListpackEntries = entries,
            SetMaxListpackValue = value,
        };
        for (int step = 0; step < Math.Max(members * 4, 4_000); step++)
        {
            // Sometimes all members are removed and the set starts small again: some sets then have integers only.
            if (often && Random.Next(300) == 0 && Entry.Exists)
            {
                Keyspace.Remove(Entry);
                _model.Clear();
            }
            Entry set = Entry.Exists ? Entry : SetValue.Create(Keyspace, Key, Hash);
            bool integersOnly = step / 1_000 % 2 == 1;
            string member = integersOnly
                ? ((long)Random.Next(members) << Random.Next(3) * 16).ToString(CultureInfo.InvariantCulture)
                : RandomText(members, 80);
            byte[] bytes = Bytes(member);
            Assert.Equal(_model.Contains(member), SetValue.Contains(set, bytes));
            Element element = Random.Next(2) == 0 ? Element.Of(bytes) : new Element(bytes);
            Assert.Equal(_model.Contains(member), SetValue.Contains(set, element));
            if (Random.Next(3) != 0)
            {
                if (Random.Next(20) == 0) SetValue.Reserve(set, Random.Next(1, 40), bytes);
                Assert.Equal(_model.Add(member), SetValue.Add(set, bytes));
            }
            else
            {
                Assert.Equal(_model.Remove(member), SetValue.Remove(set, bytes));
            }
            Assert.Equal(_model.Count, SetValue.Count(set));
            if (_model.Count == 0) Keyspace.Remove(set);
            CheckMemory();
            if (step % 200 == 0) Check(Keyspace);
        }
        Check(Keyspace);
        CheckCopyAndRemoval(Check);
    }

    [Fact]
    public void EncodingFollowsLimits()
    {
        Store.Limits = new ValueLimits { SetMaxIntsetEntries = 3, SetMaxListpackEntries = 5 };
        AssertEncodings("intset intset intset hashtable", "1", "2", "3", "4");
        AssertEncodings("intset listpack listpack listpack listpack hashtable", "1", "x", "2", "3", "4", "5");
        AssertEncodings("listpack listpack", "x", "1");
        AssertEncodings("intset hashtable", "1", new string('x', 65));
        AssertEncodings("hashtable", new string('x', 65));
        Store.Limits = Store.Limits with { SetMaxIntsetEntries = 0 };
        AssertEncodings("listpack", "1");
    }

    private void AssertEncodings(string encodings, params string[] members)
    {
        Entry set = SetValue.Create(Keyspace, Key, Hash);
        var seen = new List<string>();
        foreach (string member in members)
        {
            Assert.True(SetValue.Add(set, Bytes(member)));
            seen.Add(Encoding_(set));
        }
        Assert.Equal(encodings, string.Join(' ', seen));
        Keyspace.Remove(set);
    }

    [Theory]
    [InlineData(100, false)]
    [InlineData(100, true)]
    [InlineData(2_000, false)]
    public void SamplesAreFairAndDistinct(int members, bool integers)
    {
        Entry set = SetValue.Create(Keyspace, Key, Hash);
        for (int i = 0; i < members; i++) SetValue.Add(set, Bytes(integers ? $"{i}" : $"member {i}"));
        foreach (int wanted in (int[])[0, 1, members / 8, members / 2, members - 1, members, members + 5])
        {
            var names = new HashSet<string>();
            foreach (Element member in SetValue.Sample(set, wanted)) Assert.True(names.Add(Text(member)));
            Assert.Equal(Math.Min(wanted, members), names.Count);
        }
        var drawn = new Dictionary<string, int>();
        int draws = 0;
        for (int i = 0; i < 10_000; i++)
        {
            foreach (Element member in SetValue.Sample(set, 3)) Count(Text(member));
            Count(Text(SetValue.Random(set)));
        }
        double expected = (double)draws / members;
        double deviation = drawn.Values.Sum(n => (n - expected) * (n - expected) / expected) + (members - drawn.Count) * expected;
        Assert.InRange(deviation, 0, members + 10 * Math.Sqrt(2 * members));

        void Count(string text)
        {
            draws++;
            drawn[text] = drawn.GetValueOrDefault(text) + 1;
        }
    }

    private void Check(Keyspace keyspace)
    {
        Entry set = keyspace.Find(Key, Hash);
        if (!set.Exists) return;
        var found = new List<string>();
        foreach (Element member in SetValue.Members(set)) found.Add(Text(member));
        Assert.Equal(_model.Order(StringComparer.Ordinal), found.Order(StringComparer.Ordinal));
        var scanned = new HashSet<string>();
        ulong cursor = 0;
        do
        {
            foreach (Element member in SetValue.Scan(set, ref cursor)) scanned.Add(Text(member));
        }
        while (cursor != 0);
        Assert.True(_model.SetEquals(scanned));
        if (_model.Count > 0) Assert.Contains(Text(SetValue.Random(set)), _model);
    }
}
