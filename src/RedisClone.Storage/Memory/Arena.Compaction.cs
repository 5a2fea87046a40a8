namespace RedisClone.Storage.Memory;

/// <summary>
/// How memory follows the data down. Slabs that were full once and hold a few buffers each cannot be given back: a compaction
/// marks as leaving what a denser packing would not need, the owners move their buffers out (see <see cref="TryMove"/>), and a slab
/// that is empty goes. Nothing new is put into a leaving slab.
/// </summary>
public sealed partial class Arena
{
    private readonly List<int> _leaving = [];
    private readonly int[] _slabs = new int[SizeClasses.Count + 1];
    private readonly int[] _used = new int[SizeClasses.Count + 1];

    /// <summary>Bytes of slabs in which no live buffer lies.</summary>
    public long SlackBytes => BytesReserved - BytesUsed;

    public bool IsCompacting => _leaving.Count > 0;

    /// <summary>Marks the slabs that are to empty; false when it is not worth while.</summary>
    internal bool BeginCompaction()
    {
        for (int sizeClass = 1; sizeClass <= SizeClasses.Count; sizeClass++)
        {
            // Worth it from a quarter of the class on: an eighth more than needed stays, for what is about to come.
            int capacity = SizeClasses.SlabBytes(sizeClass) / SizeClasses.SizeOf(sizeClass);
            long needed = (_used[sizeClass] + capacity - 1L) / capacity;
            needed += needed / 8;
            if (_slabs[sizeClass] - needed > 1 + _slabs[sizeClass] / 4) MarkLeaving(sizeClass, (int)(_slabs[sizeClass] - needed));
        }
        return IsCompacting;
    }

    /// <summary>What has not emptied takes buffers again.</summary>
    internal void EndCompaction()
    {
        foreach (int id in _leaving)
        {
            // Slabs that emptied are gone, and perhaps their whole chunk; what lies there now is not leaving.
            SpanInfo[]? spans = _chunks[id >> 8].Spans;
            int start = id & 0xFF;
            if (spans is null || start >= spans.Length || !spans[start].Leaving) continue;
            spans[start].Leaving = false;
            Link(id, ref spans[start]);
        }
        _leaving.Clear();
    }

    internal bool IsLeaving(uint handle)
    {
        if (handle >= FirstDedicated) return false;
        ref readonly Chunk chunk = ref _chunks[handle >> 16];
        return chunk.Spans[chunk.Spans[(int)(handle & 0xFFFF) >> UnitsPerPageShift].Start].Leaving;
    }

    /// <summary>
    /// Copies a buffer that lies in a leaving slab to another; the owner, having noted the new handle wherever the old one stood,
    /// frees the old. False, and the same handle, where the buffer stays: in any other slab, or where memory for the copy is
    /// missing.
    /// </summary>
    internal bool TryMove(uint handle, out uint moved)
    {
        moved = handle;
        if (!IsLeaving(handle)) return false;
        int size = Capacity(handle);
        uint copy = TryAllocate(size);
        if (copy == 0) return false;
        moved = copy;
        Bytes(handle, size).CopyTo(Bytes(moved, size));
        return true;
    }

    private void MarkLeaving(int sizeClass, int slabs)
    {
        // The emptier half of the partial slabs first; if that is not enough, the others as they come.
        int capacity = SizeClasses.SlabBytes(sizeClass) / SizeClasses.SizeOf(sizeClass);
        int mean = (int)((long)_used[sizeClass] / _slabs[sizeClass]);
        for (int pass = 0; pass < 2 && slabs > 0; pass++)
        {
            for (int id = _partial[sizeClass]; id != 0 && slabs > 0;)
            {
                ref SpanInfo slab = ref _chunks[id >> 8].Spans[id & 0xFF];
                int next = slab.Next;
                if (slab.Used > 0 && slab.Used <= (pass == 0 ? mean : capacity / 2))
                {
                    FaultPoint.Allocation();
                    _leaving.Add(id);
                    Unlink(id, ref slab);
                    slab.Leaving = true;
                    slabs--;
                }
                id = next;
            }
        }
    }
}
