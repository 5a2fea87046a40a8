using System.Text;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values.Sets;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class KeyspaceTests(ITestOutputHelper output)
{
    private sealed record Model(byte[] Value, long Expiry, ValueEncoding Encoding);

    /// <summary>Prefetching does not hold the shard, so its handle may be stale or belong to another record.</summary>
    [Fact]
    public void MemberPrefetchToleratesAnyHandle()
    {
        Random random = Seed.Random(output);
        var store = new ShardStore(1, 1);
        Keyspace keyspace = store.Database(0);
        ulong hash = KeyHash.Of("key"u8);
        Entry set = SetValue.Create(keyspace, "key"u8, hash);
        for (int i = 0; i < 20_000; i++) SetValue.Add(set, random.Bytes(random.Next(1, 40)));
        for (int i = 0; i < 200; i++)
        {
            ReadOnlySpan<byte> key = random.Bytes(random.Length(300));
            keyspace.Insert(key, KeyHash.Of(random.Bytes(8)), ValueType.String, ValueEncoding.Raw, random.Length(500));
        }
        uint record = keyspace.PrefetchRecord(hash);
        Assert.True(store.PrefetchMemberBucket(record, "member"u8, out ulong member));
        Assert.Equal(KeyHash.Of("member"u8), member);
        Assert.False(store.PrefetchMemberBucket(0, "member"u8, out _));
        for (int i = 0; i < 200_000; i++)
        {
            uint any = random.Next(2) == 0 ? (uint)random.NextInt64(1L << 32) : (uint)random.Next(1 << 20);
            store.PrefetchMemberBucket(any, "member"u8, out _);
            store.PrefetchMember(any, (ulong)random.NextInt64());
        }
    }

    [Fact]
    public void MatchesDictionaryModel()
    {
        Random random = Seed.Random(output);
        var store = new ShardStore(1, 1);
        Keyspace keyspace = store.Database(0);
        var model = new Dictionary<string, Model>();
        for (int step = 0; step < 60_000; step++)
        {
            string name = Name(random.Next(3_000));
            byte[] key = Encoding.ASCII.GetBytes(name);
            ulong hash = KeyHash.Of(key);
            Entry entry = keyspace.Find(key, hash);
            Assert.Equal(model.TryGetValue(name, out Model? old), entry.Exists);
            if (old is not null) Check(entry, name, old);

            byte[] value = random.Bytes(random.Length(random.Next(20) == 0 ? 200_000 : 500));
            long expiry = random.Next(3) == 0 ? random.NextInt64(1, long.MaxValue) : 0;
            ValueEncoding encoding = random.Next(2) == 0 ? ValueEncoding.Raw : ValueEncoding.Modified;
            if (old is null)
            {
                if (random.Next(3) == 0) continue;
                entry = keyspace.Insert(key, hash, ValueType.String, encoding, value.Length, expiry);
                value.CopyTo(entry.Value);
                model[name] = new Model(value, expiry, encoding);
            }
            else
            {
                switch (random.Next(5))
                {
                    case 0:
                        keyspace.Replace(entry, ValueType.String, encoding, value.Length, expiry);
                        value.CopyTo(entry.Value);
                        model[name] = new Model(value, expiry, encoding);
                        break;
                    case 1:
                        int length = random.Next(2) == 0 ? random.Next(old.Value.Length * 2 + 10) : value.Length;
                        keyspace.Resize(entry, length, random.Next(2) * 100);
                        byte[] resized = new byte[length];
                        int kept = Math.Min(length, old.Value.Length);
                        old.Value.AsSpan(0, kept).CopyTo(resized);
                        entry.Value[kept..].Clear();
                        model[name] = old with { Value = resized };
                        break;
                    case 2:
                        keyspace.SetExpiry(entry, expiry);
                        model[name] = old with { Expiry = expiry };
                        break;
                    default:
                        keyspace.Remove(entry);
                        model.Remove(name);
                        Assert.False(keyspace.Find(key, hash).Exists);
                        continue;
                }
            }
            Check(entry, name, model[name]);
            Check(keyspace.Find(key, hash), name, model[name]);
            Assert.Equal(model.Count, keyspace.Count);
            if (step % 1000 == 0) CheckAll(keyspace, model);
        }
        CheckAll(keyspace, model);
        store.Abandon(0);
        while (!store.FreeAbandoned(10)) { }
        Assert.Equal(0, store.Arena.LiveBuffers);
        Assert.Equal(0, store.PendingFrees);
    }

    private static string Name(int number) => number % 50 == 0 ? new string('k', 300) + number : $"key:{number}";

    private static void Check(in Entry entry, string name, Model expected)
    {
        Assert.True(entry.Key.SequenceEqual(Encoding.ASCII.GetBytes(name)));
        Assert.True(entry.Value.SequenceEqual(expected.Value));
        Assert.Equal(expected.Expiry, entry.Expiry);
        Assert.Equal(expected.Encoding, entry.Encoding);
    }

    private static void CheckAll(Keyspace keyspace, Dictionary<string, Model> model)
    {
        Assert.Equal(model.Values.Count(value => value.Expiry != 0), keyspace.ExpiringCount);
        var all = new Keys(keyspace, []);
        var expiring = new Keys(keyspace, []);
        ulong cursor = 0;
        do cursor = keyspace.Scan(cursor, ref all);
        while (cursor != 0);
        do cursor = keyspace.ScanExpiring(cursor, ref expiring);
        while (cursor != 0);
        Assert.Equal(model.Keys.Order(), all.Names.Order());
        Assert.Equal(model.Where(pair => pair.Value.Expiry != 0).Select(pair => pair.Key).Order(), expiring.Names.Order());

        long records = model.Sum(pair => Arena.RoundUp(keyspace.Find(
            Encoding.ASCII.GetBytes(pair.Key), KeyHash.Of(Encoding.ASCII.GetBytes(pair.Key))).RecordBytes));
        Assert.Equal(keyspace.Store.Arena.BytesUsed, records + keyspace.IndexBytes);
    }

    private readonly struct Keys(Keyspace keyspace, List<string> names) : IScanVisitor
    {
        public List<string> Names => names;

        public void Visit(uint handle) => names.Add(Encoding.ASCII.GetString(keyspace.KeyOf(handle)));
    }
}
