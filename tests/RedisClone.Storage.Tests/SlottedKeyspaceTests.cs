using System.Text;
using RedisClone.Storage.Memory;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

/// <summary>A keyspace of a cluster, which knows the keys of each hash slot.</summary>
public sealed class SlottedKeyspaceTests(ITestOutputHelper output)
{
    private const int Slots = 256;

    private readonly ShardStore _store = new(1, 1, Slots);

    private Keyspace Keyspace => _store.Database(0);

    /// <summary>Keys of many slots, most of them in few slots, are added, changed and removed. Each slot knows its keys.</summary>
    [Fact]
    public void EachSlotHasItsKeys()
    {
        Random random = Seed.Random(output);
        var model = new HashSet<string>();
        for (int step = 0; step < 40_000; step++)
        {
            // Keys become more, then fewer, then more again.
            bool grows = step / 10_000 % 2 == 0;
            string name = random.Next(2) == 0 ? $"{{{random.Next(5)}}}{random.Next(500)}" : $"{{{random.Next(500)}}}{random.Next(4)}";
            Entry entry = Find(name);
            Assert.Equal(model.Contains(name), entry.Exists);
            if (!entry.Exists && (grows || random.Next(3) == 0)) Insert(name, random.Next(2) == 0 ? 1_000 : 0);
            else if (entry.Exists && grows) Keyspace.Resize(entry, random.Next(300));
            else if (entry.Exists) Keyspace.Remove(entry);
            if (Find(name).Exists) model.Add(name);
            else model.Remove(name);
            if (step % 4_000 == 3_999) Check(model);
        }
        Check(model);
        _store.Abandon(0);
        while (!_store.FreeAbandoned(7)) { }
        Assert.Equal(0, _store.Arena.LiveBuffers);
        Assert.Equal(0, _store.PendingFrees);
    }

    /// <summary>A scan meets every key that is there from its beginning to its end, while others come and go.</summary>
    [Fact]
    public void AScanMeetsEveryKeyThatStays()
    {
        Random random = Seed.Random(output);
        string[] stay = [.. Enumerable.Range(0, 3_000).Select(static i => $"{{{i % 400}}}stays:{i}")];
        foreach (string name in stay) Insert(name);
        var met = new List<string>();
        var visitor = new Visitor(Keyspace, met);
        ulong cursor = 0;
        do
        {
            cursor = Keyspace.Scan(cursor, ref visitor);
            for (int i = 0; i < 10; i++)
            {
                string name = $"{{{random.Next(400)}}}goes:{random.Next(500)}";
                if (Find(name).Exists) Keyspace.Remove(Find(name));
                else Insert(name);
            }
        }
        while (cursor != 0);
        Assert.Empty(stay.Except(met));
        foreach (ulong any in new[] { ulong.MaxValue, (ulong)random.NextInt64() }) Keyspace.Scan(any, ref visitor);
    }

    /// <summary>A sample goes on in other slots if the chosen slot has few keys.</summary>
    [Fact]
    public void ASampleCoversTheSlots()
    {
        string[] names = ["{a}1", "{a}2", "{a}3", "{b}1", "{c}1", "{d}1", "{d}2", "{e}1"];
        foreach (string name in names) Insert(name);
        Span<uint> found = new uint[64];
        var met = new HashSet<string>();
        for (ulong i = 0; i < 64; i++)
        {
            ulong place = i << 58 | i * 0x9E3779B97F4A7C15 >> 6;
            Keyspace.PrefetchSampled(place, 3, onlyExpiring: false, found);
            int n = Keyspace.Sample(place, 3, onlyExpiring: false, found);
            Assert.InRange(n, 3, names.Length);
            foreach (uint handle in found[..n]) met.Add(Encoding.ASCII.GetString(Keyspace.KeyOf(handle)));
        }
        Assert.Equal(names.Order(), met.Order());
    }

