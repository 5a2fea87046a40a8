using System.Numerics;
using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>A bucket of a keyspace, for a walk over all of them. All zero is the beginning.</summary>
internal struct BucketPlace
{
    public int Slot;
    public uint Bucket;

    /// <summary>The number of buckets before this one.</summary>
    public uint Step;
}

/// <summary>
/// The indexes of a keyspace's records by key: one for each hash slot of the shard, or one alone without a cluster. A slot costs
/// one root, and its keys can be counted and listed without a look at others.
/// </summary>
/// <remarks>Slots are numbered within the shard: see <see cref="KeySlot.HashOf"/>.</remarks>
internal struct KeyIndexes(int slots)
{
    private const int GroupShift = 5;

    private readonly IndexRoot[] _roots = new IndexRoot[slots];
    private readonly long[] _groups = new long[(slots >> GroupShift) + 1];    // the number of records in 32 slots each
    private readonly int _slotBits = BitOperations.Log2((uint)slots);
    private int _drainedSlot;
    private uint _drainedTo;        // earlier buckets of this slot are freed and must not be read

    public long Count { get; private set; }

    /// <summary>A hash that belongs to a slot of the shard.</summary>
    public static ulong HashOf(int slot) => (ulong)slot << KeySlot.HashShift;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly ref IndexRoot RootOf(ulong hash) => ref _roots[(int)(hash >> KeySlot.HashShift) & (_roots.Length - 1)];

    public readonly long BucketCount
    {
        get
        {
            long buckets = 0;
            foreach (IndexRoot root in _roots) buckets += root.Buckets;
            return buckets;
        }
    }

    public readonly long BytesIn(Arena arena)
    {
        long bytes = 0;
        for (int slot = 0; slot < _roots.Length; slot++) bytes += At(arena, slot).Bytes;
        return bytes;
    }

    /// <summary>Counts a record that was added to an index or removed from it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Counted(ulong hash, int change)
    {
        Count += change;
        _groups[((int)(hash >> KeySlot.HashShift) & (_roots.Length - 1)) >> GroupShift] += change;
    }

    /// <summary>
    /// Visits one cursor position of one slot and returns the next cursor, 0 at the end. The lower bits of a cursor are the slot.
    /// </summary>
    public readonly ulong Scan<TVisitor>(Arena arena, ulong cursor, ref TVisitor visitor)
        where TVisitor : struct, IScanVisitor, allows ref struct
    {
        if (!TryBegin(cursor, out int slot, out ulong position)) return 0;
        position = At(arena, slot).Scan(position, ref visitor);
        return CursorAfter(slot, position);
    }

    /// <summary>
    /// Prefetches the buckets of the next <paramref name="count"/> cursor positions, which are scattered over memory.
    /// </summary>
    public readonly void PrefetchPositions(Arena arena, ulong cursor, int count)
    {
        for (; count > 0 && TryBegin(cursor, out int slot, out ulong position); count--)
        {
            At(arena, slot).PrefetchPosition(ref position);
            cursor = CursorAfter(slot, position);
            if (cursor == 0) return;
        }
    }

    /// <summary>The handle of a random record, 0 if there is none. Every record has the same probability.</summary>
    public readonly uint RandomHandle(Arena arena, Random random) =>
        Count == 0 ? 0 : At(arena, _roots.Length == 1 ? 0 : SlotOf(random.NextInt64(Count))).RandomHandle(random);

    /// <summary>Like <see cref="HashIndex.Sample"/>. If the chosen slot has too few records, the sample goes on in the next slots.</summary>
    public readonly int Sample(Arena arena, ulong place, int wanted, Span<uint> into)
    {
        if (_roots.Length == 1) return At(arena, 0).Sample(place, wanted, into);
        int first = SlotAt(ref place);
        if (first < 0) return 0;
        int n = 0, slot = first;
        do
        {
            n += At(arena, slot).Sample(place, wanted - n, into[n..]);
            slot = NextUsed(slot);
            if (slot < 0) slot = NextUsed(-1);
        }
        while (n < wanted && slot != first);
        return n;
    }

    /// <summary>Prefetches the buckets that a <see cref="Sample"/> at this place will probably read.</summary>
    public readonly void PrefetchSample(Arena arena, ulong place, int wanted)
    {
        if (Count > 0) At(arena, SlotAt(ref place)).PrefetchSample(place, wanted);
    }

    /// <summary>
    /// Frees some buckets of one slot of an abandoned keyspace and passes each record to the owner. Returns true when everything is
    /// freed. <paramref name="budget"/> decreases by the buckets freed.
    /// </summary>
    public bool Drain<TOwner>(Arena arena, ref int budget, int atOnce, ref TOwner owner) where TOwner : struct, IScanVisitor, allows ref struct
    {
        HashIndex index = At(arena, _drainedSlot);
        (uint from, uint buckets, long records) = (_drainedTo, index.BucketCount, index.Count);
        bool isDone = index.Drain(ref _drainedTo, Math.Min(budget, atOnce), ref owner);
        Counted(HashOf(_drainedSlot), (int)(index.Count - records));
        budget -= (int)((isDone ? buckets : _drainedTo) - from) + 1;
        if (!isDone) return false;
        _drainedTo = 0;
        return (_drainedSlot = NextUsed(_drainedSlot)) < 0;
    }

    /// <summary>Returns the bucket at a place and advances the place. Returns false after the last bucket.</summary>
    public readonly bool TryNextBucket(ref BucketPlace place, out uint bucket)
    {
        while (place.Bucket >= _roots[place.Slot].Buckets)
        {
            int next = NextUsed(place.Slot);
            bucket = 0;
            if (next < 0) return false;
            (place.Slot, place.Bucket) = (next, 0);
        }
        bucket = place.Bucket++;
        return true;
    }

    internal readonly HashIndex At(Arena arena, int slot) => new(arena, ref _roots[slot]);

    /// <summary>The slot at a place, and the place within the slot. Returns -1 if there are no records.</summary>
    private readonly int SlotAt(ref ulong place)
    {
        if (_roots.Length == 1) return 0;
        return Count == 0 ? -1 : SlotOf((long)Math.BigMul(place, (ulong)Count, out place));
    }

    /// <summary>The slot of a record, counted over all slots.</summary>
    private readonly int SlotOf(long record)
    {
        int group = 0;
        while (record >= _groups[group]) record -= _groups[group++];
        int slot = group << GroupShift;
        while (record >= _roots[slot].Records) record -= _roots[slot++].Records;
        return slot;
    }

    private readonly bool TryBegin(ulong cursor, out int slot, out ulong position)
    {
        slot = (int)cursor & (_roots.Length - 1);
        position = cursor >> _slotBits;
        if (_roots[slot].Records > 0) return true;
        position = 0;
        slot = NextUsed(slot);
        return slot >= 0;
    }

    private readonly ulong CursorAfter(int slot, ulong position)
    {
        if (position == 0 && (slot = NextUsed(slot)) < 0) return 0;
        return position << _slotBits | (uint)slot;
    }

    /// <summary>The first slot after this one that has records, -1 if there is none.</summary>
    private readonly int NextUsed(int slot)
    {
        while (++slot < _roots.Length)
        {
            if (_groups[slot >> GroupShift] == 0) slot |= (1 << GroupShift) - 1;
            else if (_roots[slot].Records > 0) return slot;
        }
        return -1;
    }
}
