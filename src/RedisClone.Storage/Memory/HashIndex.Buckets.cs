using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace RedisClone.Storage.Memory;

/// <summary>Where buckets lie, and how they are split, merged and chained.</summary>
/// <remarks>
/// Up to 512 buckets lie in one segment, which grows by doubling; beyond, segments are of 512 buckets each, and the root's table
/// is an array of them, which grows by doubling.
/// </remarks>
public readonly ref partial struct HashIndex
{
    // Grow above 4.5 records a bucket, shrink below 1.5: mean occupancy about 60 %, few overflow buckets.
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
    private Span<uint> Bucket(uint bucket)
    {
        uint segment = _root.Table;
        if (_root.Buckets > SegmentBuckets)
            segment = MemoryMarshal.Cast<byte, uint>(_arena.FromStart(segment))[(int)(bucket >> SegmentShift)];
        return Words(segment + (bucket & (SegmentBuckets - 1)) * BucketUnits);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Span<uint> Words(uint handle) => MemoryMarshal.Cast<byte, uint>(_arena.Bytes(handle, BucketBytes));

    private Span<uint> Directory => MemoryMarshal.Cast<byte, uint>(_arena.Whole(_root.Table));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool TryBucketHandle(uint tag, out uint handle)
    {
        // Without the hold these fields may change between two reads; every use is checked.
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

    private void GrowFor(uint records)
    {
        if (_root.Buckets == 0) AddBucket();
        else if ((records - 1L) * Denominator >= (long)_root.Buckets * GrowNumerator) SplitOne();
    }

    private void ShrinkFor(uint records)
    {
        if (_root.Buckets > 1 && (long)records * Denominator < (long)_root.Buckets * ShrinkNumerator) MergeOne();
    }

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
            if (words[OverflowWord] == 0)
            {
                words[OverflowWord] = _arena.Allocate(BucketBytes);
                _root.Overflows++;
                Words(words[OverflowWord]).Clear();
            }
            words = Words(words[OverflowWord]);
        }
    }

    private void AddBucket()
    {
        uint bucket = _root.Buckets;
        if (bucket < SegmentBuckets)
        {
            if (bucket == 0 || bucket == Capacity()) ResizeOnlySegment(Math.Max(1, bucket * 2));
        }
        else if ((bucket & (SegmentBuckets - 1)) == 0)
        {
            AddSegment((int)(bucket >> SegmentShift));
        }
        _root.Buckets++;
        Bucket(bucket).Clear();
    }

    /// <summary>Buckets that the only segment has room for.</summary>
    private uint Capacity() => (uint)(_arena.Capacity(_root.Table) / BucketBytes);

    private void ResizeOnlySegment(uint buckets)
    {
        uint old = _root.Table;
        uint resized = _arena.Allocate((int)buckets * BucketBytes);
        int kept = (int)Math.Min(_root.Buckets, buckets) * BucketBytes;
        if (old != 0)
        {
            _arena.Bytes(old, kept).CopyTo(_arena.Bytes(resized, kept));
            _arena.Free(old);
        }
        _root.Table = resized;
    }

    private void AddSegment(int segment)
    {
        if (segment == 1)
        {
            uint only = _root.Table;
            _root.Table = _arena.Allocate(LeastDirectory * sizeof(uint));
            Directory[0] = only;
        }
        else if (segment == Directory.Length)
        {
            ResizeDirectory(segment * 2, segment);
        }
        Directory[segment] = _arena.Allocate(SegmentBuckets * BucketBytes);
    }

    private void ResizeDirectory(int segments, int used)
    {
        uint old = _root.Table;
        uint resized = _arena.Allocate(segments * sizeof(uint));
        _arena.Bytes(old, used * sizeof(uint)).CopyTo(_arena.Bytes(resized, used * sizeof(uint)));
        _arena.Free(old);
        _root.Table = resized;
    }

    /// <summary>Lets go of the room that the last bucket leaves.</summary>
    private void RemoveBucket()
    {
        uint left = --_root.Buckets;
        if (left < SegmentBuckets)
        {
            if (left <= Capacity() / 4) ResizeOnlySegment(Capacity() / 2);
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
            ResizeDirectory(Directory.Length / 2, segments);
        }
    }

    private void FreeTable()
    {
        if (_root.Table == 0) return;
        if (_root.Buckets > SegmentBuckets)
            foreach (uint segment in Directory[..SegmentsInUse]) _arena.Free(segment);
        _arena.Free(_root.Table);
    }

    /// <summary>Adds one bucket and moves to it what belongs there: records of exactly one other bucket.</summary>
    private void SplitOne()
    {
        uint added = _root.Buckets;
        AddBucket();
        uint source = added & LowerMask(added);
        Span<uint> first = Bucket(source), target = Bucket(added), words = first;
        while (true)
        {
            for (int i = 0; i < SlotsPerBucket; i++)
            {
                uint handle = words[FirstHandleWord + i];
                if (handle == 0 || BucketOf(words[i]) != added) continue;
                words[FirstHandleWord + i] = 0;
                Place(target, words[i], handle);
            }
            if (words[OverflowWord] == 0) break;
            words = Words(words[OverflowWord]);
        }
        CompactChain(first);
        // The bucket that is split next lies anywhere in memory, and is wanted in a few inserts.
        PrefetchBucket((added + 1) & LowerMask(added + 1));
    }

    /// <summary>Takes the last bucket away, its records going back to the bucket that they were split from.</summary>
    private void MergeOne()
    {
        uint last = _root.Buckets - 1;
        Span<uint> words = Bucket(last);
        Span<uint> target = Bucket(last & LowerMask(last));
        while (true)
        {
            for (int i = 0; i < SlotsPerBucket; i++)
                if (words[FirstHandleWord + i] != 0) Place(target, words[i], words[FirstHandleWord + i]);
            if (words[OverflowWord] == 0) break;
            words = Words(words[OverflowWord]);
        }
        FreeOverflow(Bucket(last));
        RemoveBucket();
    }

    /// <summary>Pulls the records of a chain forward, and frees the overflow buckets that then hold nothing.</summary>
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
