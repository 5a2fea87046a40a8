using RedisClone.Memory;

namespace RedisClone.Storage.Memory;

/// <summary>Returns free pages to the system, in slices: a large deletion can leave a million of them.</summary>
public sealed partial class Arena
{
    private int _trimAt;                               // the chunk where the pass continues, 0 between passes

    /// <summary>A pass has begun and is not complete.</summary>
    public bool IsTrimming => _trimAt != 0;

    /// <summary>
    /// Begins or continues to return free pages to the system, about <paramref name="pages"/> per call. Returns true when the
    /// pass is complete. A pass begins only if more than <paramref name="keepBytes"/> of free pages may be resident.
    /// </summary>
    public bool Trim(long keepBytes = 0, int pages = int.MaxValue)
    {
        if (_trimAt == 0)
        {
            DropEmptySlabs();
            if (_freePages << PageShift <= keepBytes) return true;
            _trimAt = 1;
        }
        for (; _trimAt < _chunkLimit; _trimAt++)
        {
            if (pages <= 0) return false;
            pages -= 1 + TrimChunk(_trimAt, ref _chunks[_trimAt]);
        }
        _trimAt = 0;
        return true;
    }

    /// <summary>Returns all free pages at once, and drops all empty chunks.</summary>
    public void TrimAll()
    {
        _trimAt = 0;
        Trim();
    }

    private void DropEmptySlabs()
    {
        foreach (ref int kept in _empty.AsSpan())
        {
            if (kept != 0) DropSlab(kept, ref _chunks[kept >> 8].Spans[kept & 0xFF]);
            kept = 0;
        }
    }

    /// <summary>
    /// Releases the free pages of a chunk, and drops the chunk if all its pages are free. Returns the number of pages released.
    /// </summary>
    private int TrimChunk(int index, ref Chunk chunk)
    {
        if (chunk.FreePages == 0) return 0;
        int released = 0;
        for (int page = 0; page < PagesPerChunk;)
        {
            int run = 0;
            while (page + run < PagesPerChunk && chunk.Spans[page + run].Class == SpanInfo.Free && chunk.Dirty[page + run])
                chunk.Dirty[page + run++] = false;
            if (run > 0) MemoryHints.Release(chunk.Bytes, chunk.Base + (page << PageShift), run << PageShift);
            released += run;
            page += Math.Max(run, 1);
        }
        _freePages -= released;
        if (chunk.FreePages < PagesPerChunk) return released;
        // The pages are released already, so the memory does not wait for a full collection to find the array.
        DropChunk(index, ref chunk);
        return released;
    }
}
