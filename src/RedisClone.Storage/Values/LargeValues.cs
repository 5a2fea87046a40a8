using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Storage.Values;

/// <summary>
/// The common part of values with structures outside their record. The root of these structures lies in the record, as plain
/// bytes.
/// </summary>
internal static class LargeValues
{
    /// <summary>The size of the largest root.</summary>
    public const int MaxRootBytes = 128;

    /// <summary>The root of a large value. Valid until its record moves.</summary>
    public static ref TRoot Root<TRoot>(in Entry entry) where TRoot : struct => ref As<TRoot>(entry.Value);

    /// <summary>
    /// Turns a value into a large one. The caller has already built everything outside the record. If memory is missing, the
    /// value stays unchanged and the new structures are freed. To clients, the value is the same, so this counts as no change.
    /// </summary>
    public static void Publish<TRoot>(in Entry entry, ref TRoot root) where TRoot : struct
    {
        ShardStore store = entry.Keyspace.Store;
        long changes = store.Changes;
        try
        {
            entry.Keyspace.Resize(entry, Unsafe.SizeOf<TRoot>());
            store.TakeBack(changes);
        }
        catch
        {
            FreeAll(entry.Keyspace.Store.Arena, entry.Type, BytesOf(ref root));
            throw;
        }
        As<TRoot>(entry.Value) = root;
        Keyspace.SetForm(entry, entry.Type, ValueEncoding.Large);
    }

    /// <summary>Frees at once all structures of a large value, or of a large value that could not be completed.</summary>
    public static void FreeAll(Arena arena, ValueType type, Span<byte> root)
    {
        uint cursor = 0;
        int budget = int.MaxValue;
        bool done = Free(arena, type, root, ref cursor, ref budget);
        Debug.Assert(done);
    }

    /// <summary>
    /// The offset in a record of the table of a large collection, which begins with the root of its index. Computed from the
    /// header; -1 if there is no such table.
    /// </summary>
    public static int TableOffset(ReadOnlySpan<byte> header)
    {
        if (header.IsEmpty) return -1;
        int value = Record.ValueOffsetOf(header);
        return value < 0 ? -1 : Record.FormOf(header) switch
        {
            (ValueType.Set or ValueType.SortedSet, ValueEncoding.Large) => value,
            (ValueType.Hash, ValueEncoding.Large) => value + sizeof(long),
            _ => -1,
        };
    }

    /// <summary>Bytes that a large value takes outside its record.</summary>
    public static long BytesOutside(Arena arena, ValueType type, Span<byte> root) => type switch
    {
        ValueType.Set => new MemberTable(arena, ref As<TableRoot>(root)).Bytes,
        ValueType.Hash => new MemberTable(arena, ref As<HashRoot>(root).Table).Bytes + As<HashRoot>(root).Expiries.Bytes,
        ValueType.SortedSet =>
            new MemberTable(arena, ref As<SortedSetRoot>(root).Table).Bytes + As<SortedSetRoot>(root).Order.Bytes,
        ValueType.List => As<ListRoot>(root).BlockBytes + As<ListRoot>(root).Order.Bytes,
        ValueType.Stream => As<StreamRoot>(root).BlockBytes + As<StreamRoot>(root).Blocks.Bytes
            + LargeGroups.Bytes(arena, ref As<StreamRoot>(root))
            + StreamProducers.Bytes(arena, As<StreamRoot>(root).Producers),
        _ => throw new UnreachableException($"a {type} has no large form"),
    };

    /// <summary>
    /// Frees a part of the structures of a large value. Returns true when everything is freed. <paramref name="budget"/>
    /// decreases by the work done, in buckets and nodes.
    /// </summary>
    public static bool Free(Arena arena, ValueType type, Span<byte> root, ref uint cursor, ref int budget)
    {
        switch (type)
        {
            case ValueType.Set:
                return FreeTable(arena, ref As<TableRoot>(root), ref cursor, ref budget);
            case ValueType.Hash:
                return FreeTree<TimedHandle>(arena, ref As<HashRoot>(root).Expiries, ref budget)
                    && FreeTable(arena, ref As<HashRoot>(root).Table, ref cursor, ref budget);
            case ValueType.SortedSet:
                return FreeTree<ScoreItem>(arena, ref As<SortedSetRoot>(root).Order, ref budget)
                    && FreeTable(arena, ref As<SortedSetRoot>(root).Table, ref cursor, ref budget);
            case ValueType.List:
                return FreeBlocks(arena, ref As<ListRoot>(root), ref budget);
            case ValueType.Stream:
                return LargeStream.FreeBlocks(arena, ref As<StreamRoot>(root), ref budget)
                    && LargeGroups.Free(arena, ref As<StreamRoot>(root), ref budget)
                    && StreamProducers.Free(arena, ref As<StreamRoot>(root).Producers, ref budget);
            default:
                throw new UnreachableException($"a {type} has no large form");
        }
    }

    private static bool FreeTable(Arena arena, ref TableRoot root, ref uint cursor, ref int budget)
    {
        if (budget <= 0) return false;
        uint from = cursor;
        bool done = new MemberTable(arena, ref root).Drain(ref cursor, budget);
        budget -= (int)(cursor - from) + 1;
        return done;
    }

    public static bool FreeTree<T>(Arena arena, ref TreeRoot root, ref int budget) where T : unmanaged, ITreeItem<T>
    {
        var tree = new RankTree<T>(arena, ref root);
        while (!tree.IsEmpty)
        {
            if (budget-- <= 0) return false;
            tree.DropLastLeaf();
        }
        return true;
    }

    private static bool FreeBlocks(Arena arena, ref ListRoot root, ref int budget)
    {
        var order = new RankTree<BlockItem>(arena, ref root.Order);
        while (!order.IsEmpty)
        {
            if (budget <= 0) return false;
            TreePath path = order.Last();
            foreach (ref readonly BlockItem item in order.Leaf(ref path))
            {
                root.BlockBytes -= arena.Capacity(item.Block);
                arena.Free(item.Block);
                budget--;
            }
            order.DropLastLeaf();
        }
        return true;
    }

    public static ref T As<T>(Span<byte> root) where T : struct => ref MemoryMarshal.AsRef<T>(root);

    /// <summary>The bytes of a root that is not in a record.</summary>
    public static Span<byte> BytesOf<T>(ref T root) where T : struct => MemoryMarshal.AsBytes(new Span<T>(ref root));
}
