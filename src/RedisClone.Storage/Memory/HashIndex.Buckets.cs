using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace RedisClone.Storage.Memory;

/// <summary>The layout of buckets, and how they are split, merged and chained.</summary>
/// <remarks>
/// Up to 512 buckets lie in one segment, whose buffer grows by a quarter. Above that, each segment has 512 buckets, and the table
/// of the root is an array of segments that grows by doubling.
/// </remarks>
public readonly ref partial struct HashIndex
{
    // Grows above 4.5 records per bucket and shrinks below 1.5: the mean occupancy is about 60 %, and overflow buckets are rare.
    private const int GrowNumerator = 9, ShrinkNumerator = 3, Denominator = 2;
    private const int LeastDirectory = 16;

    private int SegmentsInUse => (int)((_root.Buckets + SegmentBuckets - 1) >> SegmentShift);

    /// <summary>2^level - 1, where 2^level is the largest power of two that is not above the number of buckets.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint LowerMask(uint buckets) => (1u << BitOperations.Log2(buckets)) - 1;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private uint BucketOf(uint tag) => BucketOf(tag, _root.Buckets);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint BucketOf(uint tag, uint buckets)
    {
        uint mask = LowerMask(buckets);
        uint bucket = tag & (mask << 1 | 1);
        return bucket < buckets ? bucket : tag & mask;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Span<uint> Bucket(uint bucket) => Words(HandleOf(bucket));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private uint HandleOf(uint bucket)
    {
        uint segment = _root.Table;
        if (_root.Buckets > SegmentBuckets)
            segment = MemoryMarshal.Cast<byte, uint>(_arena.FromStart(segment))[(int)(bucket >> SegmentShift)];
        return segment + (bucket & (SegmentBuckets - 1)) * BucketUnits;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Span<uint> Words(uint handle) => MemoryMarshal.Cast<byte, uint>(_arena.Bytes(handle, BucketBytes));

    private Span<uint> Directory => MemoryMarshal.Cast<byte, uint>(_arena.Whole(_root.Table));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool TryBucketHandle(uint tag, out uint handle)
    {
        // A caller without the hold may see these fields change between two reads, so every use is bounds-checked.
        uint buckets = _root.Buckets;
        handle = _root.Table;
        if (buckets == 0) return false;
        uint bucket = BucketOf(tag, buckets);
        if (buckets > SegmentBuckets)
        {
            ReadOnlySpan<byte> directory = _arena.Peek(handle, (int)(bucket >> SegmentShift) * sizeof(uint) + sizeof(uint));
            if (directory.Length < sizeof(uint)) return false;
            handle = MemoryMarshal.Read<uint>(directory[^sizeof(uint)..]);
        }
        handle += (bucket & (SegmentBuckets - 1)) * BucketUnits;
        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint Hits(ReadOnlySpan<uint> words, uint tag) =>
        Vector256.Equals(Vector256.Create(words), Vector256.Create(tag)).ExtractMostSignificantBits() & SlotMask;

    /// <summary>
    /// Makes room for one more record. Returns false only if there is no bucket at all: a split only improves speed, and is left
    /// out if memory is missing.
    /// </summary>
    private bool GrowFor(uint records)
    {
        if (_root.Buckets == 0) return TryAddBucket();
        if ((records - 1L) * Denominator >= (long)_root.Buckets * GrowNumerator) TrySplitOne();
        return true;
    }

    private void ShrinkFor(uint records)
    {
        if (_root.Buckets > 1 && (long)records * Denominator < (long)_root.Buckets * ShrinkNumerator) TryMergeOne();
    }

    /// <summary>
    /// Puts a record into the first free slot of a chain. Returns a null reference if the chain needs an overflow bucket and
    /// memory is missing.
    /// </summary>
    private ref uint Place(Span<uint> words, uint tag, uint handle)
    {
        while (true)
        {
            int free = words.Slice(FirstHandleWord, SlotsPerBucket).IndexOf(0u);
            if (free >= 0)
            {
                words[free] = tag;
                words[FirstHandleWord + free] = handle;
                return ref words[FirstHandleWord + free];
            }
            if (words[OverflowWord] == 0 && !TryAddOverflow(words)) return ref Unsafe.NullRef<uint>();
            words = Words(words[OverflowWord]);
        }
    }

    /// <summary>Adds an empty bucket to the end of a chain.</summary>
    private bool TryAddOverflow(Span<uint> last)
    {
        uint overflow = _arena.TryAllocate(BucketBytes);
        if (overflow == 0) return false;
        Words(overflow).Clear();
        last[OverflowWord] = overflow;
        _root.Overflows++;
        return true;
    }

    /// <summary>Adds an empty bucket at the end. Returns false, with nothing changed, if memory is missing.</summary>
    private bool TryAddBucket()
    {
        uint bucket = _root.Buckets;
        if (bucket < SegmentBuckets)
        {
            if ((bucket == 0 || bucket == Capacity()) && !TryResizeOnlySegment(WithRoom(bucket + 1))) return false;
        }
        else if ((bucket & (SegmentBuckets - 1)) == 0)
        {
            if (!TryAddSegment((int)(bucket >> SegmentShift))) return false;
        }
        _root.Buckets++;
        Bucket(bucket).Clear();
        return true;
    }

    /// <summary>Number of buckets that fit into the only segment.</summary>
    private uint Capacity() => (uint)(_arena.Capacity(_root.Table) / BucketBytes);

    /// <summary>The buckets of a segment that has room for a quarter more.</summary>
    private static uint WithRoom(uint buckets) => Math.Min(buckets + (buckets >> 2), SegmentBuckets);

    private bool TryResizeOnlySegment(uint buckets)
    {
        uint old = _root.Table;
        uint resized = _arena.TryAllocate((int)buckets * BucketBytes);
        if (resized == 0) return false;
        int kept = (int)Math.Min(_root.Buckets, buckets) * BucketBytes;
        if (old != 0)
        {
            _arena.Bytes(old, kept).CopyTo(_arena.Bytes(resized, kept));
            _arena.Free(old);
        }
        _root.Table = resized;
        return true;
    }

    /// <summary>
    /// Adds a segment to the directory. The second segment creates the directory. The bucket that needs the segment is not
    /// counted yet.
    /// </summary>
    private bool TryAddSegment(int segment)
    {
        uint added = _arena.TryAllocate(SegmentBuckets * BucketBytes);
        if (added == 0) return false;
        bool hasRoom = segment == 1 ? TryMakeDirectory() : segment < Directory.Length || TryResizeDirectory(segment * 2, segment);
        if (hasRoom) Directory[segment] = added;
        else _arena.Free(added);
        return hasRoom;
    }

    private bool TryMakeDirectory()
    {
        uint directory = _arena.TryAllocate(LeastDirectory * sizeof(uint));
        if (directory == 0) return false;
        uint only = _root.Table;
        _root.Table = directory;
        Directory[0] = only;
        return true;
    }

    private bool TryResizeDirectory(int segments, int used)
    {
        uint old = _root.Table;
        uint resized = _arena.TryAllocate(segments * sizeof(uint));
        if (resized == 0) return false;
        _arena.Bytes(old, used * sizeof(uint)).CopyTo(_arena.Bytes(resized, used * sizeof(uint)));
        _arena.Free(old);
        _root.Table = resized;
        return true;
    }

    /// <summary>
    /// Removes the last bucket and the memory it no longer needs, as far as there is memory for a smaller table.
    /// </summary>
    private void RemoveBucket()
    {
        uint left = --_root.Buckets;
        if (left < SegmentBuckets)
        {
            if (left <= Capacity() / 2) TryResizeOnlySegment(WithRoom(left));
            return;
        }
        if ((left & (SegmentBuckets - 1)) != 0) return;
        int segments = (int)(left >> SegmentShift);
        _arena.Free(Directory[segments]);
        if (segments == 1)
        {
            uint only = Directory[0];
            _arena.Free(_root.Table);
            _root.Table = only;
        }
        else if (Directory.Length > LeastDirectory && segments <= Directory.Length / 4)
        {
            TryResizeDirectory(Directory.Length / 2, segments);
        }
    }

    private void FreeTable()
    {
        if (_root.Table == 0) return;
        if (_root.Buckets > SegmentBuckets)
            foreach (uint segment in Directory[..SegmentsInUse]) _arena.Free(segment);
        _arena.Free(_root.Table);
    }

    /// <summary>
    /// Adds one bucket and moves its records to it, all from one other bucket. If memory is missing, the index stays as it is,
    /// with longer chains.
    /// </summary>
    private void TrySplitOne()
    {
        uint added = _root.Buckets;
        if (!TryAddBucket()) return;
        uint source = added & LowerMask(added);
        Span<uint> first = Bucket(source), target = Bucket(added), words = first;
        _arena.BeginChange();
        while (true)
        {
            for (int i = 0; i < SlotsPerBucket; i++)
            {
                uint handle = words[FirstHandleWord + i];
                if (handle == 0 || BucketOf(words[i]) != added) continue;
                if (Unsafe.IsNullRef(ref Place(target, words[i], handle)))
                {
                    Unsplit(first, target);
                    _arena.EndChange();
                    return;
                }
                words[FirstHandleWord + i] = 0;
            }
            if (words[OverflowWord] == 0) break;
            words = Words(words[OverflowWord]);
        }
        CompactChain(first);
        _arena.EndChange();
        // The bucket that is split next is anywhere in memory, and is needed after a few inserts.
        PrefetchBucket((added + 1) & LowerMask(added + 1));
    }

    /// <summary>
    /// Removes the last bucket and moves its records back to the bucket that it was split from. If memory is missing, the bucket
    /// stays.
    /// </summary>
    private void TryMergeOne()
    {
        uint last = _root.Buckets - 1;
        Span<uint> words = Bucket(last);
        Span<uint> target = Bucket(last & LowerMask(last));
        if (!TryReserve(target, CountOf(words))) return;
        _arena.BeginChange();
        while (true)
        {
            for (int i = 0; i < SlotsPerBucket; i++)
                if (words[FirstHandleWord + i] != 0) Place(target, words[i], words[FirstHandleWord + i]);
            if (words[OverflowWord] == 0) break;
            words = Words(words[OverflowWord]);
        }
        FreeOverflow(Bucket(last));
        RemoveBucket();
        _arena.EndChange();
    }

    /// <summary>
    /// Undoes a split: moves the records of the new last bucket back to their old chain, which has free slots for them.
    /// </summary>
    private void Unsplit(Span<uint> first, Span<uint> last)
    {
        for (Span<uint> words = last; ; words = Words(words[OverflowWord]))
        {
            for (int i = 0; i < SlotsPerBucket; i++)
                if (words[FirstHandleWord + i] != 0) Place(first, words[i], words[FirstHandleWord + i]);
            if (words[OverflowWord] == 0) break;
        }
        FreeOverflow(last);
        RemoveBucket();
    }

    private int CountOf(Span<uint> words)
    {
        int count = UsedSlots(words);
        while (words[OverflowWord] != 0)
        {
            words = Words(words[OverflowWord]);
            count += UsedSlots(words);
        }
        return count;
    }

    /// <summary>
    /// Adds overflow buckets until a chain has free slots for this many more records. Returns false if memory is missing; the
    /// overflow buckets added before are harmless.
    /// </summary>
    private bool TryReserve(Span<uint> words, int records)
    {
        while ((records -= SlotsPerBucket - UsedSlots(words)) > 0)
        {
            if (words[OverflowWord] == 0 && !TryAddOverflow(words)) return false;
            words = Words(words[OverflowWord]);
        }
        return true;
    }

    /// <summary>The number of records in a bucket. The last word is always 0 and never counts as a record.</summary>
    private static int UsedSlots(ReadOnlySpan<uint> words)
    {
        Vector256<uint> free = Vector256.Equals(Vector256.Create(words[FirstHandleWord..]), Vector256<uint>.Zero);
        return WordsPerBucket - FirstHandleWord - BitOperations.PopCount(free.ExtractMostSignificantBits());
    }

    /// <summary>Moves the records of a chain forward and frees the overflow buckets that become empty.</summary>
    private void CompactChain(Span<uint> words)
    {
        while (words[OverflowWord] != 0)
        {
            Span<uint> next = Words(words[OverflowWord]);
            for (int i = 0; i < SlotsPerBucket; i++)
            {
                if (words[FirstHandleWord + i] != 0) continue;
                int from = next.Slice(FirstHandleWord, SlotsPerBucket).IndexOfAnyExcept(0u);
                if (from < 0) break;
                words[i] = next[from];
                words[FirstHandleWord + i] = next[FirstHandleWord + from];
                next[FirstHandleWord + from] = 0;
            }
            if (next.Slice(FirstHandleWord, SlotsPerBucket).IndexOfAnyExcept(0u) >= 0)
            {
                words = next;
                continue;
            }
            uint emptied = words[OverflowWord];
            words[OverflowWord] = next[OverflowWord];
            _arena.Free(emptied);
            _root.Overflows--;
        }
    }

    private void FreeOverflow(Span<uint> words)
    {
        uint overflow = words[OverflowWord];
        words[OverflowWord] = 0;
        while (overflow != 0)
        {
            uint next = Words(overflow)[OverflowWord];
            _arena.Free(overflow);
            _root.Overflows--;
            overflow = next;
        }
    }
}
