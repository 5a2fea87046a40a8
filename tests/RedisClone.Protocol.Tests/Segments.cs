using System.Buffers;

namespace RedisClone.Protocol.Tests;

/// <summary>
/// Builds the most unfavourable sequences that a pipe may deliver: single bytes, empty segments, memory without an array.
/// </summary>
internal static class Segments
{
    public static ReadOnlySequence<byte> Of(IEnumerable<ReadOnlyMemory<byte>> pieces)
    {
        Segment? first = null;
        Segment? last = null;
        foreach (ReadOnlyMemory<byte> piece in pieces)
        {
            last = last is null ? first = new Segment(piece, 0) : last.Append(piece);
        }
        return first is null ? default : new ReadOnlySequence<byte>(first, 0, last!, last!.Memory.Length);
    }

    public static ReadOnlySequence<byte> SplitAt(byte[] data, params int[] cuts)
    {
        var pieces = new List<ReadOnlyMemory<byte>>();
        int from = 0;
        foreach (int cut in cuts)
        {
            pieces.Add(data.AsMemory(from, cut - from));
            from = cut;
        }
        pieces.Add(data.AsMemory(from));
        return Of(pieces);
    }

    /// <summary>Builds random segments of at most <paramref name="longest"/> bytes. Some are empty, some have no array.</summary>
    public static ReadOnlySequence<byte> Random(byte[] data, Random random, int longest)
    {
        var pieces = new List<ReadOnlyMemory<byte>>();
        for (int at = 0; at < data.Length;)
        {
            if (random.Next(8) == 0) pieces.Add(ReadOnlyMemory<byte>.Empty);
            int length = Math.Min(data.Length - at, random.Next(1, longest + 1));
            pieces.Add(random.Next(8) == 0
                ? new ArraylessMemory(data.AsSpan(at, length).ToArray()).Memory
                : Offset(data.AsSpan(at, length), random.Next(4)));
            at += length;
        }
        if (random.Next(8) == 0) pieces.Add(ReadOnlyMemory<byte>.Empty);
        return Of(pieces);
    }

    /// <summary>Memory that does not start at the beginning of its array.</summary>
    private static ReadOnlyMemory<byte> Offset(ReadOnlySpan<byte> data, int offset)
    {
        var array = new byte[offset + data.Length + offset];
        data.CopyTo(array.AsSpan(offset));
        return array.AsMemory(offset, data.Length);
    }

    private sealed class Segment : ReadOnlySequenceSegment<byte>
    {
        public Segment(ReadOnlyMemory<byte> memory, long runningIndex)
        {
            Memory = memory;
            RunningIndex = runningIndex;
        }

        public Segment Append(ReadOnlyMemory<byte> memory)
        {
            var next = new Segment(memory, RunningIndex + Memory.Length);
            Next = next;
            return next;
        }
    }
}

/// <summary>Memory for which TryGetArray fails.</summary>
internal sealed class ArraylessMemory(byte[] data) : MemoryManager<byte>
{
    public override Span<byte> GetSpan() => data;

    public override MemoryHandle Pin(int elementIndex = 0) => throw new NotSupportedException();

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing)
    {
    }
}
