using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace RedisClone.Storage.Memory;

/// <summary>Tells whether the record behind a handle has a key: how a <see cref="HashIndex"/> sees its owner's records.</summary>
public interface IRecordKeys
{
    bool Matches(uint handle, ReadOnlySpan<byte> key);
}

/// <summary>
/// Handles of records by the hash of their key: linear hashing over buckets of one cache line, in the arena.
/// It grows and shrinks by one bucket at a time, so no operation ever pauses for a table of any size, and memory follows the
/// count without doublings. Shared by the keyspace and by every large hash and set.
/// </summary>
/// <remarks>
/// A bucket is 16 words: seven tags (the low 32 bits of the hash), the handle of an overflow bucket, seven record handles
/// (0 marks a free slot), and a word that is always 0. With n = 2^level + split buckets, a tag belongs to bucket
/// tag &amp; (2^(level+1) - 1) if that exists, else to tag &amp; (2^level - 1). A slot reference is valid until the next insert or remove.
/// </remarks>
public sealed class HashIndex(Arena arena)
{
    private const int SlotsPerBucket = 7;
    private const int OverflowWord = 7;
    private const int FirstHandleWord = 8;
    private const int WordsPerBucket = 16;
    private const int BucketBytes = WordsPerBucket * sizeof(uint);
    private const int BucketUnits = BucketBytes >> Arena.UnitShift;
    private const int SegmentShift = 9;
    private const int SegmentBuckets = 1 << SegmentShift;     // 32 KB
    private const uint SlotMask = (1 << SlotsPerBucket) - 1;

    // Grow above 4.5 records a bucket, shrink below 1.5: mean occupancy about 60 %, few overflow buckets.
    private const int GrowNumerator = 9, ShrinkNumerator = 3, Denominator = 2;

    private uint[] _segments = new uint[1];
    private int _firstSegmentBuckets;                          // the first segment grows by doubling up to SegmentBuckets
    private uint _buckets;

    public long Count { get; private set; }

    public uint BucketCount => _buckets;

    /// <summary>Bytes that the index itself takes in the arena.</summary>
    public long Bytes { get; private set; }

    /// <summary>The slot that holds a record's handle, or a null reference.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ref uint Find<TKeys>(ulong hash, scoped ReadOnlySpan<byte> key, scoped in TKeys keys) where TKeys : struct, IRecordKeys
    {
        if (_buckets == 0) return ref Unsafe.NullRef<uint>();
        uint tag = (uint)hash;
        Span<uint> words = Bucket(BucketOf(tag));
        while (true)
        {
            uint hits = Hits(words, tag);
            while (hits != 0)
            {
                ref uint slot = ref words[FirstHandleWord + BitOperations.TrailingZeroCount(hits)];
                if (slot != 0 && keys.Matches(slot, key)) return ref slot;
                hits &= hits - 1;
            }
            uint overflow = words[OverflowWord];
            if (overflow == 0) return ref Unsafe.NullRef<uint>();
            words = Words(overflow);
        }
    }

    /// <summary>The slot that holds exactly this handle, or a null reference.</summary>
    public ref uint FindHandle(ulong hash, uint handle)
    {
        if (_buckets == 0) return ref Unsafe.NullRef<uint>();
        Span<uint> words = Bucket(BucketOf((uint)hash));
        while (true)
        {
            int at = words.Slice(FirstHandleWord, SlotsPerBucket).IndexOf(handle);
            if (at >= 0) return ref words[FirstHandleWord + at];
            uint overflow = words[OverflowWord];
            if (overflow == 0) return ref Unsafe.NullRef<uint>();
            words = Words(overflow);
        }
    }

    /// <summary>Adds a record whose key is known to be absent; returns its slot.</summary>
    public ref uint Add(ulong hash, uint handle)
    {
        Debug.Assert(handle != 0);
        if (_buckets == 0) AddBucket();
        else if (Count * Denominator >= (long)_buckets * GrowNumerator) SplitOne();
        Count++;
        return ref Place(Bucket(BucketOf((uint)hash)), (uint)hash, handle);
    }

    /// <summary>Empties a slot found before.</summary>
    public void Remove(ulong hash, ref uint slot)
    {
        slot = 0;
        Count--;
        uint bucket = BucketOf((uint)hash);
        CompactChain(Bucket(bucket));
        if (_buckets > 1 && Count * Denominator < (long)_buckets * ShrinkNumerator) MergeOne();
        if (Count == 0) Clear();
    }

    /// <summary>Frees the index's own buckets; the records are their owner's to free.</summary>
    public void Clear()
    {
        for (uint b = 0; b < _buckets; b++) FreeOverflow(Bucket(b));
        for (int s = 0; s < SegmentsInUse; s++) FreeSegment(s);
        _segments = new uint[1];
        _firstSegmentBuckets = 0;
        _buckets = 0;
        Count = 0;
    }

