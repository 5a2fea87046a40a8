using System.Buffers.Binary;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>
/// Redis's listpack: packed entries in a frame of length, count and terminator. Small collections are written to dumps and snapshots as
/// they lie in memory; what is read comes from anywhere and is trusted in nothing.
/// </summary>
public static class Listpack
{
    private const int HeaderBytes = 6, UnknownCount = ushort.MaxValue;
    private const byte Terminator = 0xFF;

    /// <summary>Bytes of header and terminator.</summary>
    public const int FrameBytes = HeaderBytes + 1;

    /// <summary>
    /// The entries of a value that lies in memory just as a listpack has them: a small list or set, or a small hash of which no
    /// field expires.
    /// </summary>
    public static bool TryGetEntries(in Entry entry, out ReadOnlySpan<byte> entries, out int elements)
    {
        entries = default;
        elements = 0;
        if (entry.Encoding != ValueEncoding.Packed || entry.Type == ValueType.SortedSet) return false;
        if (entry.Type == ValueType.List)
        {
            var block = new ListBlock(entry.Value);
            entries = block.Entries;
            elements = block.Count;
        }
        else
        {
            var packed = new PackedValue(entry);
            entries = packed.Entries;
            elements = entry.Type == ValueType.Hash ? packed.Count * 2 : packed.Count;
        }
        return true;
    }

    /// <summary>Writes what goes before the entries; returns its length.</summary>
    public static int WriteHeader(Span<byte> to, int entryBytes, int elements)
    {
        BinaryPrimitives.WriteInt32LittleEndian(to, entryBytes + FrameBytes);
        BinaryPrimitives.WriteUInt16LittleEndian(to[4..], (ushort)Math.Min(elements, UnknownCount));
        return HeaderBytes;
    }

    /// <summary>Writes what goes after the entries; returns its length.</summary>
    public static int WriteTerminator(Span<byte> to)
    {
        to[0] = Terminator;
        return 1;
    }

    /// <summary>Bytes of an element's entry.</summary>
    public static int SizeOf(ReadOnlySpan<byte> text) => Packed.SizeOf(Element.Of(text));

    /// <summary>Writes an element's entry; returns its size.</summary>
    public static int Write(Span<byte> to, ReadOnlySpan<byte> text) => Packed.Write(to, Element.Of(text));

    /// <summary>Opens a listpack; false unless it is sound from its first byte to its last.</summary>
    public static bool TryRead(ReadOnlySpan<byte> listpack, out ListpackElements elements)
    {
        elements = default;
        if (listpack.Length < FrameBytes || listpack[^1] != Terminator
            || BinaryPrimitives.ReadUInt32LittleEndian(listpack) != (uint)listpack.Length) return false;
        ReadOnlySpan<byte> entries = listpack[HeaderBytes..^1];
        int count = 0, told = BinaryPrimitives.ReadUInt16LittleEndian(listpack[4..]);
        for (int at = 0; at < entries.Length; count++)
            if (!Packed.IsSound(entries, at, out at)) return false;
        if (told != UnknownCount && told != count) return false;
        elements = new ListpackElements(entries, count);
        return true;
    }
}

/// <summary>Walks the elements of a sound listpack.</summary>
public ref struct ListpackElements
{
    private readonly ReadOnlySpan<byte> _entries;
    private int _at;

    internal ListpackElements(ReadOnlySpan<byte> entries, int count)
    {
        _entries = entries;
        Count = count;
    }

    public int Count { get; }

    public Element Current { get; private set; }

    public readonly ListpackElements GetEnumerator() => this;

    public bool MoveNext()
    {
        if (_at >= _entries.Length) return false;
        Current = Packed.Read(_entries, _at, out _at);
        return true;
    }
}
