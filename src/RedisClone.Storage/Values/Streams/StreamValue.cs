using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>What a stream knows of itself beside its entries.</summary>
/// <param name="Last">The identifier that the next entry's must be greater than.</param>
/// <param name="HighestDeleted">The greatest identifier of an entry that was deleted by name.</param>
/// <param name="Added">Entries that were ever added.</param>
public readonly record struct StreamState(StreamId Last, StreamId HighestDeleted, ulong Added);

/// <summary>
/// What can be done with a stream: entries of fields and values, appended in the order of their identifiers. A stream without entries is
/// still there.
/// </summary>
public static class StreamValue
{
    /// <summary>A new, empty stream.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        Entry entry = keyspace.Insert(key, hash, ValueType.Stream, ValueEncoding.Large, System.Runtime.CompilerServices.Unsafe.SizeOf<StreamRoot>());
        entry.Value.Clear();
        return entry;
    }

    public static long Count(in Entry entry) => LargeStream.Root(entry).Blocks.Weight;

    /// <summary>How many blocks the entries lie in, and how many nodes the tree over them has at most.</summary>
    public static long Blocks(in Entry entry) => LargeStream.Root(entry).BlockCount;

    public static StreamState State(in Entry entry)
    {
        ref StreamRoot root = ref LargeStream.Root(entry);
        return new StreamState(root.Last, root.HighestDeleted, root.Added);
    }

    public static void SetState(in Entry entry, StreamState state)
    {
        ref StreamRoot root = ref LargeStream.Root(entry);
        (root.Last, root.HighestDeleted, root.Added) = (state.Last, state.HighestDeleted, state.Added);
    }

    /// <summary>The first entry's identifier; the least where there is none.</summary>
    public static StreamId First(in Entry entry)
    {
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        if (blocks.IsEmpty) return StreamId.Min;
        TreePath path = blocks.SeekRank(0, out _);
        StreamBlockItem item = blocks.At(ref path);
        StreamBlock block = LargeStream.Block(entry.Keyspace.Store.Arena, item);
        return block.IdAt(item.First, block.EntriesAt);
    }

    /// <summary>The last entry's identifier; the least where there is none. Not always the last that was given out.</summary>
    public static StreamId LastEntry(in Entry entry)
    {
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        if (blocks.IsEmpty) return StreamId.Min;
        TreePath path = blocks.Last();
        return LargeStream.LastOf(entry.Keyspace.Store.Arena, blocks.At(ref path));
    }

    /// <summary>
    /// Adds an entry, whose identifier must be greater than the last that was given out; false, and nothing added, if it is too large. No text
    /// may lie in the stream.
    /// </summary>
    public static bool Append<TFields>(in Entry entry, StreamId id, scoped in TFields fields)
        where TFields : struct, IStreamFields, allows ref struct
    {
        FaultPoint.Call();
        if (!LargeStream.Append(entry, id, fields)) return false;
        ref StreamRoot root = ref LargeStream.Root(entry);
        root.Last = id;
        root.Added++;
        return entry.Keyspace.CountChange(true);
    }

    public static bool Contains(in Entry entry, StreamId id) => LargeStream.TryFind(entry, id, out _, out _);

    /// <summary>The entry of an identifier; false when there is none.</summary>
    public static bool TryGet(in Entry entry, StreamId id, out StreamEntry found)
    {
        StreamEntries one = new(entry, id, id, backwards: false);
        bool any = one.MoveNext();
        found = one.Current;
        return any;
    }

    /// <summary>How many entries there are at most between two identifiers: those of all blocks concerned.</summary>
    public static long MostBetween(in Entry entry, StreamId from, StreamId to)
    {
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        TreePath first = blocks.Seek(new AtOrBefore(from)), end = blocks.Seek(new AtOrBefore(to));
        blocks.StepBack(ref first);
        return Math.Max(0, blocks.RankOf(ref end) - blocks.RankOf(ref first));
    }

    /// <summary>Deletes an entry by name; false when there is none.</summary>
    public static bool Delete(in Entry entry, StreamId id)
    {
        FaultPoint.Call();
        if (!LargeStream.Remove(entry, id)) return false;
        ref StreamRoot root = ref LargeStream.Root(entry);
        if (id > root.HighestDeleted) root.HighestDeleted = id;
        return entry.Keyspace.CountChange(true);
    }

    /// <summary>The entries from one identifier to another, both included, in either direction.</summary>
    public static StreamEntries Entries(in Entry entry, StreamId from, StreamId to, bool backwards = false) => new(entry, from, to, backwards);

    public static StreamEntries Entries(in Entry entry) => new(entry, StreamId.Min, StreamId.Max, backwards: false);
}
