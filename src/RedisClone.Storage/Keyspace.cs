using System.Runtime.CompilerServices;
using RedisClone.Memory;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;

namespace RedisClone.Storage;

/// <summary>
/// One shard's part of one database: indexes of its records by key, one for each hash slot, and an index of the records that expire.
/// </summary>
public sealed partial class Keyspace(ShardStore store, int slots)
{
    private KeyIndexes _keys = new(slots);
    private IndexRoot _expires;
    private TreeRoot _fieldExpiries;

    public ShardStore Store => store;

    /// <summary>The number of this database at the beginning of a capture that still has to walk it, otherwise -1.</summary>
    internal int CapturedAs { get; set; } = -1;

    /// <summary>Commands build values here that then replace another key's value. Clients do not see changes in it.</summary>
    internal bool IsScratch { get; init; }

    /// <summary>The database was emptied, and only a capture still needs this keyspace.</summary>
    internal bool IsAbandoned { get; set; }

    /// <summary>The next keyspace in the queue of keyspaces to free. A linked queue needs no memory of its own.</summary>
    internal Keyspace? NextToFree { get; set; }

    /// <summary>The bucket up to which the index of expiring keys is freed. Earlier buckets must not be read.</summary>
    private uint _freedTo;

    public long Count => _keys.Count;

    public long ExpiringCount => Expires.Count;

    /// <summary>Number of hashes that have expiring fields.</summary>
    public long ExpiringHashCount => FieldExpiries.Count;

    /// <summary>Bytes of all indexes.</summary>
    public long IndexBytes => _keys.BytesIn(store.Arena) + Expires.Bytes + _fieldExpiries.Bytes;

    /// <summary>Bytes of the index of expiring keys, which <see cref="IndexBytes"/> includes.</summary>
    public long ExpiringIndexBytes => Expires.Bytes;

    public uint ExpiringBucketCount => Expires.BucketCount;

    public long BucketCount => _keys.BucketCount;

    /// <summary>The number of hash slots of the shard.</summary>
    public int Slots => slots;

    /// <summary>The index of the records in the slot of a hash.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal HashIndex KeysOf(ulong hash) => new(store.Arena, ref _keys.RootOf(hash));

    internal HashIndex Expires => new(store.Arena, ref _expires);

    internal TimeTree FieldExpiries => new(store.Arena, ref _fieldExpiries);

    /// <summary>
    /// Counts a change. A change of one element or of a key is counted at its end: it has changed nothing when it fails. A change
    /// of several elements may fail halfway, so it is counted at its beginning.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void CountChange()
    {
        if (!IsScratch) store.CountChange();
    }

    /// <summary>Counts a change and returns its result.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool CountChange(bool result)
    {
        CountChange();
        return result;
    }

    /// <summary>Finds a key even if it has expired. The caller decides, and records the effect of an expiry.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Entry Find(ReadOnlySpan<byte> key, ulong hash)
    {
        FaultPoint.Call();
        return new(this, hash, ref KeysOf(hash).Find(hash, key, new RecordKeys(store.Arena)));
    }

    /// <summary>Finds the entry of a record handle.</summary>
    public Entry Locate(ulong hash, uint handle) => new(this, hash, ref KeysOf(hash).FindHandle(hash, handle));

    /// <summary>An entry that represents an absent key.</summary>
    public Entry Absent(ulong hash) => new(this, hash, ref Unsafe.NullRef<uint>());

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void PrefetchBucket(ulong hash) => KeysOf(hash).PrefetchBucket(hash);

    /// <inheritdoc cref="HashIndex.PrefetchRecord"/>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint PrefetchRecord(ulong hash) => KeysOf(hash).PrefetchRecord(hash, lines: 2);

    /// <summary>
    /// Announces that a key or its value is about to change, so that a running capture takes the old state first. Methods that
    /// change a whole record do this themselves. A caller that writes to the bytes of a value calls this before.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Preserve(in Entry entry)
    {
        if (store.Capture is { } capture) capture.BeforeChange(entry);
    }

