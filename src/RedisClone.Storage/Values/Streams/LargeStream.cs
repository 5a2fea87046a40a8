using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>The root of a stream.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct StreamRoot
{
    public TreeRoot Blocks;

    /// <summary>Bytes of all blocks.</summary>
    public long BlockBytes;

    public uint BlockCount;

    /// <summary>
    /// The handle of the remembered messages of producers, 0 if there are none: see <see cref="StreamProducers"/>.
    /// </summary>
    public uint Producers;

    public StreamId Last, HighestDeleted;

    /// <summary>Number of entries ever added.</summary>
    public ulong Added;

    /// <summary>Consumer groups by name.</summary>
    public TreeRoot Groups;
}

/// <summary>The place after an identifier.</summary>
internal readonly struct AtOrBefore(StreamId id) : ITreeProbe<StreamBlockItem>
{
    public bool IsAfter(in StreamBlockItem item) => item.First <= id;
}

/// <summary>
/// The blocks of a stream, in a tree that knows the number of entries below each node. A block has the same limits as a node of a
/// Redis stream, computed in the same way. Removing an entry closes the gap in its block; removing the last entry frees the
/// block.
/// </summary>
internal static class LargeStream
{
    /// <summary>Largest size of an entry, in bytes of text.</summary>
    private const long MaxText = 1 << 30;

    /// <summary>Largest size of a block of several entries if the settings have no limit.</summary>
    private const int MaxBlock = 1 << 20;

    public static ref StreamRoot Root(in Entry entry) => ref LargeValues.Root<StreamRoot>(entry);

    public static RankTree<StreamBlockItem> Blocks(in Entry entry) => new(entry.Keyspace.Store.Arena, ref Root(entry).Blocks);

    public static StreamBlock Block(Arena arena, in StreamBlockItem item) => new(arena.Whole(item.Block));

    /// <summary>Appends an entry. Returns false if it is too large.</summary>
    public static bool Append<TFields>(in Entry entry, StreamId id, scoped in TFields fields)
        where TFields : struct, IStreamFields, allows ref struct
    {
        long text = 0;
        for (int i = 0; i < fields.Count; i++) text += fields.Name(i).Length + fields.Value(i).Length;
        if (text > MaxText) return false;
        Arena arena = entry.Keyspace.Store.Arena;
        ref StreamRoot root = ref Root(entry);
        RankTree<StreamBlockItem> blocks = Blocks(entry);
        TreePath path = blocks.Last();
        int most = StreamBlock.MostBytes(fields, (int)text);
        if (!blocks.IsEmpty)
        {
            StreamBlockItem tail = blocks.At(ref path);
            if (HasRoom(entry, tail, (int)text))
            {
                StreamBlock block = Block(arena, tail);
                bool shared = block.SharesNames(fields);
                if (block.Free < most)
                {
                    tail = Resized(arena, ref root, tail, block.Used + most + Math.Min(block.Used / 2, MaxBlock));
                    block = Block(arena, tail);
                }
                block.Append(tail.First, id, fields, shared);
                blocks.Update(ref path, tail with { Count = tail.Count + 1 });
                return true;
            }
            StreamBlockItem closed = GiveBack(arena, ref root, tail, slack: 0);
            if (closed != tail) blocks.Update(ref path, closed);
            path[0].Index++;
        }
        AddBlock(entry, ref path, id, fields, most);
        return true;
    }

    /// <summary>Removes an entry. Returns false if there is none.</summary>
    public static bool Remove(in Entry entry, StreamId id)
    {
        Arena arena = entry.Keyspace.Store.Arena;
        RankTree<StreamBlockItem> blocks = Blocks(entry);
        if (!TryFind(entry, id, out TreePath path, out int at)) return false;
        StreamBlockItem item = blocks.At(ref path);
        if (item.Count == 1)
        {
            RemoveBlock(entry, ref path);
            return true;
        }
        StreamBlock block = Block(arena, item);
        block.Remove(at, block.Next(at));
        item = item with { Count = item.Count - 1 };
        blocks.Update(ref path, GiveBack(arena, ref Root(entry), item, slack: block.Used));
        return true;
    }

    public static bool TryFind(in Entry entry, StreamId id, out TreePath path, out int at)
    {
        Arena arena = entry.Keyspace.Store.Arena;
        RankTree<StreamBlockItem> blocks = Blocks(entry);
        path = blocks.Seek(new AtOrBefore(id));
        at = 0;
        if (!blocks.StepBack(ref path)) return false;
        StreamBlockItem item = blocks.At(ref path);
        StreamBlock block = Block(arena, item);
        at = block.Seek(item.First, id);
        return at < block.Used && block.IdAt(item.First, at) == id;
    }

    /// <summary>The identifier of the last entry of a block.</summary>
    public static StreamId LastOf(Arena arena, in StreamBlockItem item)
    {
        StreamBlock block = Block(arena, item);
        return block.IdAt(item.First, Packed.Previous(block.Content, block.Used));
    }

    public static void RemoveBlock(in Entry entry, scoped ref TreePath path)
    {
        Arena arena = entry.Keyspace.Store.Arena;
        ref StreamRoot root = ref Root(entry);
        RankTree<StreamBlockItem> blocks = Blocks(entry);
        FreeBlock(arena, ref root, blocks.At(ref path).Block);
        root.BlockCount--;
        blocks.Remove(ref path);
    }

