using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class HashValueTests(ITestOutputHelper output) : ValueTestBase(output)
{
    private readonly Dictionary<string, (string Value, long Expiry)> _model = [];

    private struct Removed(List<string> names) : IElementVisitor
    {
        public readonly void Visit(scoped Element element) => names.Add(Text(element));
    }

    [Theory]
    [InlineData(100, 64, 60, false)]
    [InlineData(20, 64, 60, true)]
    [InlineData(20, 30, 500, true)]
    [InlineData(0, 64, 2_000, true)]
    [InlineData(50, 64, 2_000, false)]
    public void MatchesDictionaryModel(int entries, int value, int fields, bool expiring)
    {
        Store.Limits = new ValueLimits { HashMaxListpackEntries = entries, HashMaxListpackValue = value };
        Store.Now = 1_000;
        bool wasLarge = false;
        int steps = Math.Max(fields * 4, 4_000);
        for (int step = 0; step < steps; step++)
        {
            Entry hash = Entry;
            if (!hash.Exists || step % 53 == 0)
            {
                hash = Renew(Math.Min(fields, 40));
                wasLarge = Encoding_(hash) == "hashtable";
            }
            string name = RandomText(fields, 100);
            byte[] nameBytes = Bytes(name);
            bool known = _model.TryGetValue(name, out (string Value, long Expiry) old);
            bool alive = known && IsAlive(old.Expiry);
            switch (Random.Next(10))
            {
                case < 5:
                    string text = RandomText(1_000, 100);
                    long expiry = !expiring ? 0 : Random.Next(4) switch { 0 => Later(), 1 => HashValue.KeepExpiry, _ => 0 };
                    int before = (int)HashValue.Count(hash);
                    bool added = HashValue.Set(hash, nameBytes, Bytes(text), expiry);
                    if (expiry == HashValue.KeepExpiry) expiry = known ? old.Expiry : 0;
                    else Assert.Equal(!alive, added);
                    _model[name] = (text, expiry);
                    Assert.Equal(before + (known ? 0 : 1), HashValue.Count(hash));
                    break;
                case < 7 when step > steps / 2 || Random.Next(3) == 0:
                    Assert.Equal(alive, HashValue.Remove(hash, nameBytes));
                    _model.Remove(name);
                    break;
                case 7 when expiring:
                    long time = Random.Next(3) == 0 ? 0 : Later();
                    Assert.Equal(known, HashValue.SetExpiry(hash, nameBytes, time));
                    if (known) _model[name] = (old.Value, time);
                    break;
                case 8 when expiring:
                    Store.Now += Random.Next(200);
                    if (Random.Next(2) == 0) RemoveExpired(Random.Next(1, 20));
                    break;
                default:
                    Assert.Equal(alive, HashValue.TryGet(hash, nameBytes, out HashField field));
                    if (alive)
                    {
                        Assert.True(field.Name.Is(nameBytes));
                        Assert.True(field.Value.Is(Bytes(old.Value)));
                        Assert.Equal(old.Expiry, field.Expiry);
                    }
                    break;
            }
            wasLarge |= _model.Count > entries;
            if (wasLarge) Assert.Equal("hashtable", Encoding_(hash));
            if (step % (steps / 40) == 0) Check(Keyspace);
            CheckMemory();
            if (_model.Count == 0)
            {
                Assert.Equal(0, HashValue.Count(hash));
                Keyspace.Remove(hash);
                while (!Store.FreeAbandoned(10)) { }
            }
        }
        Check(Keyspace);
        CheckCopyAndRemoval(Check);
    }

    [Fact]
    public void SamplesAreFairAndDistinct()
    {
        foreach (int fields in (int[])[8, 1_000])
        {
            Entry hash = HashValue.Create(Keyspace, Key, Hash);
            for (int i = 0; i < fields; i++) HashValue.Set(hash, Bytes($"field {i}"), "v"u8);
            foreach (int wanted in (int[])[0, 1, fields / 8, fields / 2, fields - 1, fields, fields + 5])
            {
                var names = new HashSet<string>();
                foreach (HashField field in HashValue.Sample(hash, wanted)) Assert.True(names.Add(Text(field.Name)));
                Assert.Equal(Math.Min(wanted, fields), names.Count);
            }
            var drawn = new Dictionary<string, int>();
            const int Draws = 40_000;
            for (int i = 0; i < Draws; i++)
            {
                Assert.True(HashValue.TryGetRandom(hash, out HashField field));
                drawn[Text(field.Name)] = drawn.GetValueOrDefault(Text(field.Name)) + 1;
            }
            double expected = (double)Draws / fields;
            double differences = drawn.Values.Sum(n => (n - expected) * (n - expected) / expected);
            double deviation = differences + (fields - drawn.Count) * expected;
            Assert.InRange(deviation, 0, fields + 10 * Math.Sqrt(2 * fields));
            Keyspace.Remove(hash);
        }
    }

    [Fact]
    public void EncodingFollowsLimits()
    {
        Store.Limits = new ValueLimits { HashMaxListpackEntries = 4, HashMaxListpackValue = 10 };
        Entry hash = HashValue.Create(Keyspace, Key, Hash);
        for (int i = 0; i < 4; i++) HashValue.Set(hash, Bytes($"f{i}"), "1234567890"u8);
        Assert.Equal("listpack", Encoding_(hash));
        HashValue.SetExpiry(hash, "f1"u8, 50);
        Assert.Equal("listpackex", Encoding_(hash));
        HashValue.Set(hash, "f1"u8, "12345678901"u8);
        Assert.Equal("hashtable", Encoding_(hash));
        Assert.Equal(1, Keyspace.Count);
        Keyspace.Remove(hash);

        hash = HashValue.Create(Keyspace, Key, Hash);
        for (int i = 0; i < 5; i++)
        {
            Assert.Equal("listpack", Encoding_(hash));
            HashValue.Set(hash, Bytes($"f{i}"), "1"u8);
        }
        Assert.Equal("hashtable", Encoding_(hash));
        Keyspace.Remove(hash);

        hash = HashValue.Create(Keyspace, Key, Hash);
        HashValue.Reserve(hash, 5, 1);
        Assert.Equal("hashtable", Encoding_(hash));
    }

    [Fact]
    public void ScanVisitsPermanentEntries()
    {
        Entry hash = HashValue.Create(Keyspace, Key, Hash);
        for (int i = 0; i < 2_000; i++) HashValue.Set(hash, Bytes($"stays {i}"), "v"u8);
        var met = new HashSet<string>();
        ulong cursor = 0;
        int step = 0;
        do
        {
            foreach (HashField field in HashValue.Scan(hash, ref cursor)) met.Add(Text(field.Name));
            for (int i = 0; i < 5; i++)
            {
                if (step < 300) HashValue.Set(hash, Bytes($"passes {step} {i}"), "v"u8);
                else HashValue.Remove(hash, Bytes($"passes {step - 300} {i}"));
            }
            step++;
        }
        while (cursor != 0);
        Assert.Equal(2_000, met.Count(name => name.StartsWith("stays", StringComparison.Ordinal)));
    }

    /// <summary>All hashes with these names store them once. The last one frees them.</summary>
    [Fact]
    public void HashesOfOneShapeShareNames()
    {
        var names = new FieldNames([.. Enumerable.Range(0, 8).Select(i => Bytes($"a rather long name of a field {i}"))]);
        byte[][] keys = [.. Enumerable.Range(0, 500).Select(i => Bytes($"key {i}"))];
        foreach (byte[] key in keys)
        {
            var values = new Values([.. Enumerable.Range(0, 8).Select(i => Bytes($"{i}"))]);
            HashValue.Import(Keyspace, key, KeyHash.Of(key), names, values);
        }
        Assert.InRange(Store.ShapeBytes, 1, 2_000);
        Assert.InRange(Store.Arena.BytesUsed, 500 * 16, 500 * 100);
        long shared = Store.Arena.BytesUsed;
        Entry own = Keyspace.Find(keys[7], KeyHash.Of(keys[7]));
        Assert.False(HashValue.Set(own, names[3], "another value"u8));
        Assert.True(HashValue.TryGet(own, names[3], out HashField field));
        Assert.True(field.Value.Is("another value"u8));
        Assert.InRange(Store.Arena.BytesUsed, shared, shared + 50);
        Assert.False(HashValue.Remove(own, "no such field"u8));
        Assert.True(HashValue.Remove(own, names[3]));
        Assert.InRange(Store.Arena.BytesUsed, shared + 150, shared + 500);
        foreach (byte[] key in keys) Keyspace.Remove(Keyspace.Find(key, KeyHash.Of(key)));
        Assert.Equal(0, Store.ShapeBytes);
        Assert.Equal(0, Store.Arena.BytesUsed);
    }

    /// <summary>
    /// Loaded hashes share their names from the second hash of a shape on. A hash with other names does not share them.
    /// </summary>
    [Fact]
    public void LoadedHashesShareNamesAgain()
    {
        for (int i = 0; i < 100; i++)
        {
            byte[] key = Bytes($"key {i}");
            Entry hash = HashValue.Create(Keyspace, key, KeyHash.Of(key));
            for (int j = 0; j < 6; j++)
                HashValue.Set(hash, Bytes(i == 50 ? $"another {j}" : $"a field of some length {j}"), Bytes($"{i * j}"));
            HashValue.ShareNames(hash);
        }
        Assert.InRange(Store.ShapeBytes, 1, 1_000);
        Assert.InRange(Store.Arena.BytesUsed, 0, 100 * 100);
        for (int i = 0; i < 100; i++)
        {
            byte[] key = Bytes($"key {i}");
            Entry hash = Keyspace.Find(key, KeyHash.Of(key));
            int j = 0;
            foreach (HashField field in HashValue.Fields(hash))
            {
                Assert.True(field.Name.Is(Bytes(i == 50 ? $"another {j}" : $"a field of some length {j}")));
                Assert.True(field.Value.Is(Bytes($"{i * j++}")));
            }
            Assert.Equal(6, j);
            Keyspace.Remove(hash);
        }
        Assert.Equal(0, Store.Arena.BytesUsed);
    }

    private Entry Renew(int fields)
    {
        if (Entry.Exists) Keyspace.Remove(Entry);
        while (!Store.FreeAbandoned(10)) { }
        _model.Clear();
        if (Random.Next(2) == 0) return HashValue.Create(Keyspace, Key, Hash);
        for (int i = Random.Next(1, fields); i >= 0; i--) _model[RandomText(fields, 100)] = (RandomText(1_000, 100), 0);
        var names = new FieldNames([.. _model.Keys.Select(Bytes)]);
        HashValue.Import(Keyspace, Key, Hash, names, new Values([.. _model.Values.Select(field => Bytes(field.Value))]));
        return Entry;
    }

    private readonly struct Values(byte[][] texts) : ITexts
    {
        public ReadOnlySpan<byte> this[int index] => texts[index];
    }

    private bool IsAlive(long expiry) => expiry == 0 || expiry >= Store.Now;

    private long Later() => Store.Now + Random.Next(1, 1_000);

    private void RemoveExpired(int limit)
    {
        var names = new List<string>();
        var removed = new Removed(names);
        int count = HashValue.RemoveExpired(Entry, limit, ref removed);
        Assert.Equal(names.Count, count);
        Assert.Equal(Math.Min(limit, _model.Values.Count(field => !IsAlive(field.Expiry))), count);
        foreach (string name in names)
        {
            Assert.False(IsAlive(_model[name].Expiry));
            _model.Remove(name);
        }
    }

    private void Check(Keyspace keyspace)
    {
        Entry hash = keyspace.Find(Key, Hash);
        if (!hash.Exists) return;
        var found = new Dictionary<string, (string, long)>();
        foreach (HashField field in HashValue.Fields(hash)) found.Add(Text(field.Name), (Text(field.Value), field.Expiry));
        Dictionary<string, (string, long)> alive =
            _model.Where(pair => IsAlive(pair.Value.Expiry)).ToDictionary(pair => pair.Key, pair => pair.Value);
        Assert.Equal(
            alive.OrderBy(pair => pair.Key, StringComparer.Ordinal), found.OrderBy(pair => pair.Key, StringComparer.Ordinal));
        Assert.Equal(_model.Count, HashValue.Count(hash));

        long next = _model.Values.Where(field => field.Expiry != 0).Select(field => field.Expiry).DefaultIfEmpty().Min();
        Assert.Equal(next, HashValue.NextExpiry(hash));
        Assert.Equal(next == 0 ? 0 : 1, keyspace.ExpiringHashCount);
        Assert.Equal(next != 0 && next < Store.Now ? hash.Handle : 0, keyspace.DueHash);

        var scanned = new HashSet<string>();
        ulong cursor = 0;
        do
        {
            foreach (HashField field in HashValue.Scan(hash, ref cursor)) scanned.Add(Text(field.Name));
        }
        while (cursor != 0);
        Assert.Equal(alive.Count, scanned.Count);
        Assert.Equal(alive.Count > 0, HashValue.TryGetRandom(hash, out HashField random));
        if (alive.Count > 0) Assert.Contains(Text(random.Name), alive.Keys);
    }
}
