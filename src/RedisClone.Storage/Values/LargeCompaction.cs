using System.Diagnostics;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Storage.Values;

/// <summary>The progress of the compaction of one large value.</summary>
internal struct CompactionPlace
{
    public bool TableDone;
    public int Part;              // of a stream: its blocks (0), then the parts of LargeGroups
    public long Group;            // of a stream: the group that Part and Position refer to
    public long Position;         // a bucket of the table, then a rank of the tree
}

/// <summary>Moves the buffers of large values out of leaving slabs, in steps.</summary>
internal static class LargeCompaction
{
    /// <summary>
    /// Continues the compaction of a value. Returns true when it is complete. If the value changes between two calls, some of its
    /// buffers may be skipped. These stay where they are.
    /// </summary>
    public static bool Compact(
        Arena arena, ValueType type, Span<byte> root, ref CompactionPlace place, ref int budget) => type switch
    {
        ValueType.Set => CompactTable(
            new MemberTable(arena, ref LargeValues.As<TableRoot>(root)), new Members(arena), ref place, ref budget),
        ValueType.Hash => CompactHash(arena, ref LargeValues.As<HashRoot>(root), ref place, ref budget),
        ValueType.SortedSet => CompactSortedSet(arena, ref LargeValues.As<SortedSetRoot>(root), ref place, ref budget),
        ValueType.List => CompactTree(
            new RankTree<BlockItem>(arena, ref LargeValues.As<ListRoot>(root).Order),
            ref place, ref budget, new Blocks<BlockItem>(arena)),
        ValueType.Stream => CompactStream(arena, ref LargeValues.As<StreamRoot>(root), ref place, ref budget),
        _ => throw new UnreachableException($"a {type} has no large form"),
    };

    private static bool CompactHash(Arena arena, ref HashRoot root, ref CompactionPlace place, ref int budget)
    {
        var table = new MemberTable(arena, ref root.Table);
        return CompactTable(table, new Fields(arena, ref root), ref place, ref budget)
            && CompactTree(
                new RankTree<TimedHandle>(arena, ref root.Expiries), ref place, ref budget, default(NoItems<TimedHandle>));
    }

    private static bool CompactSortedSet(Arena arena, ref SortedSetRoot root, ref CompactionPlace place, ref int budget)
    {
        var table = new MemberTable(arena, ref root.Table);
        return CompactTable(table, new Scores(arena, ref root), ref place, ref budget)
            && CompactTree(new RankTree<ScoreItem>(arena, ref root.Order), ref place, ref budget, default(NoItems<ScoreItem>));
    }

    private static bool CompactStream(Arena arena, ref StreamRoot root, ref CompactionPlace place, ref int budget)
    {
        if (place.Part == 0)
        {
            var tree = new RankTree<StreamBlockItem>(arena, ref root.Blocks);
            if (!CompactTree(tree, ref place, ref budget, new Blocks<StreamBlockItem>(arena))) return false;
            place = new CompactionPlace { Part = LargeGroups.FirstPart };
        }
        return LargeGroups.Compact(arena, ref root, ref place, ref budget);
    }

    private static bool CompactTable<TMover>(MemberTable table, TMover mover, ref CompactionPlace place, ref int budget)
        where TMover : struct, IRecordMover, allows ref struct
    {
        for (; !place.TableDone && budget > 0; budget--)
        {
            if (place.Position >= table.Index.BucketCount) place = new CompactionPlace { TableDone = true };
            else table.Compact((uint)place.Position++, ref mover);
        }
        return place.TableDone;
    }

    public static bool CompactTree<T, TMover>(RankTree<T> tree, ref CompactionPlace place, ref int budget, TMover mover)
        where T : unmanaged, ITreeItem<T>
        where TMover : struct, IItemMover<T>
    {
        while (place.Position < tree.Weight)
        {
            if (budget <= 0) return false;
            TreePath path = tree.Compact(place.Position);
            place.Position -= T.WeightOf(tree.Leaf(ref path)[..path[0].Index]);
            int items = tree.Leaf(ref path).Length;
            for (path[0].Index = 0; path[0].Index < items; path[0].Index++)
                if (mover.TryMove(tree.At(ref path), out T moved)) tree.Update(ref path, moved);
            place.Position += Math.Max(1, T.WeightOf(tree.Leaf(ref path)));
            budget -= 1 + items / 8;
        }
        return true;
    }

    /// <summary>Moves the buffer that an item of a tree refers to.</summary>
    internal interface IItemMover<T>
    {
        bool TryMove(T item, out T moved);
    }

    internal readonly struct NoItems<T> : IItemMover<T>
    {
        public bool TryMove(T item, out T moved)
        {
            moved = item;
            return false;
        }
    }

    private readonly struct Blocks<T>(Arena arena) : IItemMover<T> where T : struct, IBlockItem<T>
    {
        public bool TryMove(T item, out T moved)
        {
            moved = item;
            if (!arena.TryMove(item.Block, out uint block)) return false;
            arena.Free(item.Block);
            moved = item.MovedTo(block);
            return true;
        }
    }

    private readonly struct Members(Arena arena) : IRecordMover
    {
        public bool TryMove(uint tag, uint handle, out uint moved)
        {
            if (!arena.TryMove(handle, out moved)) return false;
            arena.Free(handle);
            return true;
        }
    }

    private readonly ref struct Fields(Arena arena, ref HashRoot root) : IRecordMover
    {
        private readonly ref HashRoot _root = ref root;

        public bool TryMove(uint tag, uint handle, out uint moved)
        {
            if (!arena.TryMove(handle, out moved)) return false;
            long expiry = new MemberTable(arena, ref _root.Table).Read(handle).Number;
            if (expiry != 0)
            {
                var expiries = new TimeTree(arena, ref _root.Expiries);
                if (!expiries.TryAdd(expiry, moved))
                {
                    arena.Free(moved);
                    moved = handle;
                    return false;
                }
                expiries.Remove(expiry, handle);
            }
            arena.Free(handle);
            return true;
        }
    }

    private readonly ref struct Scores(Arena arena, ref SortedSetRoot root) : IRecordMover
    {
        private readonly ref SortedSetRoot _root = ref root;

        public bool TryMove(uint tag, uint handle, out uint moved)
        {
            if (!arena.TryMove(handle, out moved)) return false;
            LargeSortedSet.Redirect(arena, ref _root, handle, moved);
            arena.Free(handle);
            return true;
        }
    }
}
