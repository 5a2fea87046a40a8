using System.Buffers.Binary;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Hashes;

/// <summary>
/// A small hash that shares its names with all hashes of its shape: the handle of the shape, then the values as packed entries in
/// the order of the names. Any change except a new value turns it into a packed hash with its own names.
/// </summary>
internal static class ShapedFields
{
    private const int ShapeBytes = sizeof(uint);

    public static bool Is(in Entry entry) => entry.Encoding == ValueEncoding.Shaped;

    /// <summary>Creates a hash of names and values. Returns false if the settings require another form.</summary>
    public static bool TryCreate<TValues>(
        Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash, FieldNames names, in TValues values, out Entry entry)
        where TValues : struct, ITexts, allows ref struct
    {
        entry = default;
        ValueLimits limits = keyspace.Store.Limits;
        if (names.Count > limits.HashMaxListpackEntries || names.Longest > limits.HashMaxListpackValue) return false;
        long bytes = ShapeBytes;
        for (int i = 0; i < names.Count; i++)
        {
            ReadOnlySpan<byte> value = values[i];
            if (value.Length > limits.HashMaxListpackValue) return false;
            bytes += Packed.SizeOf(Element.Of(value));
        }
        if (bytes + names.Packed.Length > ValueLimits.MaxPackedBytes) return false;
        uint shape = keyspace.Store.Shapes.Acquire(names.Packed, names.Count);
        try
        {
            entry = keyspace.Insert(key, hash, ValueType.Hash, ValueEncoding.Shaped, (int)bytes);
        }
        catch
        {
            keyspace.Store.Shapes.Release(shape);
            throw;
        }
        Span<byte> to = entry.Value;
        BinaryPrimitives.WriteUInt32LittleEndian(to, shape);
        int at = ShapeBytes;
        for (int i = 0; i < names.Count; i++) at += Packed.Write(to[at..], Element.Of(values[i]));
        return true;
    }

    public static int Count(in Entry entry) => Shapes(entry).Count(ShapeOf(entry.Value));

    public static ReadOnlySpan<byte> Names(in Entry entry) => Shapes(entry).Names(ShapeOf(entry.Value));

    public static ReadOnlySpan<byte> Values(in Entry entry) => entry.Value[ShapeBytes..];

    public static bool TryGet(in Entry entry, Element name, out HashField field)
    {
        ReadOnlySpan<byte> names = Names(entry);
        int nameAt = Packed.Find(names, 0, name);
        field = nameAt < 0 ? default : new HashField(
            Packed.Read(names, nameAt, out _), Packed.Read(Values(entry), ValueAt(entry, names, nameAt), out _), expiry: 0);
        return nameAt >= 0;
    }

    /// <summary>Replaces the value of a field. Returns false if there is no such field, or no room.</summary>
    public static bool TryReplace(in Entry entry, Element name, Element value)
    {
        ReadOnlySpan<byte> names = Names(entry);
        int nameAt = Packed.Find(names, 0, name);
        if (nameAt < 0) return false;
        PackedValue values = new(entry, ShapeBytes);
        if (!values.HasRoom(value.Length)) return false;
        values.Replace(ValueAt(entry, names, nameAt), value);
        return true;
    }

    /// <summary>Turns a shaped hash into a packed hash with its own names.</summary>
    public static void Disassemble(in Entry entry)
    {
        uint shape = ShapeOf(entry.Value);
        int count = Shapes(entry).Count(shape);
        ReadOnlySpan<byte> names = Shapes(entry).Names(shape);
        using Scratch values = new(Values(entry));
        using Scratch entries = new(names.Length + values.Bytes.Length);
        int to = 0;
        for (int nameAt = 0, valueAt = 0; nameAt < names.Length;)
        {
            Append(names, ref nameAt, entries.Bytes, ref to);
            Append(values.Bytes, ref valueAt, entries.Bytes, ref to);
        }
        entry.Keyspace.Resize(entry, PackedValue.CountBytes + to);
        Keyspace.SetForm(entry, ValueType.Hash, ValueEncoding.Packed);
        PackedValue packed = new(entry) { Count = count };
        entries.Bytes.CopyTo(packed.Entries);
        Shapes(entry).Release(shape);
    }

    /// <summary>
    /// Turns a packed hash without expiring fields into a shaped one, if other hashes have the same names in the same order.
    /// </summary>
    public static void Assemble(in Entry entry)
    {
        PackedValue packed = PackedFields.Of(entry);
        int count = packed.Count;
        using Scratch entries = new(packed.Entries);
        using Scratch names = new(entries.Bytes.Length);
        using Scratch values = new(entries.Bytes.Length);
        int namesEnd = 0, valuesEnd = 0;
        for (int at = 0; at < entries.Bytes.Length;)
        {
            Append(entries.Bytes, ref at, names.Bytes, ref namesEnd);
            Append(entries.Bytes, ref at, values.Bytes, ref valuesEnd);
        }
        HashShapes shapes = Shapes(entry);
        if (!shapes.Recur(names.Bytes[..namesEnd])) return;
        uint shape = shapes.Acquire(names.Bytes[..namesEnd], count);
        try
        {
            entry.Keyspace.Resize(entry, ShapeBytes + valuesEnd);
        }
        catch
        {
            shapes.Release(shape);
            throw;
        }
        Keyspace.SetForm(entry, ValueType.Hash, ValueEncoding.Shaped);
        BinaryPrimitives.WriteUInt32LittleEndian(entry.Value, shape);
        values.Bytes[..valuesEnd].CopyTo(entry.Value[ShapeBytes..]);
    }

    /// <summary>Returns the shape for a copy of a hash in a store, and counts one more hash that uses it.</summary>
    public static uint AcquireFor(ShardStore store, in Entry source)
    {
        uint shape = ShapeOf(source.Value);
        HashShapes from = Shapes(source);
        if (store.Shapes != from) return store.Shapes.Acquire(from.Names(shape), from.Count(shape));
        from.Share(shape);
        return shape;
    }

    public static void SetShape(in Entry entry, uint shape) => BinaryPrimitives.WriteUInt32LittleEndian(entry.Value, shape);

    public static uint ShapeOf(ReadOnlySpan<byte> value) => BinaryPrimitives.ReadUInt32LittleEndian(value);

    private static HashShapes Shapes(in Entry entry) => entry.Keyspace.Store.Shapes;

    /// <summary>The position of the value whose name is at <paramref name="nameAt"/>.</summary>
    private static int ValueAt(in Entry entry, ReadOnlySpan<byte> names, int nameAt)
    {
        ReadOnlySpan<byte> values = Values(entry);
        int valueAt = 0;
        for (int at = 0; at < nameAt; at = Packed.Next(names, at)) valueAt = Packed.Next(values, valueAt);
        return valueAt;
    }

    private static void Append(ReadOnlySpan<byte> from, ref int at, Span<byte> entries, ref int to)
    {
        int next = Packed.Next(from, at);
        from[at..next].CopyTo(entries[to..]);
        to += next - at;
        at = next;
    }
}
