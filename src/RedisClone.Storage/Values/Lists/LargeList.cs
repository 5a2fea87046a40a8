using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Lists;

/// <summary>The root of a large list.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct ListRoot
{
    public TreeRoot Order;

    /// <summary>Bytes of all blocks.</summary>
    public long BlockBytes;
}

/// <summary>A block of a large list.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly record struct BlockItem(uint Block, int Count) : IBlockItem<BlockItem>
{
    public BlockItem MovedTo(uint block) => this with { Block = block };
}

/// <summary>
/// A large list: blocks of packed elements in a tree that knows the number of elements below each node. Blocks have the same
/// limits as the nodes of a Redis quicklist. An element above these limits has a block of its own.
/// </summary>
internal static class LargeList
{
    private const int LeastBytes = 128;

    public static RankTree<BlockItem> Order(in Entry entry) =>
        new(entry.Keyspace.Store.Arena, ref LargeValues.Root<ListRoot>(entry).Order);

    public static ListBlock Block(Arena arena, BlockItem item) => new(arena.Whole(item.Block));

    /// <summary>Turns a list of one block within its record into a large list.</summary>
    public static void Convert(in Entry entry)
    {
        var packed = new ListBlock(entry.Value);
        ListRoot root = default;
        if (packed.Count > 0)
        {
            Arena arena = entry.Keyspace.Store.Arena;
            BlockItem item = NewBlock(arena, ref root, packed.Used) with { Count = packed.Count };
            Block(arena, item).Fill(packed.Entries, packed.Count);
            TreePath path = default;
            InsertBlock(arena, ref root, ref path, item);
        }
        LargeValues.Publish(entry, ref root);
    }

    /// <summary>
    /// Moves the only block of a large list into the record, if it is less than half of the limit and there is memory for it.
    /// </summary>
    public static void TryPack(in Entry entry)
    {
        RankTree<BlockItem> order = Order(entry);
        if (!order.IsOneItem) return;
        Arena arena = entry.Keyspace.Store.Arena;
        TreePath path = order.Last();
        BlockItem item = order.At(ref path);
        ListBlock block = Block(arena, item);
        if (!ListLimit.Of(entry).HoldsHalf(block.Used, item.Count)) return;

        ListRoot root = LargeValues.Root<ListRoot>(entry);
        try
        {
            entry.Keyspace.Resize(entry, ListBlock.HeaderBytes + block.Used);
        }
        catch (OutOfMemoryException)
        {
            return;
        }
        Keyspace.SetForm(entry, ValueType.List, ValueEncoding.Packed);
        ListBlock.Format(entry.Value).Fill(block.Entries, item.Count);
        LargeValues.FreeAll(arena, ValueType.List, LargeValues.BytesOf(ref root));
    }

    public static Element Get(in Entry entry, long index)
    {
        RankTree<BlockItem> order = Order(entry);
        TreePath path = Seek(order, index, out long within);
        ListBlock block = Block(entry, order.At(ref path));
        return Packed.Read(block.Entries, block.PositionOf((int)within), out _);
    }

    public static void Insert(in Entry entry, long index, Element element, int length)
    {
        RankTree<BlockItem> order = Order(entry);
        if (order.IsEmpty)
        {
            TreePath start = default;
            InsertAlone(entry, ref start, element);
            return;
        }
        bool atEnd = index == order.Weight;
        long within = 0;
        TreePath path = atEnd ? order.Last() : Seek(order, index, out within);
        BlockItem item = order.At(ref path);
        if (atEnd) within = item.Count;
        if (TryInsert(entry, ref path, item, (int)within, element, length)) return;

        if (within == 0)
        {
            if (index > 0)
            {
                TreePath before = order.SeekRank(index - 1, out _);
                BlockItem previous = order.At(ref before);
                if (TryInsert(entry, ref before, previous, previous.Count, element, length)) return;
            }
            InsertAlone(entry, ref path, element);
            return;
        }
        if (within == item.Count)
        {
            path[0].Index++;
            InsertAlone(entry, ref path, element);
            return;
        }
        // Cutting the block does not change the list. If a later step fails, the list stays valid.
        CutBlock(entry, ref path, (int)within);
        item = order.At(ref path);
        if (TryInsert(entry, ref path, item, item.Count, element, length)) return;
        path = order.SeekRank(index, out _);
        item = order.At(ref path);
        if (!TryInsert(entry, ref path, item, 0, element, length)) InsertAlone(entry, ref path, element);
    }

