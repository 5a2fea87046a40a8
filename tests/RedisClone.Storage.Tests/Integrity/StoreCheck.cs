using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Hashes;
using static RedisClone.Storage.Memory.Integrity;

namespace RedisClone.Storage.Tests;

/// <summary>
/// Walks all data of a store. Every live buffer is reached exactly once, and all indexes, orders, counts and sums match the data
/// they describe. Throws at the first violated invariant.
/// </summary>
internal sealed partial class StoreCheck
{
    private readonly ShardStore _store;
    private readonly HashSet<uint> _reached = [];
    private readonly Dictionary<uint, int> _shapeUsers = [];
    private long _bytes;

    private StoreCheck(ShardStore store) => _store = store;

    private Arena Arena => _store.Arena;

    /// <summary>Checks a store, and keyspaces of it that are not databases. Frees all abandoned data first.</summary>
    public static void Run(ShardStore store, params Keyspace[] others)
    {
        while (!store.FreeAbandoned(1_000)) { }
        store.Arena.Check();
        var check = new StoreCheck(store);
        for (int database = 0; database < store.DatabaseCount; database++)
            if (store.ExistingDatabase(database) is { } keyspace) check.Walk(keyspace);
        check.Walk(store.Scratch);
        foreach (Keyspace other in others) check.Walk(other);
        check.WalkShapes();
        check.CompareSums();
    }

    private void CompareSums()
    {
        if (Arena.LiveBuffers == _reached.Count && Arena.BytesUsed == _bytes) return;
        throw new InvalidOperationException(
            $"{Arena.LiveBuffers} buffers of {Arena.BytesUsed} bytes are live, {_reached.Count} of {_bytes} bytes are reached.\n"
            + Arena.DescribeLive(_reached));
    }

    private int Reach(uint handle)
    {
        Require(handle != 0 && Arena.IsLive(handle), "a handle names a live buffer");
        Require(_reached.Add(handle), "a buffer is reached once");
        int capacity = Arena.Capacity(handle);
        _bytes += capacity;
        return capacity;
    }

    private void Reach(List<uint> handles)
    {
        foreach (uint handle in handles) Reach(handle);
    }

    private Dictionary<uint, uint> Walk(HashIndex index)
    {
        List<uint> buffers = [];
        List<(uint Tag, uint Handle)> records = [];
        index.Check(buffers, records);
        Reach(buffers);
        return records.ToDictionary(record => record.Handle, record => record.Tag);
    }

    private List<T> Walk<T>(RankTree<T> tree) where T : unmanaged, ITreeItem<T>
    {
        List<uint> nodes = [];
        List<T> items = [];
        tree.Check(nodes, items);
        Reach(nodes);
        return items;
    }

    private void Walk(Keyspace keyspace)
    {
        var records = new Dictionary<uint, uint>();
        for (int slot = 0; slot < keyspace.Slots; slot++)
            foreach ((uint handle, uint tag) in Walk(keyspace.KeysOf(KeyIndexes.HashOf(slot)))) records.Add(handle, tag);
        Require(records.Count == keyspace.Count, "a keyspace counts its records");
        Dictionary<uint, uint> expiring = Walk(keyspace.Expires);
        List<TimedHandle> hashes = Walk(keyspace.FieldExpiries.Order);
        CheckOrder(hashes, CompareTimes);
        var fieldExpiries = hashes.ToDictionary(item => item.Handle, item => item.Time);
        long expiringRecords = 0, expiringHashes = 0;
        foreach ((uint handle, uint tag) in records)
        {
            int capacity = Reach(handle);
            var record = new Record(Arena.FromStart(handle));
            Require(record.Whole.Length <= capacity, "a record fits its buffer");
            ulong hash = _store.HashOf(record.Key);
            Require((uint)hash == tag, "a record is found by the hash of its key");
            Entry entry = keyspace.Locate(hash, handle);
            Require(entry.Exists && entry.Handle == handle, "a record is found by its handle");
            if (record.HasExpiry)
            {
                expiringRecords++;
                bool isIndexed = expiring.TryGetValue(handle, out uint expiringTag) && expiringTag == tag;
                Require(isIndexed, "an expiring key is in the index of expiring keys");
            }
            if (record.NextFieldExpiry is not 0 and var next)
            {
                expiringHashes++;
                bool isOrdered = fieldExpiries.TryGetValue(handle, out long time) && time == next;
                Require(isOrdered, "a hash with expiring fields is in their order");
            }
            WalkValue(entry);
        }
        Require(expiringRecords == expiring.Count && expiringHashes == fieldExpiries.Count,
            "no other keys are listed as expiring");
    }

    private static int CompareTimes(TimedHandle a, TimedHandle b) =>
        a.Time != b.Time ? a.Time.CompareTo(b.Time) : a.Handle.CompareTo(b.Handle);

    private static void CheckOrder<T>(List<T> items, Comparison<T> compare)
    {
        for (int i = 1; i < items.Count; i++) Require(compare(items[i - 1], items[i]) < 0, "a tree is in order");
    }

    private void WalkShapes()
    {
        Dictionary<uint, uint> shapes = Walk(_store.Shapes.Index);
        foreach (uint shape in shapes.Keys)
        {
            Reach(shape);
            Require(_shapeUsers.GetValueOrDefault(shape) == _store.Shapes.Users(shape), "a shape counts the hashes that use it");
        }
        Require(_shapeUsers.Keys.All(shapes.ContainsKey), "the shape of a hash exists");
    }

    private void WalkValue(in Entry entry)
    {
        switch (entry.Encoding)
        {
            case ValueEncoding.Large:
                WalkLarge(entry);
                break;
            case ValueEncoding.Shaped:
                uint shape = ShapedFields.ShapeOf(entry.Value);
                _shapeUsers[shape] = _shapeUsers.GetValueOrDefault(shape) + 1;
                int values = Packed.Count(ShapedFields.Values(entry));
                Require(values == ShapedFields.Count(entry), "a shaped hash has a value for each name");
                break;
            case ValueEncoding.Integers:
                CheckIntegers(entry.Value);
                break;
            case ValueEncoding.Packed when entry.Type == ValueType.List:
                var block = new ListBlock(entry.Value);
                Require(Packed.Count(block.Entries) == block.Count, "a list counts its elements");
                break;
            case ValueEncoding.Packed or ValueEncoding.PackedWithExpiry:
                CheckPacked(entry);
                break;
        }
    }

    private static void CheckIntegers(ReadOnlySpan<byte> value)
    {
        int count = Integers.Count(value);
        for (int i = 1; i < count; i++) Require(Integers.At(value, i - 1) < Integers.At(value, i), "integers are sorted");
        Require(Integers.BytesOf(value) == value.Length, "the length of a set of integers matches its content");
    }

    private static void CheckPacked(in Entry entry)
    {
        bool expiring = entry.Encoding == ValueEncoding.PackedWithExpiry;
        PackedValue packed = entry.Type == ValueType.Hash ? PackedFields.Of(entry) : new PackedValue(entry);
        int stride = entry.Type == ValueType.Set ? 1 : expiring ? 3 : 2;
        Require(Packed.Count(packed.Entries) == packed.Count * stride, "a packed value counts its elements");
        if (!expiring) return;
        ReadOnlySpan<byte> entries = packed.Entries;
        for (int at = 0; at < entries.Length;)
        {
            long expiry = PackedFields.Read(entries, at, expiring, out at).Expiry;
            bool isLater = expiry == 0 || entry.Record.NextFieldExpiry is > 0 and var next && next <= expiry;
            Require(isLater, "no field expires before the recorded time of its hash");
        }
    }
}
