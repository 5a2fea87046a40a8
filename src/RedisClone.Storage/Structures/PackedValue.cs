using System.Buffers.Binary;

namespace RedisClone.Storage.Structures;

/// <summary>
/// A small collection within its record: a header that ends in the number of elements, then their <see cref="Packed"/> entries.
/// Positions are relative to the first entry.
/// </summary>
internal readonly ref struct PackedValue(Entry entry, int header = PackedValue.CountBytes)
{
    public const int CountBytes = 4;

    private readonly Entry _entry = entry;

    public Span<byte> Entries => _entry.Value[header..];

    public int Count
    {
        get => BinaryPrimitives.ReadInt32LittleEndian(_entry.Value[(header - CountBytes)..]);
        set => BinaryPrimitives.WriteInt32LittleEndian(_entry.Value[(header - CountBytes)..], value);
    }

    /// <summary>Replaces so many bytes at a position by others that the caller then fills in.</summary>
    public Span<byte> Splice(int at, int removed, int added)
    {
        if (added != removed)
        {
            int length = _entry.Value.Length, tail = header + at + removed, moved = header + at + added;
            if (added > removed) _entry.Keyspace.Resize(_entry, length + added - removed);
            Span<byte> value = _entry.Value;
            value[tail..length].CopyTo(value[moved..]);
            if (added < removed) _entry.Keyspace.Resize(_entry, length + added - removed);
        }
        return Entries.Slice(at, added);
    }

    /// <summary>
    /// Takes so many bytes out at one position and makes room for others before another, which lies outside of them; the caller
    /// then fills the room in.
    /// </summary>
    public Span<byte> Relocate(int from, int removed, int to, int added)
    {
        int length = _entry.Value.Length, change = added - removed, end = from + removed;
        if (change > 0) _entry.Keyspace.Resize(_entry, length + change);
        Span<byte> entries = Entries;
        length -= header;
        bool isBackwards = to <= from;
        int tail = isBackwards ? end : to, place = isBackwards ? to : to - removed;
        if (change > 0) entries[tail..length].CopyTo(entries[(tail + change)..]);
        if (isBackwards) entries[to..from].CopyTo(entries[(to + added)..]);
        else entries[end..to].CopyTo(entries[from..]);
        if (change < 0)
        {
            entries[tail..length].CopyTo(entries[(tail + change)..]);
            _entry.Keyspace.Resize(_entry, header + length + change);
        }
        return Entries.Slice(place, added);
    }

    public void Insert(int at, Element element) => Packed.Write(Splice(at, 0, Packed.SizeOf(element)), element);

    public void Append(Element element) => Insert(Entries.Length, element);

    /// <summary>Puts another element in the place of the one at a position.</summary>
    public void Replace(int at, Element element) =>
        Packed.Write(Splice(at, Packed.Next(Entries, at) - at, Packed.SizeOf(element)), element);

    public void Remove(int at, int elements) => Splice(at, Packed.Skip(Entries, at, elements) - at, 0);

    /// <summary>Whether so many more bytes may be added at all, whatever the limits say.</summary>
    public bool HasRoom(long bytes) => _entry.Value.Length + bytes <= ValueLimits.MaxPackedBytes;
}