    public static void Set(in Entry entry, long index, Element element, int length)
    {
        RankTree<BlockItem> order = Order(entry);
        TreePath path = order.SeekRank(index, out long within);
        BlockItem item = order.At(ref path);
        ListBlock block = Block(entry, item);
        int at = block.PositionOf((int)within), old = Packed.Next(block.Entries, at) - at;
        if (!ListLimit.Of(entry).AdmitsInstead(block, old, length))
        {
            Insert(entry, index, element, length);
            RemoveAt(entry, index + 1, 1);
            return;
        }
        int size = Packed.SizeOf(element);
        item = MakeRoom(entry, item, size - old);
        Packed.Write(Block(entry, item).Splice(at, old, size), element);
        order.Update(ref path, GiveBack(entry, item));
    }

    public static void RemoveAt(in Entry entry, long index, long count)
    {
        RankTree<BlockItem> order = Order(entry);
        while (count > 0)
        {
            TreePath path = Seek(order, index, out long within);
            BlockItem item = order.At(ref path);
            int removed = (int)Math.Min(count, item.Count - within);
            count -= removed;
            if (removed < item.Count)
            {
                ListBlock block = Block(entry, item);
                block.Remove(block.PositionOf((int)within), removed);
            }
            Store(entry, ref path, item, item.Count - removed);
        }
    }

    /// <summary>Removes up to <paramref name="limit"/> elements equal to one, starting at one end. Returns how many.</summary>
    public static long Remove(in Entry entry, Element element, long limit, ListEnd from)
    {
        RankTree<BlockItem> order = Order(entry);
        long removed = 0, passed = 0;
        while (removed < limit && passed < order.Weight)
        {
            TreePath path = order.SeekRank(from == ListEnd.Head ? passed : order.Weight - 1 - passed, out _);
            BlockItem item = order.At(ref path);
            ListBlock block = Block(entry, item);
            removed += ListValue.Remove(block, element, limit - removed, from);
            int left = block.Count;
            passed += left;
            if (left != item.Count) Store(entry, ref path, item, left);
        }
        return removed;
    }

    /// <summary>Records how many elements are left in a block, and frees a block that has none.</summary>
    private static void Store(in Entry entry, scoped ref TreePath path, BlockItem item, int count)
    {
        if (count == 0)
        {
            FreeBlock(entry, item);
            Order(entry).Remove(ref path);
            return;
        }
        Order(entry).Update(ref path, GiveBack(entry, item) with { Count = count });
    }

    /// <summary>
    /// The path to the block of an index. The last element, which queues read all the time, is found without counting.
    /// </summary>
    private static TreePath Seek(RankTree<BlockItem> order, long index, out long within)
    {
        if (index < order.Weight - 1) return order.SeekRank(index, out within);
        TreePath path = order.Last();
        within = order.At(ref path).Count - 1;
        return path;
    }

    private static bool TryInsert(
        in Entry entry, scoped ref TreePath path, BlockItem item, int within, Element element, int length)
    {
        if (!ListLimit.Of(entry).Admits(Block(entry, item), length)) return false;
        Order(entry).Update(ref path, InsertInto(entry, item, within, element));
        return true;
    }

    private static BlockItem InsertInto(in Entry entry, BlockItem item, int within, Element element)
    {
        item = MakeRoom(entry, item, Packed.SizeOf(element));
        ListBlock block = Block(entry, item);
        block.Insert(block.PositionOf(within), element);
        return item with { Count = block.Count };
    }

    /// <summary>
    /// Inserts an element in a block of its own before the block of the path. The path then leads to the new block.
    /// </summary>
    private static void InsertAlone(in Entry entry, scoped ref TreePath path, Element element)
    {
        BlockItem item = NewBlock(entry, Math.Max(LeastBytes - ListBlock.HeaderBytes, Packed.SizeOf(element)));
        Block(entry, item).Insert(0, element);
        InsertBlock(entry.Keyspace.Store.Arena, ref LargeValues.Root<ListRoot>(entry), ref path, item with { Count = 1 });
    }

