using System.Runtime.CompilerServices;
using RedisClone.Memory;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>One shard's part of one database: its records by key, and again those that expire.</summary>
public sealed class Keyspace(ShardStore store)
{
    private IndexRoot _keys, _expires;
    private TreeRoot _fieldExpiries;

    public ShardStore Store => store;

    /// <summary>The database that this was when the capture began that has not walked it yet, else -1.</summary>
    internal int CapturedAs { get; set; } = -1;

    /// <summary>Values are built in it that take another key's place: what happens here changes nothing that a client sees.</summary>
    internal bool IsScratch { get; init; }

    /// <summary>It was emptied, and is kept for a capture only.</summary>
    internal bool IsAbandoned { get; set; }

    /// <summary>
    /// The one after it in the queue of what is to be freed; a queue of such links takes any number without memory.
    /// </summary>
    internal Keyspace? NextToFree { get; set; }

    /// <summary>Up to where it is freed: what lies before must not be looked at again.</summary>
    private uint _freedTo;

    public long Count => Keys.Count;

    public long ExpiringCount => Expires.Count;

    /// <summary>How many hashes have fields that expire.</summary>
    public long ExpiringHashCount => FieldExpiries.Count;

    /// <summary>Bytes of the indexes.</summary>
    public long IndexBytes => Keys.Bytes + Expires.Bytes + _fieldExpiries.Bytes;

    /// <summary>The part of them that the index of expiring keys takes.</summary>
    public long ExpiringIndexBytes => Expires.Bytes;

    public uint ExpiringBucketCount => Expires.BucketCount;

    public uint BucketCount => Keys.BucketCount;