    /// <summary>Adds an absent key. The bytes of the value are undefined until the caller fills them.</summary>
    public Entry Insert(
        scoped ReadOnlySpan<byte> key, ulong hash, ValueType type, ValueEncoding encoding, int valueLength, long expiry = 0)
    {
        FaultPoint.Call();
        uint handle = store.Arena.Allocate(Record.SizeOf(key.Length, valueLength, expiry != 0, spare: 0));
        Record.Format(store.Arena.FromStart(handle), key, type, encoding, store.NewAccess, valueLength, expiry, store.Epoch);
        ref uint slot = ref KeysOf(hash).TryAdd(hash, handle);
        if (Unsafe.IsNullRef(ref slot)) FreeAndThrow(handle);
        if (expiry != 0 && Unsafe.IsNullRef(ref Expires.TryAdd(hash, handle)))
        {
            KeysOf(hash).Remove(hash, ref slot);
            FreeAndThrow(handle);
        }
        _keys.Counted(hash, 1);
        CountChange();
        return new Entry(this, hash, ref slot);
    }

    /// <summary>
    /// Replaces the value of a key by one of any type and form, and frees the structures of the old value outside the record. The
    /// bytes of the new value are undefined until the caller fills them. The key keeps its access bits.
    /// </summary>
    public void Replace(in Entry entry, ValueType type, ValueEncoding encoding, int valueLength, long expiry)
    {
        FaultPoint.Call();
        Preserve(entry);
        Record record = entry.Record;
        bool sameLayout = record.LayoutFits(valueLength) && record.HasExpiry == (expiry != 0);
        if (sameLayout && Fits(entry.Slot, record.ValueOffset + (long)valueLength))
        {
            LeaveValue(record, entry.Slot);
            uint access = record.Access;
            record.SetForm(type, encoding);
            record.Access = access;
            record.SetValueLength(valueLength);
            if (expiry != 0) record.Expiry = expiry;
            CountChange();
            return;
        }
        uint moved = MakeMoved(entry, type, encoding, record.Access, valueLength, spare: 0, expiry);
        store.Arena.BeginChange();
        LeaveValue(record, entry.Slot);
        Publish(entry, moved);
        store.Arena.EndChange();
        CountChange();
    }

    /// <summary>
    /// Changes the length of a value and keeps its first bytes. Bytes beyond the old length are undefined.
    /// <paramref name="spare"/> reserves room for further growth.
    /// </summary>
    public void Resize(in Entry entry, int valueLength, int spare = 0)
    {
        Preserve(entry);
        Record record = entry.Record;
        long size = record.ValueOffset + (long)valueLength;
        int capacity = store.Arena.Capacity(entry.Slot);
        bool hasRoom = record.LayoutFits(valueLength) && size <= capacity;
        if (hasRoom && !IsWaste(size, capacity) || !TryResizeMoved(entry, record, valueLength, spare, hasRoom))
            record.SetValueLength(valueLength);
        CountChange();
    }

    /// <summary>Changes the type and the encoding of a value, but not its bytes.</summary>
    public static void SetForm(in Entry entry, ValueType type, ValueEncoding encoding)
    {
        Record record = entry.Record;
        uint access = record.Access;
        record.SetForm(type, encoding);
        record.Access = access;
    }

    /// <summary>Sets the time at which a key expires, in Unix milliseconds; 0 for never.</summary>
    public void SetExpiry(in Entry entry, long expiry)
    {
        FaultPoint.Call();
        Preserve(entry);
        Record record = entry.Record;
        if (record.HasExpiry && expiry != 0) record.Expiry = expiry;
        else if (record.HasExpiry || expiry != 0)
            Move(entry, record, record.ValueLength, 0, expiry);
        CountChange();
    }

    /// <summary>Removes a key and frees its value. Needs no memory.</summary>
    public void Remove(in Entry entry)
    {
        FaultPoint.Call();
        RemoveNow(entry);
        CountChange();
    }

    /// <summary>Like <see cref="Remove"/>, as a part of another operation.</summary>
    internal void RemoveNow(in Entry entry)
    {
        Preserve(entry);
        store.ReleaseValue(entry.Type, entry.Encoding, entry.Value, owner: this);
        Detach(entry);
    }