    /// <summary>Frees a part of the buckets of an index that is being abandoned, handing each record to the owner; true when all is gone.</summary>
    public bool Drain(ref uint cursor, int buckets, Action<uint> freeRecord)
    {
        for (; buckets > 0 && cursor < _buckets; buckets--, cursor++)
        {
            Span<uint> words = Bucket(cursor);
            while (true)
            {
                foreach (uint handle in words.Slice(FirstHandleWord, SlotsPerBucket))
                    if (handle != 0) { Count--; freeRecord(handle); }
                if (words[OverflowWord] == 0) break;
                words = Words(words[OverflowWord]);
            }
            FreeOverflow(Bucket(cursor));
        }
        if (cursor < _buckets) return false;
        Clear();
        return true;
    }

    /// <summary>Hints at the bucket of a hash. May be called without holding the shard, see <see cref="Arena.Prefetch"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void PrefetchBucket(ulong hash)
    {
        if (TryBucketHandle((uint)hash, out uint handle)) arena.Prefetch(handle, lines: 1);
    }

    /// <summary>Hints at the record of a hash, its bucket having been fetched. May be called without holding the shard.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void PrefetchRecord(ulong hash)
    {
        if (!TryBucketHandle((uint)hash, out uint handle)) return;
        ReadOnlySpan<uint> words = MemoryMarshal.Cast<byte, uint>(arena.Peek(handle, BucketBytes));
        if (words.Length < WordsPerBucket) return;
        uint hits = Hits(words, (uint)hash);
        if (hits != 0) arena.Prefetch(words[FirstHandleWord + BitOperations.TrailingZeroCount(hits)], lines: 2);
    }

    /// <summary>A random record's handle; 0 when there is none.</summary>
    public uint RandomHandle(Random random)
    {
        if (Count == 0) return 0;
        Span<uint> found = stackalloc uint[64];
        while (true)
        {
            // A record is as likely as its bucket is crowded; close enough, and bounded, where buckets hold 2 to 7.
            int n = Collect((uint)random.NextInt64(_buckets), found);
            if (n > 0) return found[random.Next(Math.Min(n, found.Length))];
        }
    }

    /// <summary>
    /// Visits the records of one cursor position and returns the next cursor, 0 at the end. Every record that is present
    /// from the first call to the last is visited, however the index grows or shrinks in between: positions are the buckets of
    /// the smaller table in reverse-binary order, each together with the buckets split from it.
    /// </summary>
    public ulong Scan<TVisitor>(ulong cursor, ref TVisitor visitor) where TVisitor : struct, IScanVisitor, allows ref struct
    {
        if (_buckets == 0) return 0;
        uint mask = LowerMask;
        uint bucket = (uint)cursor & mask;
        Visit(bucket, ref visitor);
        uint upper = bucket + mask + 1;
        if (upper < _buckets) Visit(upper, ref visitor);

        // Increment the reversed cursor: set the unmasked bits, so that the carry goes through the masked ones only.
        ulong next = cursor | ~(ulong)mask;
        next = Reverse(Reverse(next) + 1);
        return next;
    }

    /// <summary>Copies up to the span's length of a bucket's handles; returns how many there are.</summary>
    internal int Collect(uint bucket, Span<uint> into)
    {
        int n = 0;
        Span<uint> words = Bucket(bucket);
        while (true)
        {
            foreach (uint handle in words.Slice(FirstHandleWord, SlotsPerBucket))
                if (handle != 0 && n++ < into.Length) into[n - 1] = handle;
            if (words[OverflowWord] == 0) return n;
            words = Words(words[OverflowWord]);
        }
    }

    private int SegmentsInUse => (int)((_buckets + SegmentBuckets - 1) >> SegmentShift);

