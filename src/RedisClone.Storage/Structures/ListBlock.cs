using System.Runtime.InteropServices;

namespace RedisClone.Storage.Structures;

/// <summary>
/// Packed elements in the middle of a span, with room on both sides, so that pushing and popping at either end moves
/// nothing. A small list is one such block within its record; a large one is many.
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

    /// <summary>Replaces so many bytes at a position by others that the caller then fills in; there must be room for them.</summary>
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
            // Neither side has room, both together have: what is left goes to the side that grows.
            int left = front + back - need;
            int start = HeaderBytes + (at == 0 ? left : after == 0 ? 0 : left / 2);
            MoveTo(start, at, removed, added);
        }
        return _bytes.Slice(Start + at, added);
    }

    /// <summary>Puts so many elements into an empty block.</summary>
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

    /// <summary>Where the element of an index begins, from whichever end is nearer.</summary>
    public int PositionOf(int index)
    {
        Span<byte> entries = Entries;
        if (index <= Count / 2) return Packed.Skip(entries, 0, index);
        int at = entries.Length;
        for (int i = Count; i > index; i--) at = Packed.Previous(entries, at);
        return at;
    }

    /// <summary>Puts all entries at the beginning, so that the span can be cut.</summary>
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

    /// <summary>How many entries there are, and between which bytes of the span they lie.</summary>
    private struct Header
    {
        public int Count, Start, End;
    }
}
