using System.Runtime.InteropServices;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Storage.Structures;

/// <summary>
/// A block of a stream: its base identifier, which all its identifiers are relative to, and the number of entries. The base is
/// the identifier of the first entry ever added to the block.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly record struct StreamBlockItem(StreamId First, uint Block, int Count) : IBlockItem<StreamBlockItem>
{
    public StreamBlockItem MovedTo(uint block) => this with { Block = block };
}

/// <summary>
/// Entries of a stream one after the other, readable forwards and backwards. The field names of the first entry are stored once;
/// an entry with the same names stores its values only.
/// </summary>
/// <remarks>
/// Header: bytes used, offset of the first entry, and size and number of entries of the node that a Redis stream would have
/// (there, removed entries are only marked). The number of shared names and the names follow. An entry is: the number of its own
/// fields, or 0 if it uses the shared names; its time as a difference from the block's; its sequence, as a difference if the time
/// is the same; values, or names and values; and the length of all this in a form that can be read from its end.
/// </remarks>
internal readonly ref struct StreamBlock(Span<byte> bytes)
{
    private const int HeaderBytes = 16;

    private readonly Span<byte> _bytes = bytes;

    /// <summary>Bytes in use, including the header.</summary>
    public ref int Used => ref MemoryMarshal.Cast<byte, int>(_bytes[..HeaderBytes])[0];

    /// <summary>The offset of the first entry.</summary>
    public ref int EntriesAt => ref MemoryMarshal.Cast<byte, int>(_bytes[..HeaderBytes])[1];

    /// <summary>Bytes of the node that a Redis stream would have. A block ends where that node would end.</summary>
    public ref int NodeBytes => ref MemoryMarshal.Cast<byte, int>(_bytes[..HeaderBytes])[2];

    /// <summary>Number of entries ever added, including the removed ones.</summary>
    public ref int Ever => ref MemoryMarshal.Cast<byte, int>(_bytes[..HeaderBytes])[3];

    public int Free => _bytes.Length - Used;

    public ReadOnlySpan<byte> Content => _bytes[..Used];

    /// <summary>An upper bound of the bytes of an entry, including the shared names if it is the first of a block.</summary>
    public static int MostBytes<TFields>(scoped in TFields fields, int textBytes)
        where TFields : struct, IStreamFields, allows ref struct =>
        HeaderBytes + 3 * StreamWords.MaxNumber + 2 * StreamWords.Overhead * fields.Count + textBytes + StreamWords.Overhead;

    /// <summary>Begins a block whose entries share the names of the first one.</summary>
    public static StreamBlock Format<TFields>(Span<byte> bytes, scoped in TFields fields)
        where TFields : struct, IStreamFields, allows ref struct
    {
        var block = new StreamBlock(bytes);
        int at = HeaderBytes;
        at += StreamWords.WriteNumber(bytes[at..], (ulong)fields.Count);
        for (int i = 0; i < fields.Count; i++) at += StreamWords.Write(bytes[at..], fields.Name(i));
        block.Used = block.EntriesAt = at;
        block.NodeBytes = StreamNodeSize.OfHead(fields);
        block.Ever = 0;
        return block;
    }

    /// <summary>Whether fields have the shared names.</summary>
    public bool SharesNames<TFields>(scoped in TFields fields) where TFields : struct, IStreamFields, allows ref struct
    {
        ReadOnlySpan<byte> names = Names(out int count);
        if (count != fields.Count) return false;
        for (int i = 0, at = 0; i < count; i++)
            if (!StreamWords.Read(names, ref at).Is(fields.Name(i))) return false;
        return true;
    }

    /// <summary>The shared names.</summary>
    public ReadOnlySpan<byte> Names(out int count)
    {
        int at = HeaderBytes;
        ReadOnlySpan<byte> head = _bytes[..EntriesAt];
        count = (int)StreamWords.ReadNumber(head, ref at);
        return head[at..];
    }

    /// <summary>Appends an entry. The block must have room for it.</summary>
    public void Append<TFields>(StreamId first, StreamId id, scoped in TFields fields, bool shared)
        where TFields : struct, IStreamFields, allows ref struct
    {
        Span<byte> to = _bytes[Used..];
        int at = StreamWords.WriteNumber(to, shared ? 0 : (ulong)fields.Count);
        ulong milliseconds = id.Milliseconds - first.Milliseconds;
        at += StreamWords.WriteNumber(to[at..], milliseconds);
        at += StreamWords.WriteNumber(to[at..], milliseconds == 0 ? id.Sequence - first.Sequence : id.Sequence);
        for (int i = 0; i < fields.Count; i++)
        {
            if (!shared) at += StreamWords.Write(to[at..], fields.Name(i));
            at += StreamWords.Write(to[at..], fields.Value(i));
        }
        Used += at + Packed.WriteBackLength(to[at..], at);
        NodeBytes += StreamNodeSize.OfEntry(first, id, fields, shared, Ever++);
    }

    /// <summary>
    /// The position of the first entry with this or a greater identifier. Searches from the end, because most entries sought are
    /// there.
    /// </summary>
    public int Seek(StreamId first, StreamId id)
    {
        ReadOnlySpan<byte> content = Content;
        int at = content.Length;
        while (at > EntriesAt)
        {
            int previous = Packed.Previous(content, at), from = previous;
            ReadHead(content, ref from, first, out StreamId found);
            if (found < id) break;
            at = previous;
        }
        return at;
    }

    /// <summary>The position of the entry after the one at <paramref name="at"/>.</summary>
    public int Next(int at)
    {
        ReadOnlySpan<byte> content = Content;
        int from = at, own = ReadHead(content, ref from, default, out _);
        if (own == 0) Names(out own);
        else own *= 2;
        int end = StreamWords.Skip(content, from, own);
        return end + Packed.BackLength(end - at);
    }

    public StreamEntry Read(StreamId first, int at)
    {
        ReadOnlySpan<byte> content = Content;
        int own = ReadHead(content, ref at, first, out StreamId id);
        if (own > 0) return new StreamEntry(id, own, default, content[at..]);
        ReadOnlySpan<byte> names = Names(out int count);
        return new StreamEntry(id, count, names, content[at..]);
    }

    public StreamId IdAt(StreamId first, int at)
    {
        ReadHead(Content, ref at, first, out StreamId id);
        return id;
    }

    /// <summary>Removes whole entries, given by their bytes.</summary>
    public void Remove(int from, int to)
    {
        _bytes[to..Used].CopyTo(_bytes[from..]);
        Used -= to - from;
    }

    private static int ReadHead(ReadOnlySpan<byte> content, ref int at, StreamId first, out StreamId id)
    {
        int own = (int)StreamWords.ReadNumber(content, ref at);
        ulong milliseconds = StreamWords.ReadNumber(content, ref at), sequence = StreamWords.ReadNumber(content, ref at);
        id = milliseconds == 0
            ? new StreamId(first.Milliseconds, unchecked(first.Sequence + sequence))
            : new StreamId(unchecked(first.Milliseconds + milliseconds), sequence);
        return own;
    }
}
