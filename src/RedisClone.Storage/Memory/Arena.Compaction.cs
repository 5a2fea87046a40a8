namespace RedisClone.Storage.Memory;

/// <summary>
/// Compaction of slabs. A slab with few live buffers cannot be returned to the system. Compaction marks the slabs that a denser
/// packing does not need as leaving, and the owners move their buffers out (see <see cref="TryMove"/>). An empty leaving slab is
/// freed. No buffer is allocated in a leaving slab.
/// </summary>
public sealed partial class Arena
{
    private readonly List<int> _leaving = [];
    private readonly int[] _slabs = new int[SizeClasses.Count + 1];
    private readonly int[] _used = new int[SizeClasses.Count + 1];

    /// <summary>Bytes of slabs that no live buffer occupies.</summary>
    public long SlackBytes => BytesReserved - BytesUsed;

    /// <summary>The buffers in use of a size class, and its slabs. Any thread may read them.</summary>
    internal (int Used, int Slabs) CountOf(int sizeClass) => (_used[sizeClass], _slabs[sizeClass]);

    public bool IsCompacting => _leaving.Count > 0;

    /// <summary>Bytes of the slabs that the last compaction has emptied so far.</summary>
    public long BytesCompacted { get; private set; }

    /// <summary>Marks the slabs to empty. Returns false if compaction would not free enough memory.</summary>
    internal bool BeginCompaction()
    {
        BytesCompacted = 0;
        for (int sizeClass = 1; sizeClass <= SizeClasses.Count; sizeClass++)
        {
            // Compacts a class if it can free more than a quarter of its slabs. An eighth more slabs than necessary stay for new
            // buffers.
            int capacity = SizeClasses.SlabBytes(sizeClass) / SizeClasses.SizeOf(sizeClass);
            long needed = (_used[sizeClass] + capacity - 1L) / capacity;
            needed += needed / 8;
            if (_slabs[sizeClass] - needed > 1 + _slabs[sizeClass] / 4) MarkLeaving(sizeClass, (int)(_slabs[sizeClass] - needed));
        }
        return IsCompacting;
    }

    /// <summary>Makes the slabs that are not empty available for allocation again.</summary>
    internal void EndCompaction()
    {
        foreach (int id in _leaving)
        {
            // A slab that became empty is freed, perhaps with its chunk. Its pages may then belong to a span that is not leaving.
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
    /// Copies a buffer of a leaving slab to another slab. The caller then replaces every reference to the old handle and frees
    /// it. Returns false, and the same handle, if the buffer is in no leaving slab or if memory for the copy is missing.
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
        // The first pass takes partial slabs below the mean occupancy; the second takes any slab that is at most half full.
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
