using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedisClone.Storage.Memory;

/// <summary>How a <see cref="HashIndex"/> compares a key with the record of a handle.</summary>
public interface IRecordKeys
{
    bool Matches(uint handle, ReadOnlySpan<byte> key);
}

/// <summary>
/// An index of record handles by the hash of their keys: linear hashing over buckets of one cache line each, stored in the arena.
/// It grows and shrinks by one bucket at a time, so no operation stops to rehash a table, and its memory follows the number of
/// records without doubling. The keyspace and every large hash, set and sorted set use it.
/// </summary>
/// <remarks>
/// A bucket is 16 words: seven tags (the low 32 bits of the hash), the handle of an overflow bucket, seven record handles (0
/// marks a free slot), and a word that is always 0. With n = 2^level + split buckets, a tag belongs to bucket tag &amp;
/// (2^(level+1) - 1) if that bucket exists, otherwise to tag &amp; (2^level - 1). A reference to a slot is valid until the next
/// insert or remove.
/// </remarks>
public readonly ref partial struct HashIndex(Arena arena, ref IndexRoot root)
{
    public const int SlotsPerBucket = 7;
    private const int OverflowWord = 7;
    private const int FirstHandleWord = 8;
    private const int WordsPerBucket = 16;
    private const int BucketBytes = WordsPerBucket * sizeof(uint);
    private const int BucketUnits = BucketBytes >> Arena.UnitShift;
    private const int SegmentShift = 9;
    private const int SegmentBuckets = 1 << SegmentShift;     // 32 KB
    private const uint SlotMask = (1 << SlotsPerBucket) - 1;

    private readonly Arena _arena = arena;
    private readonly ref IndexRoot _root = ref root;

    public long Count => _root.Records;

    public uint BucketCount => _root.Buckets;

    /// <summary>Bytes that the index takes in the arena, without the records.</summary>
    public long Bytes
    {
        get
        {
            if (_root.Table == 0) return 0;
            long segments = _root.Buckets <= SegmentBuckets ? 0 : (long)SegmentsInUse * SegmentBuckets * BucketBytes;
            return segments + _arena.Capacity(_root.Table) + (long)_root.Overflows * BucketBytes;
        }
    }

    /// <summary>The slot that holds the handle of a key's record, or a null reference.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ref uint Find<TKeys>(ulong hash, scoped ReadOnlySpan<byte> key, scoped in TKeys keys) where TKeys : struct, IRecordKeys
    {
        if (_root.Buckets == 0) return ref Unsafe.NullRef<uint>();
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

    /// <summary>The slot that holds the given handle, or a null reference.</summary>
    public ref uint FindHandle(ulong hash, uint handle)
    {
        if (_root.Buckets == 0) return ref Unsafe.NullRef<uint>();
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

    /// <summary>
    /// Adds a record. The caller knows that the key is absent. Returns the slot, or a null reference with nothing changed if
    /// memory is missing: the caller then frees the record and throws (see <see cref="Arena.ThrowOutOfMemory"/>).
    /// </summary>
    public ref uint TryAdd(ulong hash, uint handle)
    {
        Debug.Assert(handle != 0);
        if (!GrowFor(_root.Records + 1)) return ref Unsafe.NullRef<uint>();
        ref uint slot = ref Place(Bucket(BucketOf((uint)hash)), (uint)hash, handle);
        if (!Unsafe.IsNullRef(ref slot)) _root.Records++;
        return ref slot;
    }

    /// <summary>Like <see cref="TryAdd"/>, for a caller with nothing to undo: throws if memory is missing.</summary>
    public ref uint Add(ulong hash, uint handle)
    {
        ref uint slot = ref TryAdd(hash, handle);
        if (Unsafe.IsNullRef(ref slot)) Arena.ThrowOutOfMemory();
        return ref slot;
    }

    /// <summary>
    /// Clears a slot that a lookup returned. This needs no memory: if memory for a smaller table is missing, the index stays
    /// larger.
    /// </summary>
    public void Remove(ulong hash, ref uint slot)
    {
        slot = 0;
        _root.Records--;
        Span<uint> bucket = Bucket(BucketOf((uint)hash));
        if (bucket[OverflowWord] != 0) CompactChain(bucket);
        if (_root.Records == 0) Clear();
        else ShrinkFor(_root.Records);
    }

    /// <summary>Frees the buckets of the index. The caller frees the records.</summary>
    public void Clear()
    {
        for (uint b = 0; b < _root.Buckets && _root.Overflows > 0; b++) FreeOverflow(Bucket(b));
        FreeTable();
        _root = default;
    }

    /// <summary>
    /// Frees some buckets of an abandoned index and passes each record to the owner. Returns true when everything is freed.
    /// </summary>
    public bool Drain<TVisitor>(ref uint cursor, int buckets, ref TVisitor owner)
        where TVisitor : struct, IScanVisitor, allows ref struct
    {
        for (; buckets > 0 && cursor < _root.Buckets; buckets--, cursor++)
        {
            Span<uint> words = Bucket(cursor);
            PrefetchRecords(cursor + 1);
            while (true)
            {
                foreach (uint handle in words.Slice(FirstHandleWord, SlotsPerBucket))
                {
                    if (handle == 0) continue;
                    _root.Records--;
                    owner.Visit(handle);
                }
                if (words[OverflowWord] == 0) break;
                words = Words(words[OverflowWord]);
            }
            FreeOverflow(Bucket(cursor));
        }
        if (cursor < _root.Buckets) return false;
        Clear();
        return true;
    }

    /// <summary>
    /// Moves the overflow buckets of one bucket, and through the mover its records, out of leaving slabs (see
    /// <see cref="Arena.TryMove"/>).
    /// </summary>
    internal void CompactBucket<TMover>(uint bucket, ref TMover mover) where TMover : struct, IRecordMover, allows ref struct
    {
        if (bucket == 0 && _arena.TryMove(_root.Table, out uint table))
        {
            _arena.Free(_root.Table);
            _root.Table = table;
        }
        Span<uint> words = Bucket(bucket);
        while (true)
        {
            for (int i = 0; i < SlotsPerBucket; i++)
            {
                uint handle = words[FirstHandleWord + i];
                if (handle != 0 && mover.TryMove(words[i], handle, out uint moved)) words[FirstHandleWord + i] = moved;
            }
            uint overflow = words[OverflowWord];
            if (overflow == 0) return;
            if (_arena.TryMove(overflow, out uint movedOverflow))
            {
                _arena.Free(overflow);
                words[OverflowWord] = movedOverflow;
            }
            words = Words(movedOverflow);
        }
    }

    /// <summary>
    /// Prefetches the bucket of a hash. May be called without holding the shard, see <see cref="Arena.Prefetch"/>.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void PrefetchBucket(ulong hash)
    {
        if (TryBucketHandle((uint)hash, out uint handle)) _arena.Prefetch(handle, lines: 1);
    }

    /// <summary>
    /// Prefetches the record of a hash whose bucket is already prefetched. Returns the most likely handle of the record, or 0.
    /// May be called without holding the shard.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint PrefetchRecord(ulong hash, int lines)
    {
        if (!TryBucketHandle((uint)hash, out uint bucket)) return 0;
        ReadOnlySpan<uint> words = MemoryMarshal.Cast<byte, uint>(_arena.Peek(bucket, BucketBytes));
        if (words.Length < WordsPerBucket) return 0;
        uint hits = Hits(words, (uint)hash);
        if (hits == 0) return 0;
        uint record = words[FirstHandleWord + BitOperations.TrailingZeroCount(hits)];
        _arena.Prefetch(record, lines);
        return record;
    }

    /// <summary>The handle of a random record, 0 if the index is empty. Every record has the same probability.</summary>
    public uint RandomHandle(Random random)
    {
        // Draws one of at least Places places in a random bucket, and tries again if the place is empty. Very few buckets have
        // more records than that. Without this, a record in a crowded bucket would be drawn less often than one that is alone.
        const int Places = 2 * SlotsPerBucket;
        if (_root.Records == 0) return 0;
        Span<uint> found = stackalloc uint[8 * SlotsPerBucket];
        while (true)
        {
            int n = Collect((uint)random.NextInt64(_root.Buckets), found);
            int place = random.Next(Math.Max(n, Places));
            if (place < n) return found[place];
        }
    }

    /// <summary>
    /// Collects the records of neighbouring buckets, at least <paramref name="wanted"/> if there are so many and they fit. The place
    /// chooses the first bucket: if it is random, every record has the same probability, because a hash chose its bucket. Returns the
    /// number of records.
    /// </summary>
    public int Sample(ulong place, int wanted, Span<uint> into)
    {
        int n = 0;
        uint bucket = BucketAt(place);
        for (uint left = _root.Buckets; left > 0 && n < wanted; left--)
        {
            n += Collect(bucket, into[n..]);
            if (++bucket == _root.Buckets) bucket = 0;
        }
        return n;
    }

    /// <summary>Prefetches the buckets that a <see cref="Sample"/> at this place will probably read.</summary>
    public void PrefetchSample(ulong place, int wanted)
    {
        uint bucket = BucketAt(place);
        for (int left = wanted * Denominator / GrowNumerator + 1; left > 0 && bucket < _root.Buckets; left--) _arena.Prefetch(HandleOf(bucket++), lines: 1);
    }

    private uint BucketAt(ulong place) => (uint)Math.BigMul(place, _root.Buckets, out _);

    /// <summary>
    /// Visits the records of one cursor position and returns the next cursor, 0 at the end. Every record that is present during
    /// the whole scan is visited, even if the index grows or shrinks in between: the positions are the buckets of the smaller
    /// table in reverse-binary order, each with the bucket split from it.
    /// </summary>
    public ulong Scan<TVisitor>(ulong cursor, ref TVisitor visitor) where TVisitor : struct, IScanVisitor, allows ref struct
    {
        HashIndexWalk walk = Position(ref cursor);
        while (walk.MoveNext()) visitor.Visit(walk.Current);
        return cursor;
    }

    /// <summary>A walk over the records of one cursor position. Advances the cursor as <see cref="Scan"/> does.</summary>
    public HashIndexWalk Position(ref ulong cursor)
    {
        if (_root.Buckets == 0)
        {
            cursor = 0;
            return default;
        }
        uint mask = LowerMask(_root.Buckets);
        uint bucket = (uint)cursor & mask;
        cursor = Next(cursor, mask);
        return new HashIndexWalk(this, bucket, mask + 1);
    }

    /// <summary>Prefetches the buckets of one cursor position. Advances the cursor as <see cref="Scan"/> does.</summary>
    public void PrefetchPosition(ref ulong cursor)
    {
        uint mask = _root.Buckets == 0 ? 0 : LowerMask(_root.Buckets);
        PrefetchBucket(cursor & mask);
        PrefetchBucket((cursor & mask) + mask + 1);
        cursor = Next(cursor, mask);
    }

    /// <summary>A walk over all records. The index must not change during the walk.</summary>
    public HashIndexWalk All() => _root.Buckets == 0 ? default : new HashIndexWalk(this, 0, 1);

    /// <summary>The record handles of a bucket, or of an overflow bucket if its handle is given.</summary>
    internal ReadOnlySpan<uint> HandlesOf(uint bucket, uint overflow, out uint next)
    {
        Span<uint> words = overflow == 0 ? Bucket(bucket) : Words(overflow);
        next = words[OverflowWord];
        return words.Slice(FirstHandleWord, SlotsPerBucket);
    }

    /// <summary>Prefetches the records of the bucket that a walk visits next.</summary>
    internal void PrefetchRecords(uint bucket)
    {
        if (bucket >= _root.Buckets) return;
        foreach (uint handle in Bucket(bucket).Slice(FirstHandleWord, SlotsPerBucket))
            if (handle != 0) _arena.Prefetch(handle, lines: 1);
    }

    /// <summary>Collects the records of a bucket, or of its first parts if there is not enough room. Returns their number.</summary>
    private int Collect(uint bucket, Span<uint> into)
    {
        int n = 0;
        Span<uint> words = Bucket(bucket);
        while (into.Length - n >= SlotsPerBucket)
        {
            // Which slots are free cannot be predicted, so a jump for each would cost more than a store.
            foreach (uint handle in words.Slice(FirstHandleWord, SlotsPerBucket))
            {
                into[n] = handle;
                n += handle == 0 ? 0 : 1;
            }
            if (words[OverflowWord] == 0) break;
            words = Words(words[OverflowWord]);
        }
        return n;
    }

    /// <summary>
    /// Increments the reversed cursor. The unmasked bits are set first, so the carry passes through the masked bits only.
    /// </summary>
    private static ulong Next(ulong cursor, uint mask) => Reverse(Reverse(cursor | ~(ulong)mask) + 1);

    private static ulong Reverse(ulong value)
    {
        value = (value >> 1 & 0x5555555555555555) | (value & 0x5555555555555555) << 1;
        value = (value >> 2 & 0x3333333333333333) | (value & 0x3333333333333333) << 2;
        value = (value >> 4 & 0x0F0F0F0F0F0F0F0F) | (value & 0x0F0F0F0F0F0F0F0F) << 4;
        return System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(value);
    }
}

/// <summary>Receives the records of a scan. It must not change the index.</summary>
public interface IScanVisitor
{
    void Visit(uint handle);
}

/// <summary>Moves a record out of a leaving slab and updates every reference to it except the one in the index.</summary>
internal interface IRecordMover
{
    bool TryMove(uint tag, uint handle, out uint moved);
}

/// <summary>Walks the records of some buckets of an index. The index must not change during the walk.</summary>
public ref struct HashIndexWalk
{
    private readonly HashIndex _index;
    private readonly uint _step;
    private ReadOnlySpan<uint> _handles;
    private uint _bucket, _overflow;
    private int _slot;

    internal HashIndexWalk(HashIndex index, uint first, uint step)
    {
        _index = index;
        _step = step;
        _bucket = first;
        _handles = index.HandlesOf(first, 0, out _overflow);
    }

    /// <summary>The handle of the current record.</summary>
    public uint Current { get; private set; }

    public bool MoveNext()
    {
        if (_step == 0) return false;
        while (true)
        {
            while (_slot < _handles.Length)
            {
                Current = _handles[_slot++];
                if (Current != 0) return true;
            }
            if (_overflow == 0)
            {
                if (_bucket + (ulong)_step >= _index.BucketCount) return false;
                _bucket += _step;
                _index.PrefetchRecords(_bucket + _step);
            }
            _handles = _index.HandlesOf(_bucket, _overflow, out _overflow);
            _slot = 0;
        }
    }
}
