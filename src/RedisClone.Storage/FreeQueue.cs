using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;

namespace RedisClone.Storage;

/// <summary>
/// Values that are deleted but too large to be freed at once: whole keyspaces, and the structures of single large values. They
/// are freed in slices, single values first, because each slice of a keyspace can add some. Nothing here needs memory: if the
/// queue cannot grow, a value is freed at once.
/// </summary>
internal sealed class FreeQueue(Arena arena)
{
    /// <summary>A value with at most this many bytes outside its record is freed at once.</summary>
    private const long SmallBytes = 16 * 1024;

    private readonly Queue<LargeValue> _values = new();
    private Keyspace? _oldest, _newest;
    private LargeValue _value;
    private bool _hasValue;

    /// <summary>Number of values and keys in the queue.</summary>
    public long Pending { get; private set; }

    /// <summary>Number of values and keys that this queue has freed so far.</summary>
    public long Freed { get; private set; }

    /// <summary>Nothing is left to free, not even the empty buckets of a keyspace.</summary>
    public bool IsEmpty => Pending == 0 && _oldest is null;

    /// <summary>Takes over the structures of a large value outside its record. The caller frees or refills the record.</summary>
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
    /// Takes over a keyspace. Up to <paramref name="buckets"/> buckets are freed at once; like small values, they do not count as
    /// freed by this queue.
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

    /// <summary>Frees a slice of about <paramref name="budget"/> buckets or blocks. Returns true when nothing is left.</summary>
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