    /// <summary>Removes a key whose value now belongs to another key (RENAME, MOVE): frees the record only.</summary>
    public void Detach(in Entry entry)
    {
        Preserve(entry);
        uint handle = entry.Slot;
        store.Arena.BeginChange();
        Unlist(entry);
        store.Arena.Free(handle);
        store.Arena.EndChange();
    }

    /// <summary>Visits one cursor position and returns the next cursor, 0 at the end. See <see cref="HashIndex.Scan"/>.</summary>
    public ulong Scan<TVisitor>(ulong cursor, ref TVisitor visitor) where TVisitor : struct, IScanVisitor, allows ref struct =>
        _keys.Scan(store.Arena, cursor, ref visitor);

    /// <summary>The number of keys in the slot of a hash.</summary>
    public long CountInSlot(ulong hash) => KeysOf(hash).Count;

    /// <summary>A walk over the records in the slot of a hash. The keyspace must not change during the walk.</summary>
    public HashIndexWalk WalkSlot(ulong hash) => KeysOf(hash).All();

    /// <summary>Like <see cref="Scan"/>, over expiring keys only.</summary>
    public ulong ScanExpiring<TVisitor>(ulong cursor, ref TVisitor visitor)
        where TVisitor : struct, IScanVisitor, allows ref struct =>
        Expires.Scan(cursor, ref visitor);

    /// <summary>The key of a record handle that a scan or a sample returned.</summary>
    public ReadOnlySpan<byte> KeyOf(uint handle) => new Record(store.Arena.FromStart(handle)).Key;

    internal Record RecordOf(uint handle) => new(store.Arena.FromStart(handle));

    /// <summary>Prefetches the header of a record, which <see cref="PrefetchRest"/> reads later.</summary>
    internal void PrefetchHeader(uint handle) => store.Arena.Prefetch(handle, lines: 1);

    internal void PrefetchRest(uint handle) => MemoryHints.PrefetchRest(RecordOf(handle).Whole);

    /// <inheritdoc cref="KeyIndexes.PrefetchPositions"/>
    internal void PrefetchPositions(ulong cursor, int count) => _keys.PrefetchPositions(store.Arena, cursor, count);

    public long ExpiryOf(uint handle) => new Record(store.Arena.FromStart(handle)).Expiry;

    public ValueType TypeOf(uint handle) => new Record(store.Arena.FromStart(handle)).Type;

    /// <summary>The hash with the earliest expired field, 0 if no field has expired.</summary>
    public uint DueHash => FieldExpiries.First is { Handle: not 0 } first && first.Time < store.Now ? first.Handle : 0;

    /// <summary>The record handle of a random key, 0 if there is none.</summary>
    public uint RandomHandle(Random random) => _keys.RandomHandle(store.Arena, random);

    /// <summary>
    /// Collects handles of records at a random place, at least <paramref name="wanted"/> if there are so many and they fit. Returns their number.
    /// </summary>
    public int Sample(ulong place, int wanted, bool onlyExpiring, Span<uint> into) =>
        onlyExpiring ? Expires.Sample(place, wanted, into) : _keys.Sample(store.Arena, place, wanted, into);

    /// <summary>Prefetches what <see cref="PrefetchSampled"/> reads.</summary>
    public void PrefetchSample(ulong place, int wanted, bool onlyExpiring)
    {
        if (onlyExpiring) Expires.PrefetchSample(place, wanted);
        else _keys.PrefetchSample(store.Arena, place, wanted);
    }

    /// <summary>Prefetches the headers of the records that a <see cref="Sample"/> at this place returns.</summary>
    public void PrefetchSampled(ulong place, int wanted, bool onlyExpiring, Span<uint> scratch)
    {
        foreach (uint handle in scratch[..Sample(place, wanted, onlyExpiring, scratch)]) PrefetchHeader(handle);
    }

    /// <summary>The access bits of a record handle.</summary>
    public uint AccessOf(uint handle) => new Record(store.Arena.FromStart(handle)).Access;