    internal HashIndex Keys
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => new(store.Arena, ref _keys);
    }

    internal HashIndex Expires => new(store.Arena, ref _expires);

    internal TimeTree FieldExpiries => new(store.Arena, ref _fieldExpiries);

    /// <summary>
    /// Counts a change: at the end of a change of one element or of a key, which has changed nothing when it fails; at the
    /// beginning of a change of several elements, which may fail halfway.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void CountChange()
    {
        if (!IsScratch) store.Changes++;
    }

    /// <summary>The same, where a change ends with its result.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool CountChange(bool result)
    {
        CountChange();
        return result;
    }

    /// <summary>Finds a key, whether or not its time has passed: expiry has effects that are the caller's to write down.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Entry Find(ReadOnlySpan<byte> key, ulong hash)
    {
        FaultPoint.Call();
        return new(this, hash, ref Keys.Find(hash, key, new RecordKeys(store.Arena)));
    }

    /// <summary>Finds the key of a record handle.</summary>
    public Entry Locate(ulong hash, uint handle) => new(this, hash, ref Keys.FindHandle(hash, handle));

    /// <summary>What a find gives that finds nothing.</summary>
    public Entry Absent(ulong hash) => new(this, hash, ref Unsafe.NullRef<uint>());

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void PrefetchBucket(ulong hash) => Keys.PrefetchBucket(hash);

    /// <inheritdoc cref="HashIndex.PrefetchRecord"/>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint PrefetchRecord(ulong hash) => Keys.PrefetchRecord(hash, lines: 2);

    /// <summary>
    /// Says that a key, or a value in its place, is about to be changed: a capture that has not taken it takes it now. What changes a record as a whole
    /// says so itself; whoever changes a value's bytes does before.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Preserve(in Entry entry)
    {
        if (store.Capture is { } capture) capture.BeforeChange(entry);
    }

    /// <summary>Adds a key that is absent. The value's bytes are undefined until the caller fills them.</summary>
    public Entry Insert(
        scoped ReadOnlySpan<byte> key, ulong hash, ValueType type, ValueEncoding encoding, int valueLength, long expiry = 0)
    {
        FaultPoint.Call();
        uint handle = store.Arena.Allocate(Record.SizeOf(key.Length, valueLength, expiry != 0));
        Record.Format(store.Arena.FromStart(handle), key, type, encoding, store.NewAccess, valueLength, expiry, store.Epoch);
        ref uint slot = ref Keys.TryAdd(hash, handle);
        if (Unsafe.IsNullRef(ref slot)) FreeAndThrow(handle);
        if (expiry != 0 && Unsafe.IsNullRef(ref Expires.TryAdd(hash, handle)))
        {
            Keys.Remove(hash, ref slot);
            FreeAndThrow(handle);
        }
        CountChange();
        return new Entry(this, hash, ref slot);
    }

    /// <summary>
    /// Gives an existing key another value of any form; what the old value held elsewhere is freed. The new value's bytes are
    /// undefined until the caller fills them.
    /// </summary>
    public void Replace(in Entry entry, ValueType type, ValueEncoding encoding, int valueLength, long expiry)
    {
        FaultPoint.Call();
        Preserve(entry);
        Record record = entry.Record;
        bool sameLayout = record.LayoutFits(valueLength) && record.HasExpiry == (expiry != 0);
        if (sameLayout && Fits(entry.Slot, record.ValueOffset + valueLength))
        {
            LeaveValue(record, entry.Slot);
            uint access = store.NewAccess;
            record.SetForm(type, encoding);
            record.Access = access;
            record.SetValueLength(valueLength);
            if (expiry != 0) record.Expiry = expiry;
            CountChange();
            return;
        }
        uint moved = MakeMoved(entry, type, encoding, store.NewAccess, valueLength, spare: 0, expiry);
        store.Arena.BeginChange();
        LeaveValue(record, entry.Slot);
        Publish(entry, moved);
        store.Arena.EndChange();
        CountChange();
    }

    /// <summary>
    /// Changes a value's length, keeping its first bytes; those beyond its old length are undefined.
    /// <paramref name="spare"/> asks for room beyond, for values that will grow again.
    /// </summary>
    public void Resize(in Entry entry, int valueLength, int spare = 0)
    {
        Preserve(entry);
        Record record = entry.Record;
        int size = record.ValueOffset + valueLength;
        int capacity = store.Arena.Capacity(entry.Slot);
        bool hasRoom = record.LayoutFits(valueLength) && size <= capacity;
        if (hasRoom && !IsWaste(size, capacity) || !TryResizeMoved(entry, record, valueLength, spare, hasRoom))
            record.SetValueLength(valueLength);
        CountChange();
    }

    /// <summary>Changes the form without touching the value's bytes.</summary>
    public static void SetForm(in Entry entry, ValueType type, ValueEncoding encoding)
    {
        Record record = entry.Record;
        uint access = record.Access;
        record.SetForm(type, encoding);
        record.Access = access;
    }

    /// <summary>Sets when a key expires, in Unix milliseconds; 0 for never.</summary>
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

    /// <summary>The same, as a part of another operation.</summary>
    internal void RemoveNow(in Entry entry)
    {
        Preserve(entry);
        store.ReleaseValue(entry.Type, entry.Encoding, entry.Value, owner: this);
        Detach(entry);
    }

    /// <summary>Removes a key whose value has been given to another (RENAME, MOVE): only the record itself is freed.</summary>
    public void Detach(in Entry entry)
    {
        Preserve(entry);
        uint handle = entry.Slot;
        store.Arena.BeginChange();
        if (entry.Record.NextFieldExpiry is > 0 and var next) FieldExpiries.Remove(next, handle);
        if (entry.Record.HasExpiry) Expires.Remove(entry.Hash, ref Expires.FindHandle(entry.Hash, handle));
        Keys.Remove(entry.Hash, ref entry.Slot);
        store.Arena.Free(handle);
        store.Arena.EndChange();
    }

    /// <summary>Visits one cursor position; the next cursor, 0 at the end. See <see cref="HashIndex.Scan"/>.</summary>
    public ulong Scan<TVisitor>(ulong cursor, ref TVisitor visitor) where TVisitor : struct, IScanVisitor, allows ref struct =>
        Keys.Scan(cursor, ref visitor);

    /// <summary>The same over the keys that expire only.</summary>
    public ulong ScanExpiring<TVisitor>(ulong cursor, ref TVisitor visitor) where TVisitor : struct, IScanVisitor, allows ref struct =>
        Expires.Scan(cursor, ref visitor);

    /// <summary>The key behind a record handle that a scan or a sample gave.</summary>
    public ReadOnlySpan<byte> KeyOf(uint handle) => new Record(store.Arena.FromStart(handle)).Key;

    internal Record RecordOf(uint handle) => new(store.Arena.FromStart(handle));

    /// <summary>Hints at a record that a scan gave: at its header, and when that is there, at the rest of it.</summary>
    internal void PrefetchHeader(uint handle) => store.Arena.Prefetch(handle, lines: 1);

    internal void PrefetchRest(uint handle) => MemoryHints.PrefetchRest(RecordOf(handle).Whole);

    /// <inheritdoc cref="HashIndex.PrefetchPositions"/>
    internal void PrefetchPositions(ulong cursor, int count) => Keys.PrefetchPositions(cursor, count);

    public long ExpiryOf(uint handle) => new Record(store.Arena.FromStart(handle)).Expiry;

    public ValueType TypeOf(uint handle) => new Record(store.Arena.FromStart(handle)).Type;

    /// <summary>The hash of which a field expires soonest, 0 if none is due by now.</summary>
    public uint DueHash => FieldExpiries.First is { Handle: not 0 } first && first.Time < store.Now ? first.Handle : 0;

    /// <summary>A random key's record handle, 0 when there is none.</summary>
    public uint RandomHandle(Random random) => Keys.RandomHandle(random);

    public uint RandomExpiringHandle(Random random) => Expires.RandomHandle(random);

    /// <summary>
    /// Frees a part of a keyspace that was taken out of service; true when all is freed. Needs no memory.
    /// <paramref name="budget"/> is lowered by the work done, in buckets and nodes.
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
            var nobody = new NoOwner();
            if (Expires.Drain(ref _freedTo, budget, ref nobody)) _freedTo = from = 0;
            budget -= (int)(_freedTo - from) + 1;
            return false;
        }
        // Few buckets at a time, lest a database of large values hands all of them over at once.
        var owner = new RecordOwner(store);
        bool done = Keys.Drain(ref _freedTo, Math.Min(budget, 64), ref owner);
        budget -= (int)(_freedTo - from) + 1;
        return done;
    }

    /// <summary>
    /// Moves what a compaction wants moved of one bucket, telling which of its values are large; false when there is no such bucket.
    /// </summary>
    internal bool Compact(uint bucket, List<(uint Tag, uint Handle)> large)
    {
        if (bucket < Keys.BucketCount)
        {
            var mover = new RecordMover(this, large);
            Keys.CompactBucket(bucket, ref mover);
        }
        if (bucket < Expires.BucketCount)
        {
            var mover = new NoMover();
            Expires.CompactBucket(bucket, ref mover);
        }
        if (bucket * 8L < FieldExpiries.Count) FieldExpiries.Compact(bucket * 8L);
        return bucket < Keys.BucketCount;
    }

    /// <summary>Goes on with the compaction of a large value; true when it is done, or gone.</summary>
    internal bool CompactLarge(uint tag, uint handle, ref CompactionPlace place, ref int budget)
    {
        if (Unsafe.IsNullRef(ref Keys.FindHandle(tag, handle))) return true;
        var record = new Record(store.Arena.FromStart(handle));
        return record.Encoding != ValueEncoding.Large
            || LargeCompaction.Compact(store.Arena, record.Type, record.Value, ref place, ref budget);
    }

    /// <summary>
    /// Notes that no field of a hash expires before this, 0 for never: in its value and in the order of all such hashes. Called
    /// before the field gets its time.
    /// </summary>
    internal void SetNextFieldExpiry(in Entry entry, long next)
    {
        Record record = entry.Record;
        long old = record.NextFieldExpiry;
        if (old == next) return;
        if (next != 0) FieldExpiries.Add(next, entry.Slot);
        store.Arena.BeginChange();
        if (old != 0) FieldExpiries.Remove(old, entry.Slot);
        record.NextFieldExpiry = next;
        store.Arena.EndChange();
    }

    /// <summary>
    /// The same after fields lost their time: where memory is missing for a later time, the one before stays, and the hash is
    /// looked at too early.
    /// </summary>
    internal void TrySetNextFieldExpiry(in Entry entry, long next)
    {
        try
        {
            SetNextFieldExpiry(entry, next);
        }
        catch (OutOfMemoryException)
        {
        }
    }

    /// <summary>
    /// Takes note of a hash whose value was copied into a new record as it is. Where memory is missing the record goes again.
    /// </summary>
    internal void AdoptFieldExpiry(in Entry entry)
    {
        Record record = entry.Record;
        if (record.NextFieldExpiry is not (> 0 and var next)) return;
        if (FieldExpiries.TryAdd(next, entry.Slot)) return;
        record.NextFieldExpiry = 0;
        Detach(entry);
        Arena.ThrowOutOfMemory();
    }

    private bool Fits(uint handle, int size)
    {
        int capacity = store.Arena.Capacity(handle);
        return size <= capacity && !IsWaste(size, capacity);
    }

    /// <summary>
    /// A value that shrank to less than half moves to a smaller buffer, or memory would not follow the data down.
    /// </summary>
    private static bool IsWaste(int size, int capacity) => capacity > 128 && size < capacity / 2;

    /// <summary>A value is about to be replaced in its record: what it has elsewhere goes.</summary>
    private void LeaveValue(Record record, uint handle)
    {
        if (record.NextFieldExpiry is > 0 and var next) FieldExpiries.Remove(next, handle);
        store.ReleaseValue(record.Type, record.Encoding, record.Value);
    }

    /// <summary>
    /// Gives a value of another length a record of another size; false where the old record is large enough and memory for a
    /// smaller one is missing.
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

    /// <summary>Gives a value a new record.</summary>
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
    /// Makes a record that is to take the place of another one. If it expires and the other does not, it is in the index of those
    /// that do already: what follows needs no memory.
    /// </summary>
    private uint MakeMoved(
        in Entry entry, ValueType type, ValueEncoding encoding, uint access, int valueLength, int spare, long expiry)
    {
        Record old = entry.Record;
        uint moved = store.Arena.Allocate(Record.SizeOf(old.KeyLength, valueLength, expiry != 0) + spare);
        Record.Format(store.Arena.FromStart(moved), old.Key, type, encoding, access, valueLength, expiry, store.Epoch);
        if (expiry != 0 && !old.HasExpiry && Unsafe.IsNullRef(ref Expires.TryAdd(entry.Hash, moved))) FreeAndThrow(moved);
        return moved;
    }

    /// <summary>Puts a record in the place of the one before, which is freed.</summary>
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

    private void MoveFieldExpiry(in Entry entry, long next, uint moved)
    {
        if (!FieldExpiries.TryAdd(next, moved))
        {
            if (new Record(store.Arena.FromStart(moved)).HasExpiry && !entry.Record.HasExpiry)
                Expires.Remove(entry.Hash, ref Expires.FindHandle(entry.Hash, moved));
            FreeAndThrow(moved);
        }
        FieldExpiries.Remove(next, entry.Slot);
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

    private readonly struct RecordMover(Keyspace keyspace, List<(uint Tag, uint Handle)> large) : IRecordMover
    {
        public bool TryMove(uint tag, uint handle, out uint moved)
        {
            Arena arena = keyspace.Store.Arena;
            FaultPoint.Allocation();
            large.EnsureCapacity(large.Count + 1);
            bool leaves = TryMove(arena, tag, handle, out moved);
            if (new Record(arena.FromStart(moved)).Encoding == ValueEncoding.Large) large.Add((tag, moved));
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