    /// <summary>Inserts a block into the tree. Frees the block and throws if memory is missing.</summary>
    private static void InsertBlock(Arena arena, ref ListRoot root, scoped ref TreePath path, BlockItem item)
    {
        if (new RankTree<BlockItem>(arena, ref root.Order).TryInsert(ref path, item)) return;
        FreeBlock(arena, ref root, item);
        Arena.ThrowOutOfMemory();
    }

    /// <summary>Cuts a block in two. The path leads to the first part.</summary>
    private static void CutBlock(in Entry entry, scoped ref TreePath path, int within)
    {
        RankTree<BlockItem> order = Order(entry);
        BlockItem item = order.At(ref path);
        ListBlock block = Block(entry, item);
        int at = block.PositionOf(within), moved = block.Used - at;
        BlockItem right = NewBlock(entry, moved) with { Count = item.Count - within };
        Block(entry, right).Fill(block.Entries[at..], right.Count);
        path[0].Index++;
        InsertBlock(entry.Keyspace.Store.Arena, ref LargeValues.Root<ListRoot>(entry), ref path, right);
        order.StepBack(ref path);
        block.Splice(at, moved, 0);
        block.Count = within;
        Store(entry, ref path, item, within);
    }

    private static BlockItem MakeRoom(in Entry entry, BlockItem item, int bytes)
    {
        ListBlock block = Block(entry, item);
        if (block.Free >= bytes) return item;
        // Doubles the block, but not beyond the limit of a block.
        int used = block.Used + bytes, limit = Math.Max(used, ListLimit.Of(entry).BlockBytes - ListBlock.HeaderBytes);
        return Resized(entry, item, Math.Min(limit, used * 2L));
    }

    /// <summary>Moves a sparsely used block to a smaller buffer, if there is memory for it.</summary>
    private static BlockItem GiveBack(in Entry entry, BlockItem item)
    {
        ListBlock block = Block(entry, item);
        if (block.Free <= LeastBytes + 3L * block.Used) return item;
        try
        {
            return Resized(entry, item, block.Used * 2L);
        }
        catch (OutOfMemoryException)
        {
            return item;
        }
    }

    private static BlockItem Resized(in Entry entry, BlockItem item, long bytes)
    {
        ListBlock block = Block(entry, item);
        BlockItem resized = NewBlock(entry, (int)bytes) with { Count = item.Count };
        Block(entry, resized).Fill(block.Entries, block.Count);
        FreeBlock(entry, item);
        return resized;
    }

    /// <summary>Copies all blocks to an empty large list.</summary>
    public static void CopyBlocks(in Entry source, in Entry target)
    {
        RankTree<BlockItem> order = Order(source);
        for (TreePath path = order.SeekRank(0, out _); order.IsAtItem(ref path); path[0].Index++)
        {
            BlockItem item = order.At(ref path);
            ListBlock block = Block(source, item);
            BlockItem copy = NewBlock(target, block.Used) with { Count = item.Count };
            Block(target, copy).Fill(block.Entries, item.Count);
            TreePath end = Order(target).Last();
            if (!Order(target).IsEmpty) end[0].Index++;
            InsertBlock(target.Keyspace.Store.Arena, ref LargeValues.Root<ListRoot>(target), ref end, copy);
        }
    }

    private static BlockItem NewBlock(in Entry entry, int bytes) =>
        NewBlock(entry.Keyspace.Store.Arena, ref LargeValues.Root<ListRoot>(entry), bytes);

    private static BlockItem NewBlock(Arena arena, ref ListRoot root, int bytes)
    {
        uint handle = arena.Allocate(ListBlock.HeaderBytes + bytes);
        root.BlockBytes += arena.Capacity(handle);
        ListBlock.Format(arena.Whole(handle));
        return new BlockItem(handle, 0);
    }

    private static void FreeBlock(in Entry entry, BlockItem item) =>
        FreeBlock(entry.Keyspace.Store.Arena, ref LargeValues.Root<ListRoot>(entry), item);

    private static void FreeBlock(Arena arena, ref ListRoot root, BlockItem item)
    {
        root.BlockBytes -= arena.Capacity(item.Block);
        arena.Free(item.Block);
    }

    private static ListBlock Block(in Entry entry, BlockItem item) => Block(entry.Keyspace.Store.Arena, item);
}
