using System.Buffers.Binary;
using RedisClone.Storage.Values;

namespace RedisClone.Storage.Structures;

/// <summary>
/// A small collection within its record: a header that ends with the number of elements, then their <see cref="Packed"/> entries.
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

    /// <summary>
    /// Replaces <paramref name="removed"/> bytes at a position by <paramref name="added"/> bytes that the caller then fills.
    /// </summary>
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
    /// Removes bytes at one position and inserts room before another position, which lies outside the removed bytes. The caller
    /// then fills the room.
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

    /// <summary>Replaces the element at a position.</summary>
    public void Replace(int at, Element element) =>
        Packed.Write(Splice(at, Packed.Next(Entries, at) - at, Packed.SizeOf(element)), element);

    public void Remove(int at, int elements) => Splice(at, Packed.Skip(Entries, at, elements) - at, 0);

    /// <summary>Whether the value may grow by this many bytes, regardless of the configured limits.</summary>
    public bool HasRoom(long bytes) => _entry.Value.Length + bytes <= ValueLimits.MaxPackedBytes;
}
