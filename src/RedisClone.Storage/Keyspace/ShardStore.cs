using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>
/// All that one shard owns: its buffers, its part of every database, and what waits to be freed. Single-threaded: whoever
/// holds the shard. Time is handed in once per hold.
/// </summary>
public sealed class ShardStore
{
    private readonly Keyspace?[] _databases;
    private readonly Queue<Abandoned> _abandoned = new();

    public ShardStore(int databases, ulong randomSeed)
    {
        _databases = new Keyspace?[databases];
        Random = new Random((int)(randomSeed ^ randomSeed >> 32));
    }

    public Arena Arena { get; } = new();

    public Random Random { get; }

    /// <summary>Unix milliseconds, as of the current hold.</summary>
    public long Now { get; set; }

    /// <summary>What the access field of a record written now is set to (see the eviction policy).</summary>
    public uint NewAccess { get; set; }

    /// <summary>Up to where collections keep their small forms.</summary>
    public ValueLimits Limits { get; set; } = ValueLimits.Default;

    public int DatabaseCount => _databases.Length;

    /// <summary>Keys that wait to be freed in slices.</summary>
    public long PendingFrees { get; private set; }

    public Keyspace Database(int index) => _databases[index] ??= new Keyspace(this);

    /// <summary>A database that may not have been used yet: for prefetching, sums and sweeps, which need not create it.</summary>
    public Keyspace? ExistingDatabase(int index) => _databases[index];

    public void Swap(int first, int second) => (_databases[first], _databases[second]) = (_databases[second], _databases[first]);

    /// <summary>Empties a database at once: its contents are freed later, in slices. Returns how many keys it held.</summary>
    public long Abandon(int index)
    {
        Keyspace? keyspace = _databases[index];
        if (keyspace is null || keyspace.Count == 0) return 0;
        _databases[index] = null;
        PendingFrees += keyspace.Count;
        _abandoned.Enqueue(new Abandoned { Keyspace = keyspace });
        return keyspace.Count;
    }

    /// <summary>Frees a slice of what was abandoned; true when nothing is left.</summary>
    public bool FreeAbandoned(int buckets)
    {
        if (!_abandoned.TryPeek(out Abandoned? oldest)) return true;
        long before = oldest.Keyspace.Count;
        bool done = oldest.Keyspace.Drain(ref oldest.Cursor, buckets);
        PendingFrees -= before - oldest.Keyspace.Count;
        if (done) _abandoned.Dequeue();
        return _abandoned.Count == 0;
    }

    /// <summary>Frees what a value holds outside its record.</summary>
    internal void ReleaseValue(ValueType type, ValueEncoding encoding, ReadOnlySpan<byte> value)
    {
        if (encoding == ValueEncoding.Large) LargeValues.Release(this, type, value);
    }

    private sealed class Abandoned
    {
        public required Keyspace Keyspace;
        public uint Cursor;
    }
}
