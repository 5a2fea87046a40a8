using RedisClone.Memory;

namespace RedisClone.Storage.Memory;

/// <summary>Free pages go back to the system, a part of them at a time: after a large deletion there may be a million.</summary>
public sealed partial class Arena
{
    private int _trimAt;                               // the chunk at which a pass goes on, 0 between passes

    /// <summary>A pass was begun, and there is more to give back.</summary>
    public bool IsTrimming => _trimAt != 0;

    /// <summary>
    /// Begins or goes on giving free pages back, about so many; true when all is given back. A pass begins only when more
    /// than <paramref name="keepBytes"/> may be resident.
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

    private void DropEmptySlabs()
    {
        foreach (ref int kept in _empty.AsSpan())
        {
            if (kept != 0) DropSlab(kept, ref _chunks[kept >> 8].Spans[kept & 0xFF]);
            kept = 0;
        }
    }

    /// <summary>Gives the free pages of a chunk back, or the chunk if all are free; returns how many were.</summary>
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
        // Its memory has gone back already, not at some full collection that finds the array.
        DropChunk(index, ref chunk);
        return released;
    }
}