    /// <summary>2^level - 1, where 2^level is the largest power of two that is not above the number of buckets.</summary>
    private uint LowerMask
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => (1u << BitOperations.Log2(_buckets)) - 1;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private uint BucketOf(uint tag) => BucketOf(tag, _buckets);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint BucketOf(uint tag, uint buckets)
    {
        uint mask = (1u << BitOperations.Log2(buckets)) - 1;
        uint bucket = tag & (mask << 1 | 1);
        return bucket < buckets ? bucket : tag & mask;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Span<uint> Bucket(uint bucket) =>
        Words(_segments[bucket >> SegmentShift] + (bucket & (SegmentBuckets - 1)) * BucketUnits);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Span<uint> Words(uint handle) => MemoryMarshal.Cast<byte, uint>(arena.Bytes(handle, BucketBytes));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool TryBucketHandle(uint tag, out uint handle)
    {
        // Without the hold these fields may change between two reads; every use is checked.
        uint[] segments = _segments;
        uint buckets = _buckets;
        handle = 0;
        if (buckets == 0) return false;
        uint bucket = BucketOf(tag, buckets);
        if (bucket >> SegmentShift >= (uint)segments.Length) return false;
        handle = segments[bucket >> SegmentShift] + (bucket & (SegmentBuckets - 1)) * BucketUnits;
        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint Hits(ReadOnlySpan<uint> words, uint tag) =>
        Vector256.Equals(Vector256.Create(words), Vector256.Create(tag)).ExtractMostSignificantBits() & SlotMask;

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
                words[OverflowWord] = arena.Allocate(BucketBytes);
                Bytes += BucketBytes;
                Words(words[OverflowWord]).Clear();
            }
            words = Words(words[OverflowWord]);
        }
    }

    private void AddBucket()
    {
        uint bucket = _buckets;
        int segment = (int)(bucket >> SegmentShift);
        if (segment == _segments.Length) Array.Resize(ref _segments, _segments.Length * 2);
        if (segment == 0)
        {
            if (bucket == _firstSegmentBuckets) GrowFirstSegment();
        }
        else if ((bucket & (SegmentBuckets - 1)) == 0)
        {
            _segments[segment] = arena.Allocate(SegmentBuckets * BucketBytes);
            Bytes += SegmentBuckets * BucketBytes;
        }
        _buckets++;
        Bucket(bucket).Clear();
    }

    private void GrowFirstSegment()
    {
        int buckets = Math.Max(1, _firstSegmentBuckets * 2);
        uint grown = arena.Allocate(buckets * BucketBytes);
        if (_firstSegmentBuckets > 0)
        {
            arena.Bytes(_segments[0], _firstSegmentBuckets * BucketBytes).CopyTo(arena.Bytes(grown, buckets * BucketBytes));
            arena.Free(_segments[0]);
        }
        Bytes += (buckets - _firstSegmentBuckets) * BucketBytes;
        _segments[0] = grown;
        _firstSegmentBuckets = buckets;
    }

    private void FreeSegment(int segment)
    {
        arena.Free(_segments[segment]);
        Bytes -= (segment == 0 ? _firstSegmentBuckets : SegmentBuckets) * BucketBytes;
        _segments[segment] = 0;
    }

    /// <summary>Adds one bucket and moves to it what belongs there: records of exactly one other bucket.</summary>
    private void SplitOne()
    {
        uint added = _buckets;
        AddBucket();
        uint source = added & ((1u << BitOperations.Log2(added)) - 1);
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
    }

    /// <summary>Takes the last bucket away, its records going back to the bucket that they were split from.</summary>
    private void MergeOne()
    {
        uint last = _buckets - 1;
        Span<uint> words = Bucket(last);
        Span<uint> target = Bucket(last & ((1u << BitOperations.Log2(last)) - 1));
        while (true)
        {
            for (int i = 0; i < SlotsPerBucket; i++)
                if (words[FirstHandleWord + i] != 0) Place(target, words[i], words[FirstHandleWord + i]);
            if (words[OverflowWord] == 0) break;
            words = Words(words[OverflowWord]);
        }
        FreeOverflow(Bucket(last));
        _buckets--;
        if (last >= SegmentBuckets && (last & (SegmentBuckets - 1)) == 0) FreeSegment((int)(last >> SegmentShift));
    }

    /// <summary>Frees overflow buckets at the end of a chain that hold nothing, after pulling their records forward.</summary>
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
            if (next[OverflowWord] == 0 && next.Slice(FirstHandleWord, SlotsPerBucket).IndexOfAnyExcept(0u) < 0)
            {
                arena.Free(words[OverflowWord]);
                Bytes -= BucketBytes;
                words[OverflowWord] = 0;
                return;
            }
            words = next;
        }
    }

    private void FreeOverflow(Span<uint> words)
    {
        uint overflow = words[OverflowWord];
        words[OverflowWord] = 0;
        while (overflow != 0)
        {
            uint next = Words(overflow)[OverflowWord];
            arena.Free(overflow);
            Bytes -= BucketBytes;
            overflow = next;
        }
    }

    private void Visit<TVisitor>(uint bucket, ref TVisitor visitor) where TVisitor : struct, IScanVisitor, allows ref struct
    {
        Span<uint> words = Bucket(bucket);
        while (true)
        {
            foreach (uint handle in words.Slice(FirstHandleWord, SlotsPerBucket))
                if (handle != 0) visitor.Visit(handle);
            if (words[OverflowWord] == 0) return;
            words = Words(words[OverflowWord]);
        }
    }

    private static ulong Reverse(ulong value)
    {
        value = (value >> 1 & 0x5555555555555555) | (value & 0x5555555555555555) << 1;
        value = (value >> 2 & 0x3333333333333333) | (value & 0x3333333333333333) << 2;
        value = (value >> 4 & 0x0F0F0F0F0F0F0F0F) | (value & 0x0F0F0F0F0F0F0F0F) << 4;
        return System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(value);
    }
}

/// <summary>Receives the records of a scan. It must not change the index that is being scanned.</summary>
public interface IScanVisitor
{
    void Visit(uint handle);
}
