using System.Buffers;

namespace RedisClone.Protocol;

/// <summary>
/// Pooled chunks for the part of a reply that cannot go to the output yet. A hole is room for the header of an aggregate whose
/// length is known only at its end. Copying the scratch to the output omits the unused part of each hole.
/// </summary>
internal sealed class ReplyScratch(ScratchLimit? limit)
{
    public const int HoleSize = 32;

    private const int FirstChunk = 4 * 1024;
    private const int LaterChunk = 64 * 1024;
    private const int KeptHoles = 1024;

    private readonly List<Chunk> _chunks = [];
    private readonly List<Hole> _holes = [];

    private record struct Chunk(byte[] Array, int Length);

    private record struct Hole(int Chunk, int Offset, int Used);

    public int ChunkCount => _chunks.Count;

    public int HoleCount => _holes.Count;

    /// <summary>Adds a chunk of at least <paramref name="size"/> bytes. The previous chunk must be closed.</summary>
    public byte[] NextChunk(int size)
    {
        _chunks.EnsureCapacity(_chunks.Count + 1);
        byte[] array = RequestBuffers.Rent(Math.Max(size, _chunks.Count == 0 ? FirstChunk : LaterChunk));
        _chunks.Add(new Chunk(array, 0));
        limit?.Add(array.Length);
        return array;
    }

    /// <summary>Returns the last chunk again, to overwrite content that is no longer needed.</summary>
    public byte[] SameChunk(int size) =>
        _chunks.Count > 0 && _chunks[^1].Array.Length >= size ? _chunks[^1].Array : NextChunk(size);

    /// <summary>Sets the number of bytes written to the last chunk.</summary>
    public void CloseChunk(int length) => _chunks[^1] = _chunks[^1] with { Length = length };

    /// <summary>Reserves <see cref="HoleSize"/> bytes at <paramref name="offset"/> of the last chunk.</summary>
    public int AddHole(int offset)
    {
        _holes.Add(new Hole(_chunks.Count - 1, offset, 0));
        return _holes.Count - 1;
    }

    /// <summary>Copies a header into its hole.</summary>
    public void FillHole(int index, ReadOnlySpan<byte> header)
    {
        Hole hole = _holes[index];
        header.CopyTo(_chunks[hole.Chunk].Array.AsSpan(hole.Offset, HoleSize));
        _holes[index] = hole with { Used = header.Length };
    }

    /// <summary>Removes all chunks and holes after the given counts. Returns the chunk that is then the last one.</summary>
    public byte[] CutTo(int chunks, int holes)
    {
        for (int i = chunks; i < _chunks.Count; i++) Return(_chunks[i].Array);
        _chunks.RemoveRange(chunks, _chunks.Count - chunks);
        _holes.RemoveRange(holes, _holes.Count - holes);
        if (chunks > 0) return _chunks[^1].Array;
        if (_holes.Capacity > KeptHoles) _holes.Capacity = 0;
        return [];
    }

    /// <summary>The length of the content without the unused parts of holes.</summary>
    public long Length
    {
        get
        {
            long length = 0;
            foreach (Chunk chunk in _chunks) length += chunk.Length;
            foreach (Hole hole in _holes) length -= HoleSize - hole.Used;
            return length;
        }
    }

    /// <summary>Copies everything to the output and returns the chunks to the pool.</summary>
    public void MoveTo(IBufferWriter<byte> output)
    {
        int hole = 0;
        for (int i = 0; i < _chunks.Count; i++)
        {
            Chunk chunk = _chunks[i];
            int at = 0;
            for (; hole < _holes.Count && _holes[hole].Chunk == i; hole++)
            {
                output.Write(chunk.Array.AsSpan(at, _holes[hole].Offset + _holes[hole].Used - at));
                at = _holes[hole].Offset + HoleSize;
            }
            output.Write(chunk.Array.AsSpan(at, chunk.Length - at));
            // A long reply would take twice its memory otherwise.
            _chunks[i] = new Chunk([], 0);
            Return(chunk.Array);
        }
        CutTo(0, 0);
    }

    /// <summary>
    /// Copies everything to <paramref name="target"/>, which is long enough, and returns the chunks to the pool.
    /// </summary>
    public void MoveTo(Span<byte> target)
    {
        int hole = 0;
        for (int i = 0; i < _chunks.Count; i++)
        {
            Chunk chunk = _chunks[i];
            int at = 0;
            for (; hole < _holes.Count && _holes[hole].Chunk == i; hole++)
            {
                target = Put(chunk.Array.AsSpan(at, _holes[hole].Offset + _holes[hole].Used - at), target);
                at = _holes[hole].Offset + HoleSize;
            }
            target = Put(chunk.Array.AsSpan(at, chunk.Length - at), target);
        }
        CutTo(0, 0);
    }

    private void Return(byte[] array)
    {
        RequestBuffers.Return(array);
        limit?.Add(-array.Length);
    }

    private static Span<byte> Put(ReadOnlySpan<byte> bytes, Span<byte> target)
    {
        bytes.CopyTo(target);
        return target[bytes.Length..];
    }
}