    /// <summary>
    /// Frees a part of an abandoned keyspace. Returns true when everything is freed. Needs no memory. <paramref name="budget"/>
    /// decreases by the work done, in buckets and nodes.
    /// </summary>
    internal bool Drain(ref int budget)
    {
        for (; _fieldExpiries.Node != 0; budget--)
        {
            if (budget <= 0) return false;
            FieldExpiries.DropLastLeaf();
        }
        uint from = _freedTo;
        if (Expires.BucketCount > 0)
        {
            var none = new NoOwner();
            if (Expires.Drain(ref _freedTo, budget, ref none)) _freedTo = from = 0;
            budget -= (int)(_freedTo - from) + 1;
            return false;
        }
        // Few buckets at a time: otherwise a database of large values would pass all of them to the queue at once.
        var owner = new RecordOwner(store);
        return _keys.Drain(store.Arena, ref budget, atOnce: 64, ref owner);
    }

    /// <summary>Compacts the next bucket and lists its large values. Returns false after the last bucket.</summary>
    internal bool Compact(ref BucketPlace place, List<(ulong Hash, uint Handle)> large)
    {
        uint step = place.Step++;
        if (step < Expires.BucketCount)
        {
            var mover = new NoMover();
            Expires.CompactBucket(step, ref mover);
        }
        if (step * 8L < FieldExpiries.Count) FieldExpiries.Compact(step * 8L);
        if (!_keys.TryNextBucket(ref place, out uint bucket)) return false;
        ulong slot = KeyIndexes.HashOf(place.Slot);
        var records = new RecordMover(this, slot, large);
        KeysOf(slot).CompactBucket(bucket, ref records);
        return true;
    }

    /// <summary>Continues the compaction of a large value. Returns true when it is complete, or when the value is gone.</summary>
    internal bool CompactLarge(ulong hash, uint handle, ref CompactionPlace place, ref int budget)
    {
        if (Unsafe.IsNullRef(ref KeysOf(hash).FindHandle(hash, handle))) return true;
        var record = new Record(store.Arena.FromStart(handle));
        return record.Encoding != ValueEncoding.Large
            || LargeCompaction.Compact(store.Arena, record.Type, record.Value, ref place, ref budget);
    }

    private bool Fits(uint handle, long size)
    {
        int capacity = store.Arena.Capacity(handle);
        return size <= capacity && !IsWaste(size, capacity);
    }

    /// <summary>Whether a value is so small for its buffer that it moves: memory follows the data down.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool IsWaste(long size, int capacity) => capacity > 128 && size < capacity / 2;

    /// <summary>Frees the structures outside the record of a value that is about to be replaced.</summary>
    private void LeaveValue(Record record, uint handle)
    {
        if (record.NextFieldExpiry is > 0 and var next) FieldExpiries.Remove(next, handle);
        store.ReleaseValue(record.Type, record.Encoding, record.Value);
    }

    /// <summary>
    /// Moves a value of another length to a record of another size. Returns false if the old record is large enough and memory
    /// for a smaller one is missing.
    /// </summary>
    private bool TryResizeMoved(in Entry entry, Record record, int valueLength, int spare, bool hasRoom)
    {
        try
        {
            Move(entry, record, valueLength, spare, record.Expiry);
            return true;
        }
        catch (OutOfMemoryException) when (hasRoom)
        {
            return false;
        }
    }

    /// <summary>Moves a value to a new record.</summary>
    private void Move(in Entry entry, Record old, int valueLength, int spare, long expiry)
    {
        uint moved = MakeMoved(entry, old.Type, old.Encoding, old.Access, valueLength, spare, expiry);
        var record = new Record(store.Arena.FromStart(moved));
        old.Value[..Math.Min(valueLength, old.ValueLength)].CopyTo(record.Value);
        if (old.NextFieldExpiry is > 0 and var next) MoveFieldExpiry(entry, next, moved);
        store.Arena.BeginChange();
        Publish(entry, moved);
        store.Arena.EndChange();
    }

