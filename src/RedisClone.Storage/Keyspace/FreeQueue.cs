using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>
/// What was deleted but is too large to be freed at once: whole keyspaces, and the structures of single large values. It is freed
/// in slices, values first: each slice of a keyspace may add some. Nothing here needs memory: a value that cannot wait is freed
/// at once.
/// </summary>
internal sealed class FreeQueue(Arena arena)
{
    /// <summary>Values that take less outside their record are freed at once.</summary>
    private const long SmallBytes = 16 * 1024;

    private readonly Queue<LargeValue> _values = new();
    private Keyspace? _oldest, _newest;
    private LargeValue _value;
    private bool _hasValue;

    /// <summary>Values and keys that wait.</summary>
    public long Pending { get; private set; }

    /// <summary>Values and keys that were freed here so far.</summary>
    public long Freed { get; private set; }

    /// <summary>Nothing is left to free, not even the empty buckets of a keyspace.</summary>
    public bool IsEmpty => Pending == 0 && _oldest is null;

    /// <summary>Takes what a large value holds outside its record; the record is the caller's to free or to fill anew.</summary>
    public void Add(ValueType type, ReadOnlySpan<byte> root, bool atOnce)
    {
        var value = new LargeValue { Type = type };
        root.CopyTo(value.Root);
        if (atOnce || LargeValues.BytesOutside(arena, type, value.Root) <= SmallBytes || !TryEnqueue(value))
        {
            int budget = int.MaxValue;
            bool done = LargeValues.Free(arena, type, value.Root, ref value.Cursor, ref budget);
            System.Diagnostics.Debug.Assert(done);
        }
    }

    /// <summary>
    /// Takes a keyspace. As far as so many buckets go it is freed at once, which does not count as freed here, as with a small value.
    /// </summary>
    public void Add(Keyspace keyspace, int buckets)
    {
        while (buckets > 0)
            if (keyspace.Drain(ref buckets)) return;
        Pending += keyspace.Count;
        if (_newest is null) _oldest = keyspace;
        else _newest.NextToFree = keyspace;
        _newest = keyspace;
    }

    /// <summary>Frees a slice: about so many buckets or blocks; true when nothing is left.</summary>
    public bool Free(int budget)
    {
        while (budget > 0 && FreeValues(ref budget) && budget > 0 && _oldest is { } oldest)
        {
            long before = oldest.Count;
            bool done = oldest.Drain(ref budget);
            long freed = before - oldest.Count;
            Pending -= freed;
            Freed += freed;
            if (!done) continue;
            _oldest = oldest.NextToFree;
            if (_oldest is null) _newest = null;
        }
        return IsEmpty;
    }

    private bool TryEnqueue(in LargeValue value)
    {
        try
        {
            FaultPoint.Allocation();
            _values.Enqueue(value);
        }
        catch (OutOfMemoryException)
        {
            return false;
        }
        Pending++;
        return true;
    }

    private bool FreeValues(ref int budget)
    {
        while (_hasValue || _values.TryDequeue(out _value))
        {
            _hasValue = true;
            if (budget <= 0 || !LargeValues.Free(arena, _value.Type, _value.Root, ref _value.Cursor, ref budget)) return false;
            _hasValue = false;
            Pending--;
            Freed++;
        }
        return true;
    }

    private struct LargeValue
    {
        public ValueType Type;
        public uint Cursor;
        private RootBytes _root;

        [System.Diagnostics.CodeAnalysis.UnscopedRef]
        public Span<byte> Root => _root;
    }

    [InlineArray(LargeValues.MaxRootBytes)]
    private struct RootBytes
    {
        private byte _first;
    }
}
