using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;

namespace RedisClone.Storage;

/// <summary>
/// All data of one shard: its arena, its part of every database, and values that are to be freed. Only the thread that holds the
/// shard may use it. The clock is set once per hold.
/// </summary>
public sealed class ShardStore
{
    private readonly Keyspace?[] _databases;
    private readonly FreeQueue _abandoned;
    /// <summary>Buckets or blocks of deleted data, and pages, that a command frees in one slice while little memory is left.</summary>
    private const int BucketsOfRoom = 1024, PagesOfRoom = 4096;

    private readonly Compactor _compactor;

    private readonly int _slots;

    private Keyspace? _scratch;

    /// <summary>Creates an empty store.</summary>
    /// <param name="databases">The number of databases.</param>
    /// <param name="randomSeed">The seed of the store's random choices.</param>
    /// <param name="slots">In a cluster, the number of hash slots of the shard; otherwise 1.</param>
    public ShardStore(int databases, ulong randomSeed, int slots = 1)
    {
        _slots = slots;
        _databases = new Keyspace?[databases];
        _abandoned = new FreeQueue(Arena);
        _compactor = new Compactor(this);
        Shapes = new HashShapes(Arena);
        Random = new Random((int)(randomSeed ^ randomSeed >> 32));
    }

    public Arena Arena { get; } = new();

    /// <summary>
    /// A change began and did not end, so the content of the store is unreliable. See <see cref="Memory.Arena.IsTorn"/>.
    /// </summary>
    public bool IsTorn => Arena.IsTorn;

    /// <summary>Changes of keys and values. While the number stays the same, no client can see a difference.</summary>
    public long Changes { get; private set; }

    public Random Random { get; }

    /// <summary>Unix milliseconds, set at the beginning of the current hold.</summary>
    public long Now { get; set; }

    /// <summary>The value for the access field of a record that is written now (see the eviction policy).</summary>
    public uint NewAccess { get; set; }

    /// <summary>The limits up to which collections keep their small forms.</summary>
    public ValueLimits Limits { get; set; } = ValueLimits.Default;

    /// <summary>
    /// The running capture, which must see records before they change. It is null while there is none, and a change then costs
    /// one check.
    /// </summary>
    public Capture? Capture { get; private set; }

    /// <summary>The value of the epoch bit in records that are new or captured.</summary>
    internal bool Epoch { get; private set; }

    public int DatabaseCount => _databases.Length;

    /// <summary>The hash of a key of this store. In a cluster, its upper bits are those of the key's slot.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong HashOf(ReadOnlySpan<byte> key) => _slots == 1 ? KeyHash.Of(key) : KeySlot.HashOf(key);

    /// <summary>Number of keys and large values that are to be freed in slices.</summary>
    public long PendingFrees => _abandoned.Pending;

    /// <summary>Whether <see cref="FreeAbandoned"/> has work to do.</summary>
    public bool IsFreeing => !_abandoned.IsEmpty;

    /// <summary>Number of keys and large values that were freed in slices so far.</summary>
    public long LazyFreed => _abandoned.Freed;

    /// <summary>Bytes of the field names that hashes share.</summary>
    public long ShapeBytes => Shapes.Bytes;

    /// <summary>The field names that hashes share.</summary>
    internal HashShapes Shapes { get; }

    public Keyspace Database(int index) => _databases[index] ?? AddDatabase(index);

    /// <summary>A database, or null if it was never used. Prefetching, sums and sweeps need not create it.</summary>
    public Keyspace? ExistingDatabase(int index) => _databases[index];

    /// <summary>
    /// Prefetches the bucket of a member in the table of a large collection whose record is already prefetched. Returns false if
    /// there is no such table. May be called without holding the shard: a concurrent change only makes the hint useless.
    /// </summary>
    public bool PrefetchMemberBucket(uint record, ReadOnlySpan<byte> member, out ulong hash)
    {
        hash = 0;
        if (!TryPeekTable(record, out IndexRoot root)) return false;
        hash = KeyHash.Of(member);
        new HashIndex(Arena, ref root).PrefetchBucket(hash);
        return true;
    }

    /// <summary>Prefetches a member whose bucket is already prefetched. May be called without holding the shard.</summary>
    public void PrefetchMember(uint record, ulong member)
    {
        if (TryPeekTable(record, out IndexRoot root)) new HashIndex(Arena, ref root).PrefetchRecord(member, lines: 1);
    }

    /// <summary>
    /// The keyspace in which a command builds a value that then replaces another key's value. Empty between commands.
    /// </summary>
    public Keyspace Scratch => _scratch ??= new Keyspace(this, slots: 1) { IsScratch = true };

    /// <summary>Empties the scratch keyspace after a command failed that built a value in it. Needs no memory.</summary>
    public void ClearScratch()
    {
        if (_scratch is not { Count: > 0 } left) return;
        _scratch = null;
        FreeLater(left);
    }

    public void Swap(int first, int second) => (_databases[first], _databases[second]) = (_databases[second], _databases[first]);

