using static RedisClone.Storage.Memory.Integrity;

namespace RedisClone.Storage.Memory;

/// <summary>Checks the invariants of an arena that do not depend on the content of its buffers.</summary>
public sealed partial class Arena
{
    internal void Check()
    {
        Require(!IsTorn, "no change is open");
        long reserved = 0, freePages = 0, used = 0, live = 0;
        int empty = 0;
        int[] slabs = new int[SizeClasses.Count + 1], usedOf = new int[SizeClasses.Count + 1];
        var partial = new HashSet<int>();
        for (int index = 1; index < _chunkLimit; index++)
        {
            ref Chunk chunk = ref _chunks[index];
            if (chunk.Bytes is null)
            {
                Require(_freeChunkSlots.Contains(index), "a slot without a chunk is in the list of free slots");
                empty++;
                continue;
            }
            int free = 0, run = 0, longest = 0;
            for (int page = 0; page < PagesPerChunk; page++)
            {
                ref SpanInfo span = ref chunk.Spans[page];
                run = span.Class == SpanInfo.Free ? run + 1 : 0;
                longest = Math.Max(longest, run);
                if (span.Class == SpanInfo.Free)
                {
                    free++;
                    if (chunk.Dirty[page]) freePages++;
                }
                if (span.Class is SpanInfo.Free or SpanInfo.Inner) continue;
                Require(span.Start == page && page + span.Pages <= PagesPerChunk, "a span lies within its chunk");
                reserved += span.Pages << PageShift;
                if (span.Class == SpanInfo.Large)
                {
                    used += span.Pages << PageShift;
                    live++;
                    continue;
                }
                slabs[span.Class]++;
                usedOf[span.Class] += span.Used;
                used += (long)span.Used * SizeClasses.SizeOf(span.Class);
                live += span.Used;
                CheckSlab(ref chunk, page, ref span);
                if (span.Used < span.Capacity && !span.Leaving) partial.Add(index << 8 | page);
            }
            Require(free == chunk.FreePages && longest <= chunk.FitLimit, "the free pages of a chunk are counted");
        }
        Require(empty == _freeChunkSlots.Count, "only slots without a chunk are free");
        Require(freePages == _freePages, "free pages that may be resident are counted");
        Require(slabs.AsSpan().SequenceEqual(_slabs), "slabs are counted by class");
        Require(usedOf.AsSpan().SequenceEqual(_used), "the buffers of slabs are counted by class");
        CheckLists(partial);
        foreach (byte[]? bytes in _dedicated)
        {
            if (bytes is null) continue;
            (reserved, used, live) = (reserved + bytes.Length, used + bytes.Length, live + 1);
        }
        int unused = _dedicated.Take(_dedicatedLimit).Count(bytes => bytes is null);
        Require(unused == _freeDedicated.Count, "all free numbers of dedicated buffers are listed");
        Require(reserved == BytesReserved && used == BytesUsed && live == LiveBuffers, "bytes and buffers are counted");
    }

    private static void CheckSlab(ref Chunk chunk, int page, ref SpanInfo slab)
    {
        int units = SizeClasses.SizeOf(slab.Class) >> UnitShift, free = 0;
        for (int unit = slab.FreeHead; unit != SpanInfo.NoUnit; free++)
        {
            Require(unit < slab.Bump && unit % units == 0 && free <= slab.Capacity, "the free buffers of a slab lie within it");
            unit = System.Buffers.Binary.BinaryPrimitives.ReadUInt16LittleEndian(
                chunk.Bytes.AsSpan(chunk.Base + (page << PageShift) + (unit << UnitShift)));
        }
        Require(slab.Used + free == slab.Bump / units, "every buffer of a slab is used or free");
    }

    private void CheckLists(HashSet<int> partial)
    {
        int listed = 0;
        foreach (int first in _partial)
        {
            int previous = 0;
            for (int id = first; id != 0; listed++)
            {
                ref SpanInfo slab = ref _chunks[id >> 8].Spans[id & 0xFF];
                Require(partial.Contains(id) && slab.Previous == previous, "slabs with free buffers are linked");
                (previous, id) = (id, slab.Next);
            }
        }
        Require(listed == partial.Count, "all slabs with free buffers are linked");
    }
}
