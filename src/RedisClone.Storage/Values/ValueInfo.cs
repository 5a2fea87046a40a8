using System.Diagnostics;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;

namespace RedisClone.Storage.Values;

/// <summary>Properties of a value of any type.</summary>
public static class ValueInfo
{
    private const int MaxEmbedded = 44;

    /// <summary>Redis's name for the encoding of a value.</summary>
    public static ReadOnlySpan<byte> EncodingName(in Entry entry) => (entry.Type, entry.Encoding) switch
    {
        (ValueType.String, ValueEncoding.Integer) => "int"u8,
        (ValueType.String, ValueEncoding.Raw) when entry.Value.Length <= MaxEmbedded => "embstr"u8,
        (ValueType.String, _) => "raw"u8,
        (ValueType.Stream, _) => "stream"u8,
        (_, ValueEncoding.Packed or ValueEncoding.Shaped) => "listpack"u8,
        (_, ValueEncoding.PackedWithExpiry) => "listpackex"u8,
        (_, ValueEncoding.Integers) => "intset"u8,
        (ValueType.List, ValueEncoding.Large) => "quicklist"u8,
        (ValueType.SortedSet, ValueEncoding.Large) => "skiplist"u8,
        (ValueType.Hash or ValueType.Set, ValueEncoding.Large) => "hashtable"u8,
        _ => throw new UnreachableException("a record has an encoding that its type does not have"),
    };

    /// <summary>Whether a collection is empty, so that its key must be removed. A stream may be empty.</summary>
    public static bool IsEmptyCollection(in Entry entry) => entry.Type switch
    {
        ValueType.List => ListValue.Count(entry) == 0,
        ValueType.Set => SetValue.Count(entry) == 0,
        ValueType.SortedSet => SortedSetValue.Count(entry) == 0,
        ValueType.Hash => HashValue.Count(entry) == 0,
        _ => false,
    };

    /// <summary>Exact bytes of a key and its value, without its share of the index and without shared field names.</summary>
    public static long MemoryUsage(in Entry entry) => entry.RecordBytes + (entry.Encoding == ValueEncoding.Large
        ? LargeValues.BytesOutside(entry.Keyspace.Store.Arena, entry.Type, entry.Value)
        : 0);

    /// <summary>Whether <see cref="MemoryUsage"/> may take long: for a stream, it visits all consumers of all groups.</summary>
    public static bool IsWalkedForUsage(in Entry entry) =>
        entry.Exists && entry.Type == ValueType.Stream && entry.Encoding == ValueEncoding.Large;

    /// <summary>The number of buckets and records in the index of a large value that has one.</summary>
    public static bool TryGetTable(in Entry entry, out long buckets, out long records)
    {
        buckets = records = 0;
        if (entry.Encoding != ValueEncoding.Large || entry.Type is ValueType.List or ValueType.Stream) return false;
        MemberTable table = entry.Type switch
        {
            ValueType.Hash => LargeHash.Table(entry),
            ValueType.SortedSet => LargeSortedSet.Table(entry),
            _ => SetValue.LargeTable(entry),
        };
        buckets = table.Index.BucketCount;
        records = table.Count;
        return true;
    }

    /// <summary>The number of blocks of a large list.</summary>
    public static long ListBlocks(in Entry entry)
    {
        RankTree<BlockItem> order = LargeList.Order(entry);
        if (order.IsEmpty) return 0;
        TreePath path = order.SeekRank(0, out _);
        long blocks = order.Leaf(ref path).Length;
        while (order.NextLeaf(ref path)) blocks += order.Leaf(ref path).Length;
        return blocks;
    }
}