    /// <summary>Removes the first entries of a block, but not all of them.</summary>
    public static void RemoveFirst(in Entry entry, scoped ref TreePath path, int count)
    {
        Arena arena = entry.Keyspace.Store.Arena;
        RankTree<StreamBlockItem> blocks = Blocks(entry);
        StreamBlockItem item = blocks.At(ref path);
        StreamBlock block = Block(arena, item);
        int to = block.EntriesAt;
        for (int i = 0; i < count; i++) to = block.Next(to);
        block.Remove(block.EntriesAt, to);
        blocks.Update(ref path, GiveBack(arena, ref Root(entry), item with { Count = item.Count - count }, slack: block.Used));
    }

    /// <summary>Copies all blocks to an empty stream.</summary>
    public static void CopyBlocks(in Entry source, in Entry target)
    {
        Arena from = source.Keyspace.Store.Arena, to = target.Keyspace.Store.Arena;
        RankTree<StreamBlockItem> blocks = Blocks(source);
        for (TreePath path = blocks.SeekRank(0, out _); blocks.IsAtItem(ref path); path[0].Index++)
        {
            StreamBlockItem item = blocks.At(ref path);
            ReadOnlySpan<byte> content = Block(from, item).Content;
            ref StreamRoot root = ref Root(target);
            uint copy = NewBlock(to, ref root, content.Length);
            content.CopyTo(to.Whole(copy));
            RankTree<StreamBlockItem> copies = Blocks(target);
            TreePath end = copies.Last();
            if (!copies.IsEmpty) end[0].Index++;
            InsertBlock(to, ref root, ref end, item with { Block = copy });
        }
    }

    /// <summary>Frees a part of all blocks. Returns true when there is none left.</summary>
    public static bool FreeBlocks(Arena arena, ref StreamRoot root, ref int budget)
    {
        var blocks = new RankTree<StreamBlockItem>(arena, ref root.Blocks);
        while (!blocks.IsEmpty)
        {
            if (budget <= 0) return false;
            TreePath path = blocks.Last();
            foreach (ref readonly StreamBlockItem item in blocks.Leaf(ref path))
            {
                FreeBlock(arena, ref root, item.Block);
                budget--;
            }
            blocks.DropLastLeaf();
        }
        return true;
    }

    private static bool HasRoom(in Entry entry, in StreamBlockItem tail, int text)
    {
        ValueLimits limits = entry.Keyspace.Store.Limits;
        StreamBlock block = Block(entry.Keyspace.Store.Arena, tail);
        if (limits.StreamNodeMaxEntries > 0 && block.Ever >= limits.StreamNodeMaxEntries) return false;
        long most = limits.StreamNodeMaxBytes is > 0 and var bytes ? Math.Min(bytes, ValueLimits.MaxPackedBytes) : MaxBlock;
        return (long)Math.Max(block.Used, block.NodeBytes) + text < most;
    }

    private static void AddBlock<TFields>(
        in Entry entry, scoped ref TreePath path, StreamId id, scoped in TFields fields, int most)
        where TFields : struct, IStreamFields, allows ref struct
    {
        Arena arena = entry.Keyspace.Store.Arena;
        ref StreamRoot root = ref Root(entry);
        uint handle = NewBlock(arena, ref root, most);
        StreamBlock block = StreamBlock.Format(arena.Whole(handle), fields);
        block.Append(id, id, fields, shared: true);
        InsertBlock(arena, ref root, ref path, new StreamBlockItem(id, handle, 1));
    }

    /// <summary>Inserts a block into the tree. Frees the block and throws if memory is missing.</summary>
    private static void InsertBlock(Arena arena, ref StreamRoot root, scoped ref TreePath path, in StreamBlockItem item)
    {
        if (!new RankTree<StreamBlockItem>(arena, ref root.Blocks).TryInsert(ref path, item))
        {
            FreeBlock(arena, ref root, item.Block);
            Arena.ThrowOutOfMemory();
        }
        root.BlockCount++;
    }

    /// <summary>
    /// Moves a block to a smaller buffer, if that saves more than <paramref name="slack"/> bytes and there is memory for it.
    /// </summary>
    private static StreamBlockItem GiveBack(Arena arena, ref StreamRoot root, in StreamBlockItem item, int slack)
    {
        StreamBlock block = Block(arena, item);
        if (Arena.RoundUp(block.Used) + slack >= block.Used + block.Free) return item;
        try
        {
            return Resized(arena, ref root, item, block.Used);
        }
        catch (OutOfMemoryException)
        {
            return item;
        }
    }

    private static StreamBlockItem Resized(Arena arena, ref StreamRoot root, in StreamBlockItem item, int bytes)
    {
        uint moved = NewBlock(arena, ref root, bytes);
        Block(arena, item).Content.CopyTo(arena.Whole(moved));
        FreeBlock(arena, ref root, item.Block);
        return item with { Block = moved };
    }

    private static uint NewBlock(Arena arena, ref StreamRoot root, int bytes)
    {
        uint handle = arena.Allocate(bytes);
        root.BlockBytes += arena.Capacity(handle);
        return handle;
    }

    private static void FreeBlock(Arena arena, ref StreamRoot root, uint handle)
    {
        root.BlockBytes -= arena.Capacity(handle);
        arena.Free(handle);
    }
}
