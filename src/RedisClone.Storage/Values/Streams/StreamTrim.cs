using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>How a stream is trimmed at its beginning.</summary>
public readonly record struct StreamTrim
{
    /// <summary>Whether to remove entries before <see cref="MinId"/>, instead of those beyond <see cref="MaxLength"/>.</summary>
    public bool ById { get; init; }

    public long MaxLength { get; init; }

    public StreamId MinId { get; init; }

    /// <summary>Removes whole blocks only.</summary>
    public bool Approximate { get; init; }

    /// <summary>The most entries to remove, 0 for no limit. With a limit, only whole blocks are removed.</summary>
    public long Limit { get; init; }

    /// <summary>A stream with more blocks frees most of them in slices.</summary>
    private const long ManyBlocks = 256;

    /// <summary>Number of entries that the trim removes.</summary>
    public long Count(in Entry entry)
    {
        long excess = ById ? CountBefore(entry) : Math.Max(0, StreamValue.Count(entry) - MaxLength);
        return Approximate || Limit > 0 ? WholeBlocks(entry, excess) : excess;
    }

    /// <summary>Trims a stream. Returns the number of entries removed.</summary>
    public long Apply(in Entry entry)
    {
        FaultPoint.Call();
        entry.Keyspace.CountChange();
        long count = Count(entry);
        if (count == 0) return 0;
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        bool isMost = count == blocks.Weight || LargeStream.Root(entry).BlockCount > ManyBlocks && count > blocks.Weight / 2;
        if (!isMost || !TryRemoveMost(entry, count)) RemoveSome(entry, count);
        return count;
    }

    private long CountBefore(in Entry entry)
    {
        Arena arena = entry.Keyspace.Store.Arena;
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        TreePath path = blocks.Seek(new AtOrBefore(MinId));
        if (!blocks.StepBack(ref path)) return 0;
        long count = blocks.RankOf(ref path);
        StreamBlockItem item = blocks.At(ref path);
        StreamBlock block = LargeStream.Block(arena, item);
        int end = block.Seek(item.First, MinId);
        for (int at = block.EntriesAt; at < end; at = block.Next(at)) count++;
        return count;
    }

    /// <summary>Rounds a number of entries down to whole blocks, within the limit.</summary>
    private long WholeBlocks(in Entry entry, long excess)
    {
        if (Limit > 0) excess = Math.Min(excess, Limit);
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        blocks.SeekRank(excess, out long within);
        return excess - within;
    }

    /// <summary>Removes entries block by block. The last block keeps its other entries.</summary>
    private static void RemoveSome(in Entry entry, long count)
    {
        while (count > 0)
        {
            RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
            TreePath path = blocks.SeekRank(0, out _);
            int present = blocks.At(ref path).Count;
            if (present <= count) LargeStream.RemoveBlock(entry, ref path);
            else LargeStream.RemoveFirst(entry, ref path, (int)count);
            count -= present;
        }
    }

    /// <summary>
    /// Moves the remaining blocks to a new tree and frees the old tree in slices, so that the shard does not stall. Returns
    /// false, with nothing changed, if memory for the new tree is missing.
    /// </summary>
    private static bool TryRemoveMost(in Entry entry, long count)
    {
        Arena arena = entry.Keyspace.Store.Arena;
        ref StreamRoot root = ref LargeStream.Root(entry);
        TreeRoot kept = default;
        if (!TryKeep(arena, LargeStream.Blocks(entry), count, ref kept)) return false;
        StreamRoot abandoned = new() { Blocks = root.Blocks, BlockBytes = root.BlockBytes };
        arena.BeginChange();
        (root.Blocks, root.BlockBytes, root.BlockCount) = (kept, 0, 0);
        var old = new RankTree<StreamBlockItem>(arena, ref abandoned.Blocks);
        long within = 0;
        while (old.Weight > count)
        {
            TreePath path = old.Last();
            StreamBlockItem item = old.At(ref path);
            old.Remove(ref path);
            within = Math.Max(0, count - old.Weight);
            long bytes = arena.Capacity(item.Block);
            abandoned.BlockBytes -= bytes;
            root.BlockBytes += bytes;
            root.BlockCount++;
        }
        arena.EndChange();
        entry.Keyspace.Store.ReleaseValue(ValueType.Stream, ValueEncoding.Large, LargeValues.BytesOf(ref abandoned));
        if (within > 0) RemoveSome(entry, within);
        return true;
    }

    /// <summary>Builds a tree of the remaining blocks.</summary>
    private static bool TryKeep(Arena arena, RankTree<StreamBlockItem> blocks, long count, ref TreeRoot kept)
    {
        var copy = new RankTree<StreamBlockItem>(arena, ref kept);
        if (count == blocks.Weight) return true;
        for (TreePath path = blocks.SeekRank(count, out _); blocks.IsAtItem(ref path); path[0].Index++)
        {
            TreePath end = copy.Last();
            if (!copy.IsEmpty) end[0].Index++;
            if (copy.TryInsert(ref end, blocks.At(ref path))) continue;
            copy.Clear();
            return false;
        }
        return true;
    }
}
