using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>The state of a stream beside its entries.</summary>
/// <param name="Last">The last identifier given out. The next one must be greater.</param>
/// <param name="HighestDeleted">The greatest identifier of an entry that XDEL deleted.</param>
/// <param name="Added">Number of entries ever added.</param>
public readonly record struct StreamState(StreamId Last, StreamId HighestDeleted, ulong Added);

/// <summary>
/// Operations on streams: entries of fields and values, appended in the order of their identifiers. An empty stream keeps its
/// key.
/// </summary>
public static class StreamValue
{
    /// <summary>Creates an empty stream.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        int length = System.Runtime.CompilerServices.Unsafe.SizeOf<StreamRoot>();
        Entry entry = keyspace.Insert(key, hash, ValueType.Stream, ValueEncoding.Large, length);
        entry.Value.Clear();
        return entry;
    }

    public static long Count(in Entry entry) => LargeStream.Root(entry).Blocks.Weight;

    /// <summary>The number of blocks, which is also an upper bound of the nodes of the tree over them.</summary>
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

    /// <summary>The identifier of the first entry, or the smallest identifier if there is none.</summary>
    public static StreamId First(in Entry entry)
    {
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        if (blocks.IsEmpty) return StreamId.Min;
        TreePath path = blocks.SeekRank(0, out _);
        StreamBlockItem item = blocks.At(ref path);
        StreamBlock block = LargeStream.Block(entry.Keyspace.Store.Arena, item);
        return block.IdAt(item.First, block.EntriesAt);
    }

    /// <summary>
    /// The identifier of the last entry, or the smallest identifier if there is none. A later identifier may have been given out.
    /// </summary>
    public static StreamId LastEntry(in Entry entry)
    {
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        if (blocks.IsEmpty) return StreamId.Min;
        TreePath path = blocks.Last();
        return LargeStream.LastOf(entry.Keyspace.Store.Arena, blocks.At(ref path));
    }

    /// <summary>Appends an entry as <see cref="Append"/>, to a new stream if there is none. If that fails, nothing has changed.</summary>
    public static bool Add<TFields>(ref Entry entry, ReadOnlySpan<byte> key, StreamId id, scoped in TFields fields)
        where TFields : struct, IStreamFields, allows ref struct
    {
        ShardStore store = entry.Keyspace.Store;
        long changes = store.Changes;
        bool isNew = !entry.Exists, isAdded = false;
        if (isNew) entry = Create(entry.Keyspace, key, entry.Hash);
        try
        {
            return isAdded = Append(entry, id, fields);
        }
        finally
        {
            if (!isAdded && isNew && !store.IsTorn)
            {
                entry.Keyspace.RemoveNow(entry);
                store.TakeBack(changes);
            }
        }
    }

    /// <summary>
    /// Appends an entry. Its identifier must be greater than the last one given out. No field may point into the stream. Returns
    /// false, with nothing changed, if the entry is too large.
    /// </summary>
    public static bool Append<TFields>(in Entry entry, StreamId id, scoped in TFields fields)
        where TFields : struct, IStreamFields, allows ref struct
    {
        FaultPoint.Call();
        if (!LargeStream.Append(entry, id, fields)) return false;
        ref StreamRoot root = ref LargeStream.Root(entry);
        root.Last = id;
        // A client can set any count (XSETID). One that wraps could not be replayed.
        if (root.Added < long.MaxValue) root.Added++;
        return entry.Keyspace.CountChange(true);
    }

    public static bool Contains(in Entry entry, StreamId id) => LargeStream.TryFind(entry, id, out _, out _);

    /// <summary>The entry with an identifier. Returns false if there is none.</summary>
    public static bool TryGet(in Entry entry, StreamId id, out StreamEntry found)
    {
        StreamEntries one = new(entry, id, id, backwards: false);
        bool any = one.MoveNext();
        found = one.Current;
        return any;
    }

    /// <summary>An upper bound of the number of entries between two identifiers: the entries of all blocks concerned.</summary>
    public static long MostBetween(in Entry entry, StreamId from, StreamId to)
    {
        RankTree<StreamBlockItem> blocks = LargeStream.Blocks(entry);
        TreePath first = blocks.Seek(new AtOrBefore(from)), end = blocks.Seek(new AtOrBefore(to));
        blocks.StepBack(ref first);
        return Math.Max(0, blocks.RankOf(ref end) - blocks.RankOf(ref first));
    }

    /// <summary>Deletes an entry by its identifier. Returns false if there is none.</summary>
    public static bool Delete(in Entry entry, StreamId id)
    {
        FaultPoint.Call();
        if (!LargeStream.Remove(entry, id)) return false;
        ref StreamRoot root = ref LargeStream.Root(entry);
        if (id > root.HighestDeleted) root.HighestDeleted = id;
        return entry.Keyspace.CountChange(true);
    }

    /// <summary>The entries between two identifiers, both included, in either direction.</summary>
    public static StreamEntries Entries(in Entry entry, StreamId from, StreamId to, bool backwards = false) =>
        new(entry, from, to, backwards);

    public static StreamEntries Entries(in Entry entry) => new(entry, StreamId.Min, StreamId.Max, backwards: false);
}