    [Fact]
    public void EveryKeyIsDrawnAsOften()
    {
        string[] names = ["{a}1", "{a}2", "{a}3", "{b}1", "{c}1", "{d}1", "{d}2", "{e}1"];
        foreach (string name in names) Insert(name);
        Assert.True(names.Select(static name => KeySlot.Of(Encoding.ASCII.GetBytes(name))).Distinct().Count() > 3);
        var random = new Random(5);
        var draws = Enumerable.Range(0, 8_000).CountBy(_ => Encoding.ASCII.GetString(Keyspace.KeyOf(Keyspace.RandomHandle(random)))).ToDictionary();
        Assert.Equal(names.Order(), draws.Keys.Order());
        Assert.All(draws.Values, static count => Assert.InRange(count, 800, 1_200));
    }

    [Fact]
    public void CompactionKeepsTheSlots()
    {
        Random random = Seed.Random(output);
        var model = new HashSet<string>();
        for (int i = 0; i < 30_000; i++)
        {
            Insert($"{{{i % 700}}}{i}", random.Next(2) == 0 ? 1_000 : 0);
            if (i % 16 == 0) model.Add($"{{{i % 700}}}{i}");
        }
        for (int i = 0; i < 30_000; i++)
            if (i % 16 != 0) Keyspace.Remove(Find($"{{{i % 700}}}{i}"));
        int steps = 0;
        while (_store.Compact(50)) steps++;
        Assert.InRange(steps, 2, 100_000);
        Check(model);
    }

    /// <summary>In a cluster, the shards of a node share each range of slots that the node serves.</summary>
    [Fact]
    public void TheHashBeginsWithTheSlot()
    {
        for (int i = 0; i < 1_000; i++)
        {
            byte[] key = Encoding.ASCII.GetBytes($"key:{i}");
            Assert.Equal(KeySlot.Of(key), KeySlot.OfHash(KeySlot.HashOf(key)));
            Assert.Equal((uint)KeyHash.Of(key), (uint)KeySlot.HashOf(key));
        }
        var perShard = Enumerable.Range(0, 5_461).CountBy(static slot => (int)(KeySlot.HashOf(slot) >> 60)).ToDictionary();
        Assert.Equal(16, perShard.Count);
        Assert.All(perShard.Values, static count => Assert.InRange(count, 256, 384));
    }

    private Entry Find(string name) => Keyspace.Find(Encoding.ASCII.GetBytes(name), Hash(name));

    private static ulong Hash(string name) => KeySlot.HashOf(Encoding.ASCII.GetBytes(name));

    private void Insert(string name, long expiry = 0) =>
        Keyspace.Insert(Encoding.ASCII.GetBytes(name), Hash(name), ValueType.String, ValueEncoding.Raw, 20, expiry).Value.Clear();

    private void Check(HashSet<string> model)
    {
        StoreCheck.Run(_store);
        Assert.Equal(model.Count, Keyspace.Count);
        foreach (IGrouping<ulong, string> slot in model.GroupBy(static name => KeyIndexes.HashOf((int)(Hash(name) >> KeySlot.HashShift) & (Slots - 1))))
        {
            Assert.Equal(slot.Count(), Keyspace.CountInSlot(slot.Key));
            var names = new List<string>();
            HashIndexWalk walk = Keyspace.WalkSlot(slot.Key);
            while (walk.MoveNext()) names.Add(Encoding.ASCII.GetString(Keyspace.KeyOf(walk.Current)));
            Assert.Equal(slot.Order(), names.Order());
        }
        var met = new List<string>();
        var visitor = new Visitor(Keyspace, met);
        ulong cursor = 0;
        do cursor = Keyspace.Scan(cursor, ref visitor);
        while (cursor != 0);
        Assert.Equal(model.Order(), met.Order());
    }

    private readonly struct Visitor(Keyspace keyspace, List<string> met) : IScanVisitor
    {
        public void Visit(uint handle) => met.Add(Encoding.ASCII.GetString(keyspace.KeyOf(handle)));
    }
}