    /// <summary>
    /// Empties a database. About <paramref name="buckets"/> buckets of it are freed at once, the rest later in slices. Returns
    /// the number of keys it held.
    /// </summary>
    public long Abandon(int index, int buckets = 0)
    {
        FaultPoint.Call();
        Keyspace? keyspace = _databases[index];
        if (keyspace is null || keyspace.Count == 0) return 0;
        long count = keyspace.Count;
        _databases[index] = null;
        if (Capture is null || !Capture.Adopt(keyspace)) _abandoned.Add(keyspace, buckets);
        return count;
    }

    /// <summary>
    /// Begins a capture of the present state of the store, which <see cref="Storage.Capture.Step"/> continues. An older capture
    /// that is still incomplete is completed first.
    /// </summary>
    public Capture BeginCapture(ICaptureSink sink)
    {
        FaultPoint.Call();
        FinishCapture();
        // The epoch changes only together with the capture: otherwise a record of the old epoch would count as captured.
        var capture = new Capture(this, sink);
        Epoch = !Epoch;
        return Capture = capture;
    }

    /// <summary>Walks the capture in progress to its end. Until then, it keeps the data of deleted databases.</summary>
    public void FinishCapture()
    {
        while (Capture is not null) Capture.Step(int.MaxValue);
    }

    internal void EndCapture(Capture ended)
    {
        if (Capture == ended) Capture = null;
    }

    internal void FreeLater(Keyspace keyspace) => _abandoned.Add(keyspace, buckets: 0);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void CountChange() => Changes++;

    /// <summary>
    /// Sets <see cref="Changes"/> back to an earlier number, after the caller has undone all later changes or made only such that no client
    /// can see.
    /// </summary>
    internal void TakeBack(long changes) => Changes = changes;

    /// <summary>
    /// Frees a slice of about <paramref name="buckets"/> buckets of abandoned data. Returns true when nothing is left.
    /// </summary>
    public bool FreeAbandoned(int buckets) => _abandoned.Free(buckets);

    /// <summary>
    /// Frees what commands have abandoned, and returns free pages, while <paramref name="budget"/> has little room beside these
    /// bytes: a slice if it is low, and everything if it is short. Returns whether the budget has room.
    /// </summary>
    public bool MakeRoom(HeapBudget budget, int bytes)
    {
        if (IsFreeing && budget.IsLowFor(bytes))
        {
            FreeAbandoned(BucketsOfRoom);
            Arena.Trim(pages: PagesOfRoom);
        }
        if (!budget.IsShortFor(bytes)) return true;
        while (IsFreeing && budget.IsShortFor(bytes))
        {
            FreeAbandoned(BucketsOfRoom);
            Arena.Trim(pages: PagesOfRoom);
        }
        if (budget.IsShortFor(bytes)) Arena.TrimAll();
        return !budget.IsShortFor(bytes);
    }

    /// <summary>
    /// Compacts about <paramref name="buckets"/> buckets if little data occupies much memory. Returns true while there is such
    /// work. Nothing moves during a capture, which refers to large values by their handles.
    /// </summary>
    public bool Compact(int buckets)
    {
        try
        {
            return Capture is null && _compactor.Run(buckets);
        }
        catch (OutOfMemoryException)
        {
            return false;
        }
    }

    /// <summary>Moves up to <paramref name="chunks"/> chunks, so that blocks of which little is used can be dropped.</summary>
    public void LeaveBlocks(int chunks)
    {
        if (Capture is null) Arena.LeaveBlocks(chunks);
    }

    /// <summary>The choices of the random sample in progress. A store has one sample at a time.</summary>
    internal HashSet<long> Chosen { get; } = [];

    /// <summary>
    /// Releases the shared names of a value, or its structures outside the record. Small structures are freed at once, others in
    /// slices. Values in the scratch keyspace are always freed at once: the slices could not keep up with a flood of commands
    /// that build such values.
    /// </summary>
    internal void ReleaseValue(ValueType type, ValueEncoding encoding, ReadOnlySpan<byte> value, Keyspace? owner = null)
    {
        if (encoding == ValueEncoding.Large) _abandoned.Add(type, value, atOnce: owner is not null && owner == _scratch);
        else if (encoding == ValueEncoding.Shaped) Shapes.Release(ShapedFields.ShapeOf(value));
    }

    private Keyspace AddDatabase(int index)
    {
        FaultPoint.Allocation();
        return _databases[index] = new Keyspace(this, _slots);
    }

    private bool TryPeekTable(uint record, out IndexRoot root)
    {
        int at = LargeValues.TableOffset(Arena.Peek(record, Record.ShortHeader));
        ReadOnlySpan<byte> table = at < 0 ? default : Arena.Peek(record, at + Unsafe.SizeOf<IndexRoot>());
        root = table.IsEmpty ? default : MemoryMarshal.Read<IndexRoot>(table[at..]);
        return root.Buckets > 0;
    }
}
