using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>
/// All that one shard owns: its buffers, its part of every database, and what waits to be freed. Single-threaded: whoever
/// holds the shard. Time is handed in once per hold.
/// </summary>
public sealed class ShardStore
{
    private readonly Keyspace?[] _databases;
    private readonly FreeQueue _abandoned;
    private readonly Compactor _compactor;

    private Keyspace? _scratch;

    public ShardStore(int databases, ulong randomSeed)
    {
        _databases = new Keyspace?[databases];
        _abandoned = new FreeQueue(Arena);
        _compactor = new Compactor(this);
        Shapes = new HashShapes(Arena);
        Random = new Random((int)(randomSeed ^ randomSeed >> 32));
    }

    public Arena Arena { get; } = new();

    /// <summary>
    /// A change was begun that did not come to its end: nothing of the store can be relied on. See <see
    /// cref="Memory.Arena.IsTorn"/>.
    /// </summary>
    public bool IsTorn => Arena.IsTorn;

    /// <summary>Changes of keys and values. While the number stays the same, no client can see a difference.</summary>
    public long Changes { get; internal set; }

    public Random Random { get; }

    /// <summary>Unix milliseconds, as of the current hold.</summary>
    public long Now { get; set; }

    /// <summary>What the access field of a record written now is set to (see the eviction policy).</summary>
    public uint NewAccess { get; set; }

    /// <summary>Up to where collections keep their small forms.</summary>
    public ValueLimits Limits { get; set; } = ValueLimits.Default;

    /// <summary>Who takes records before they change; null while no snapshot is taken, which costs every change this one look.</summary>
    public Capture? Capture { get; private set; }

    /// <summary>The bit of records that are new or were captured already.</summary>
    internal bool Epoch { get; private set; }

    public int DatabaseCount => _databases.Length;

    /// <summary>Keys and large values that wait to be freed in slices.</summary>
    public long PendingFrees => _abandoned.Pending;

    /// <summary>Whether <see cref="FreeAbandoned"/> has anything to do.</summary>
    public bool IsFreeing => !_abandoned.IsEmpty;

    /// <summary>Keys and large values that were freed in slices so far.</summary>
    public long LazyFreed => _abandoned.Freed;

    /// <summary>Bytes of the field names that hashes share.</summary>
    public long ShapeBytes => Shapes.Bytes;

    /// <summary>The field names that hashes share.</summary>
    internal HashShapes Shapes { get; }

    public Keyspace Database(int index) => _databases[index] ?? AddDatabase(index);

    /// <summary>A database that may not have been used yet: for prefetching, sums and sweeps, which need not create it.</summary>
    public Keyspace? ExistingDatabase(int index) => _databases[index];

    /// <summary>
    /// Hints at the bucket of a member in the table of a large collection, the collection's record having been fetched; false where there is no such
    /// table. May be called without holding the shard: what is read may be changing, and makes a useless hint then.
    /// </summary>
    public bool PrefetchMemberBucket(uint record, ReadOnlySpan<byte> member, out ulong hash)
    {
        hash = 0;
        if (!TryPeekTable(record, out IndexRoot root)) return false;
        hash = KeyHash.Of(member);
        new HashIndex(Arena, ref root).PrefetchBucket(hash);
        return true;
    }

    /// <summary>Hints at the member itself, its bucket having been fetched. May be called without holding the shard.</summary>
    public void PrefetchMember(uint record, ulong member)
    {
        if (TryPeekTable(record, out IndexRoot root)) new HashIndex(Arena, ref root).PrefetchRecord(member, lines: 1);
    }

    /// <summary>Where a value is built that will take another key's place; empty between commands.</summary>
    public Keyspace Scratch => _scratch ??= new Keyspace(this) { IsScratch = true };

    /// <summary>Empties it after a command that built a value there has failed. Needs no memory.</summary>
    public void ClearScratch()
    {
        if (_scratch is not { Count: > 0 } left) return;
        _scratch = null;
        FreeLater(left);
    }

    public void Swap(int first, int second) => (_databases[first], _databases[second]) = (_databases[second], _databases[first]);

    /// <summary>
    /// Empties a database at once: its contents are freed later, in slices, but for about so many buckets that are freed right away. Returns
    /// how many keys it held.
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
    /// Begins to hand out all that is here now, in slices (<see cref="Storage.Capture.Step"/>). One that nobody went on with is brought to its end first.
    /// </summary>
    public Capture BeginCapture(ICaptureSink sink)
    {
        FaultPoint.Call();
        while (Capture is not null) Capture.Step(int.MaxValue);
        // Only with the capture that goes with it may the epoch change: a record of the old one would pass for one that was
        // taken.
        var capture = new Capture(this, sink);
        Epoch = !Epoch;
        return Capture = capture;
    }

    internal void EndCapture(Capture ended)
    {
        if (Capture == ended) Capture = null;
    }

    internal void FreeLater(Keyspace keyspace) => _abandoned.Add(keyspace, buckets: 0);

    /// <summary>Frees a slice of what was abandoned, about so many buckets; true when nothing is left.</summary>
    public bool FreeAbandoned(int buckets) => _abandoned.Free(buckets);

    /// <summary>
    /// Moves data together, for about so many buckets, where much memory is held by little of it; true while there is such work. A capture knows large
    /// values by their place: meanwhile nothing moves.
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

    /// <summary>Scratch of one random sample at a time: what it has chosen so far.</summary>
    internal HashSet<long> Chosen { get; } = [];

    /// <summary>
    /// Frees what a value holds outside its record: at once if it is little, else in slices; or leaves what it shared. What a command built
    /// for itself it frees itself: a flood of such commands would outrun the slices.
    /// </summary>
    internal void ReleaseValue(ValueType type, ValueEncoding encoding, ReadOnlySpan<byte> value, Keyspace? owner = null)
    {
        if (encoding == ValueEncoding.Large) _abandoned.Add(type, value, atOnce: owner is not null && owner == _scratch);
        else if (encoding == ValueEncoding.Shaped) Shapes.Release(ShapedFields.ShapeOf(value));
    }

    private Keyspace AddDatabase(int index)
    {
        FaultPoint.Allocation();
        return _databases[index] = new Keyspace(this);
    }

    private bool TryPeekTable(uint record, out IndexRoot root)
    {
        int at = LargeValues.TableOffset(Arena.Peek(record, Record.ShortHeader));
        ReadOnlySpan<byte> table = at < 0 ? default : Arena.Peek(record, at + Unsafe.SizeOf<IndexRoot>());
        root = table.IsEmpty ? default : MemoryMarshal.Read<IndexRoot>(table[at..]);
        return root.Buckets > 0;
    }
}
