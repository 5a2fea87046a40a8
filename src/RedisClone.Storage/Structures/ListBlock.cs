using System.Runtime.InteropServices;
using RedisClone.Storage.Values;

namespace RedisClone.Storage.Structures;

/// <summary>
/// Packed elements in the middle of a span, with room on both sides, so that a push or pop at either end moves no element. A
/// small list is one block within its record; a large list consists of many.
/// </summary>
/// <remarks>Positions are relative to the first entry.</remarks>
internal readonly ref struct ListBlock(Span<byte> bytes)
{
    public const int HeaderBytes = 12;

    private readonly Span<byte> _bytes = bytes;

    public ref int Count => ref Head.Count;

    private ref int Start => ref Head.Start;

    private ref int End => ref Head.End;

    private ref Header Head => ref MemoryMarshal.AsRef<Header>(_bytes);

    public Span<byte> Entries => _bytes[Start..End];

    /// <summary>Bytes of all entries.</summary>
    public int Used => End - Start;

    public int Free => _bytes.Length - HeaderBytes - Used;

    public static ListBlock Format(Span<byte> bytes)
    {
        var block = new ListBlock(bytes);
        block.Count = 0;
        block.Start = block.End = HeaderBytes;
        return block;
    }

    /// <summary>
    /// Replaces <paramref name="removed"/> bytes at a position by <paramref name="added"/> bytes that the caller then fills. The
    /// block must have room for them.
    /// </summary>
    public Span<byte> Splice(int at, int removed, int added)
    {
        int need = added - removed, before = at, after = Used - at - removed;
        int front = Start - HeaderBytes, back = _bytes.Length - End;
        if (before < after ? front >= need : back < need && front >= need)
        {
            _bytes.Slice(Start, before).CopyTo(_bytes[(Start - need)..]);
            Start -= need;
        }
        else if (back >= need)
        {
            _bytes.Slice(End - after, after).CopyTo(_bytes[(End - after + need)..]);
            End += need;
        }
        else
        {
            // Only both sides together have enough room. The remaining room goes to the side that grows.
            int left = front + back - need;
            int start = HeaderBytes + (at == 0 ? left : after == 0 ? 0 : left / 2);
            MoveTo(start, at, removed, added);
        }
        return _bytes.Slice(Start + at, added);
    }

    /// <summary>Puts entries into an empty block.</summary>
    public void Fill(ReadOnlySpan<byte> entries, int count)
    {
        entries.CopyTo(Splice(0, 0, entries.Length));
        Count = count;
    }

    public void Insert(int at, Element element)
    {
        Packed.Write(Splice(at, 0, Packed.SizeOf(element)), element);
        Count++;
    }

    public void Remove(int at, int elements)
    {
        Splice(at, Packed.Skip(Entries, at, elements) - at, 0);
        Count -= elements;
    }

    /// <summary>The position of the element with an index, searched from the nearer end.</summary>
    public int PositionOf(int index)
    {
        Span<byte> entries = Entries;
        if (index <= Count / 2) return Packed.Skip(entries, 0, index);
        int at = entries.Length;
        for (int i = Count; i > index; i--) at = Packed.Previous(entries, at);
        return at;
    }

    /// <summary>Moves all entries to the beginning, so that the span can be cut.</summary>
    public void Compact() => MoveTo(HeaderBytes, 0, 0, 0);

    private void MoveTo(int start, int at, int removed, int added)
    {
        int from = Start, after = End - from - at - removed;
        Span<byte> head = _bytes.Slice(from, at), tail = _bytes.Slice(from + at + removed, after);
        Span<byte> headTo = _bytes[start..], tailTo = _bytes[(start + at + added)..];
        if (start < from)
        {
            head.CopyTo(headTo);
            tail.CopyTo(tailTo);
        }
        else
        {
            tail.CopyTo(tailTo);
            head.CopyTo(headTo);
        }
        Start = start;
        End = start + at + added + after;
    }

    /// <summary>The number of entries, and their first and last byte in the span.</summary>
    private struct Header
    {
        public int Count, Start, End;
    }
}
