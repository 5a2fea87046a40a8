using System.Globalization;
using System.Text;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Storage.Tests;

/// <summary>No single step of a deletion frees more than a slice.</summary>
public sealed class FreeingTests
{
    private const int Slice = 64;

    // A bucket rarely has more than a dozen records. A slice of blocks can exceed its budget by one leaf.
    private const int MostBuffers = Slice * 16 + 200;

    private readonly ShardStore _store = new(1, 1);

    private Keyspace Keyspace => _store.Database(0);

    [Fact]
    public void LargeValuesAreFreedInSlices()
    {
        foreach (Func<int, byte[], ulong, Entry> fill in (Func<int, byte[], ulong, Entry>[])[Set, Hash, SortedSet, List, Stream])
        {
            byte[] key = "key"u8.ToArray();
            ulong hash = KeyHash.Of(key);
            fill(6_000, key, hash);
            long buffers = _store.Arena.LiveBuffers;
            Keyspace.Remove(Keyspace.Find(key, hash));
            Assert.InRange(buffers - _store.Arena.LiveBuffers, 1, 10);
            Assert.Equal(1, _store.PendingFrees);
            Assert.InRange(FreeAll(), 1, 2_000);
        }
        Assert.Equal(5, _store.LazyFreed);
    }

    [Fact]
    public void SmallLargeValuesAreFreedAtOnce()
    {
        byte[] key = "key"u8.ToArray();
        Set(200, key, KeyHash.Of(key));
        Keyspace.Remove(Keyspace.Find(key, KeyHash.Of(key)));
        Assert.Equal(0, _store.Arena.LiveBuffers);
        Assert.Equal(0, _store.PendingFrees);
    }

    [Fact]
    public void ScratchValuesAreFreedAtOnce()
    {
        byte[] key = "key"u8.ToArray();
        ulong hash = KeyHash.Of(key);
        Entry built = SetValue.Create(_store.Scratch, key, hash);
        for (int i = 0; i < 6_000; i++) SetValue.Add(built, Encoding.ASCII.GetBytes($"member {i}"));
        built.Keyspace.Remove(built);
        Assert.Equal(0, _store.Arena.LiveBuffers);
        Assert.Equal(0, _store.PendingFrees);
    }

    [Fact]
    public void DatabaseIsFreedInSlices()
    {
        for (int i = 0; i < 1_500; i++)
        {
            byte[] key = Encoding.ASCII.GetBytes($"key {i}");
            ulong hash = KeyHash.Of(key);
            Entry entry = i % 50 == 0 ? Set(1_000, key, hash)
                : i % 7 == 0 ? Hash(20, key, hash)
                : Keyspace.Insert(key, hash, ValueType.String, ValueEncoding.Raw, 10);
            if (i % 3 == 0) Keyspace.SetExpiry(entry, 1_000 + i);
        }
        Assert.Equal(1_500, _store.Abandon(0));
        Assert.Equal(0, Keyspace.Count);
        Assert.Equal(1_500, _store.PendingFrees);
        Assert.InRange(FreeAll(), 20, 2_000);
        Assert.Equal(1_500 + 30, _store.LazyFreed);
    }

    /// <summary>A flush that frees a part at once must not free that part again later.</summary>
    [Theory]
    [InlineData(0)]
    [InlineData(10)]
    [InlineData(200)]
    [InlineData(100_000)]
    public void PartOfDatabaseIsFreedAtOnceAndRestInSlices(int buckets)
    {
        for (int i = 0; i < 2_000; i++)
        {
            byte[] key = Encoding.ASCII.GetBytes($"key {i}");
            Entry entry = i % 20 == 0 ? Set(1_000, key, KeyHash.Of(key)) : Hash(3, key, KeyHash.Of(key));
            if (i % 3 == 0) Keyspace.SetExpiry(entry, 1_000 + i);
        }
        Assert.Equal(2_000, _store.Abandon(0, buckets));
        Assert.Equal(0, Keyspace.Count);
        Set(1_000, "key"u8.ToArray(), KeyHash.Of("key"u8));
        while (!_store.FreeAbandoned(Slice)) { }
        Assert.False(_store.IsFreeing);
        Assert.Equal(1_000, SetValue.Count(Keyspace.Find("key"u8, KeyHash.Of("key"u8))));
        Keyspace.Remove(Keyspace.Find("key"u8, KeyHash.Of("key"u8)));
        FreeAll();
    }

    private int FreeAll()
    {
        int slices = 0;
        bool done;
        do
        {
            long before = _store.Arena.LiveBuffers;
            done = _store.FreeAbandoned(Slice);
            Assert.InRange(before - _store.Arena.LiveBuffers, 0, MostBuffers);
            slices++;
        }
        while (!done);
        Assert.Equal(0, _store.Arena.LiveBuffers);
        Assert.Equal(0, _store.PendingFrees);
        return slices;
    }

    private static byte[] Name(int number) =>
        Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"member {number:D6}"));

    private Entry Set(int members, byte[] key, ulong hash)
    {
        Entry entry = SetValue.Create(Keyspace, key, hash);
        for (int i = 0; i < members; i++) SetValue.Add(entry, Name(i));
        return entry;
    }

    private Entry Hash(int fields, byte[] key, ulong hash)
    {
        Entry entry = HashValue.Create(Keyspace, key, hash);
        for (int i = 0; i < fields; i++) HashValue.Set(entry, Name(i), "v"u8, expiry: i % 2 * 1_000_000);
        return entry;
    }

    private Entry SortedSet(int members, byte[] key, ulong hash)
    {
        Entry entry = SortedSetValue.Create(Keyspace, key, hash);
        for (int i = 0; i < members; i++) SortedSetValue.Set(entry, Name(i), i, out _);
        return entry;
    }

    private Entry List(int elements, byte[] key, ulong hash)
    {
        Entry entry = ListValue.Create(Keyspace, key, hash);
        for (int i = 0; i < elements; i++) ListValue.Push(entry, ListEnd.Tail, new byte[200]);
        return entry;
    }

    /// <summary>A stream with a group in which all entries are pending, and with the producers of these entries.</summary>
    private Entry Stream(int entries, byte[] key, ulong hash)
    {
        Entry entry = StreamValue.Create(Keyspace, key, hash);
        StreamGroup group = StreamGroup.Add(entry, "group"u8, StreamId.Min, 0);
        StreamProducers producers = StreamProducers.Obtain(entry, 100, 10);
        for (int i = 1; i <= entries; i++)
        {
            var id = new StreamId((ulong)i, 0);
            StreamValue.Append(entry, id, new Field());
            if (!group.TryGetConsumer(Name(i % 50), out StreamConsumer consumer)) consumer = group.AddConsumer(Name(i % 50), 1);
            group.SetPending(id, consumer, i, 1);
            producers.Remember(Name(i % 30), Name(i), id);
        }
        group.TryNextByTime(0, StreamId.Min, out _);
        return entry;
    }

    private readonly struct Field : IStreamFields
    {
        public int Count => 1;

        public ReadOnlySpan<byte> Name(int index) => "name"u8;

        public ReadOnlySpan<byte> Value(int index) => new byte[200];
    }
}