    /// <summary>
    /// Allocates a record that will replace another one. If only the new record expires, it is added to the index of expiring
    /// keys here, so the steps after this need no memory.
    /// </summary>
    private uint MakeMoved(
        in Entry entry, ValueType type, ValueEncoding encoding, uint access, int valueLength, int spare, long expiry)
    {
        Record old = entry.Record;
        uint moved = store.Arena.Allocate(Record.SizeOf(old.KeyLength, valueLength, expiry != 0, spare));
        Record.Format(store.Arena.FromStart(moved), old.Key, type, encoding, access, valueLength, expiry, store.Epoch);
        if (expiry != 0 && !old.HasExpiry && Unsafe.IsNullRef(ref Expires.TryAdd(entry.Hash, moved))) FreeAndThrow(moved);
        return moved;
    }

    /// <summary>Removes a record from the indexes.</summary>
    private void Unlist(in Entry entry)
    {
        uint handle = entry.Slot;
        if (entry.Record.NextFieldExpiry is > 0 and var next) FieldExpiries.Remove(next, handle);
        if (entry.Record.HasExpiry) Expires.Remove(entry.Hash, ref Expires.FindHandle(entry.Hash, handle));
        KeysOf(entry.Hash).Remove(entry.Hash, ref entry.Slot);
        _keys.Counted(entry.Hash, -1);
    }

    /// <summary>Replaces a record by a new one and frees the old one.</summary>
    private void Publish(in Entry entry, uint moved)
    {
        uint old = entry.Slot;
        if (new Record(store.Arena.FromStart(old)).HasExpiry)
        {
            ref uint expiring = ref Expires.FindHandle(entry.Hash, old);
            if (new Record(store.Arena.FromStart(moved)).HasExpiry) expiring = moved;
            else Expires.Remove(entry.Hash, ref expiring);
        }
        entry.Slot = moved;
        store.Arena.Free(old);
    }

    [System.Diagnostics.CodeAnalysis.DoesNotReturn]
    private void FreeAndThrow(uint handle)
    {
        store.Arena.Free(handle);
        Arena.ThrowOutOfMemory();
    }

    private readonly struct RecordKeys(Arena arena) : IRecordKeys
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public bool Matches(uint handle, ReadOnlySpan<byte> key) =>
            new Record(arena.FromStart(handle)).Key.SequenceEqual(key);
    }

    private readonly struct RecordMover(Keyspace keyspace, ulong slot, List<(ulong Hash, uint Handle)> large) : IRecordMover
    {
        public bool TryMove(uint tag, uint handle, out uint moved)
        {
            Arena arena = keyspace.Store.Arena;
            FaultPoint.Allocation();
            large.EnsureCapacity(large.Count + 1);
            bool leaves = TryMove(arena, tag, handle, out moved);
            if (new Record(arena.FromStart(moved)).Encoding == ValueEncoding.Large) large.Add((slot | tag, moved));
            return leaves;
        }

        private bool TryMove(Arena arena, uint tag, uint handle, out uint moved)
        {
            if (!arena.TryMove(handle, out moved)) return false;
            var record = new Record(arena.FromStart(moved));
            if (record.NextFieldExpiry is > 0 and var next)
            {
                if (!keyspace.FieldExpiries.TryAdd(next, moved))
                {
                    arena.Free(moved);
                    moved = handle;
                    return false;
                }
                keyspace.FieldExpiries.Remove(next, handle);
            }
            if (record.HasExpiry) keyspace.Expires.FindHandle(tag, handle) = moved;
            arena.Free(handle);
            return true;
        }
    }

    private readonly struct NoMover : IRecordMover
    {
        public bool TryMove(uint tag, uint handle, out uint moved)
        {
            moved = handle;
            return false;
        }
    }

    private readonly struct NoOwner : IScanVisitor
    {
        public void Visit(uint handle)
        {
        }
    }

    private readonly struct RecordOwner(ShardStore store) : IScanVisitor
    {
        public void Visit(uint handle)
        {
            var record = new Record(store.Arena.FromStart(handle));
            store.ReleaseValue(record.Type, record.Encoding, record.Value);
            store.Arena.Free(handle);
        }
    }
}
