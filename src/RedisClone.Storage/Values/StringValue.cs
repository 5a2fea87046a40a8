using System.Buffers.Binary;
using System.Buffers.Text;

namespace RedisClone.Storage;

/// <summary>Strings, and the integers among them, which are kept as eight bytes.</summary>
public static class StringValue
{
    private const int MaxIntegerText = 20;

    /// <summary>Gives a key this value, whatever it held; the key may be absent.</summary>
    public static void Set(Keyspace keyspace, ref Entry entry, ReadOnlySpan<byte> key, ReadOnlySpan<byte> value, long expiry)
    {
        if (value.Length <= MaxIntegerText && TryParse(value, out long number))
        {
            BinaryPrimitives.WriteInt64LittleEndian(Room(keyspace, ref entry, key, ValueEncoding.Integer, sizeof(long), expiry), number);
            return;
        }
        value.CopyTo(Room(keyspace, ref entry, key, ValueEncoding.Raw, value.Length, expiry));
    }

    public static void Set(Keyspace keyspace, ref Entry entry, ReadOnlySpan<byte> key, long number, long expiry) =>
        BinaryPrimitives.WriteInt64LittleEndian(Room(keyspace, ref entry, key, ValueEncoding.Integer, sizeof(long), expiry), number);

    public static long Integer(in Entry entry) => BinaryPrimitives.ReadInt64LittleEndian(entry.Value);

    /// <summary>The string's length as a client sees it.</summary>
    public static int Length(in Entry entry)
    {
        if (entry.Encoding != ValueEncoding.Integer) return entry.Value.Length;
        Span<byte> text = stackalloc byte[MaxIntegerText];
        return Format(Integer(entry), text);
    }

    /// <summary>The string's bytes; an integer is formatted into <paramref name="scratch"/> (20 bytes).</summary>
    public static ReadOnlySpan<byte> Bytes(in Entry entry, Span<byte> scratch) =>
        entry.Encoding == ValueEncoding.Integer ? scratch[..Format(Integer(entry), scratch)] : entry.Value;

    /// <summary>Makes the value writable bytes of a new length, keeping what it held; bytes beyond its old length are zero.</summary>
    public static Span<byte> Grow(in Entry entry, int length, int spare)
    {
        Keyspace keyspace = entry.Keyspace;
        if (entry.Encoding == ValueEncoding.Integer)
        {
            Span<byte> text = stackalloc byte[MaxIntegerText];
            int digits = Format(Integer(entry), text);
            keyspace.Resize(entry, digits);
            text[..digits].CopyTo(entry.Value);
        }
        int old = entry.Value.Length;
        keyspace.Resize(entry, Math.Max(length, old), spare);
        Keyspace.SetForm(entry, ValueType.String, ValueEncoding.Modified);
        Span<byte> value = entry.Value;
        if (old < value.Length) value[old..].Clear();
        return value;
    }

    private static Span<byte> Room(
        Keyspace keyspace, ref Entry entry, ReadOnlySpan<byte> key, ValueEncoding encoding, int length, long expiry)
    {
        if (entry.Exists) keyspace.Replace(entry, ValueType.String, encoding, length, expiry);
        else entry = keyspace.Insert(key, entry.Hash, ValueType.String, encoding, length, expiry);
        return entry.Value;
    }

    private static int Format(long number, Span<byte> into)
    {
        Utf8Formatter.TryFormat(number, into, out int written);
        return written;
    }

    /// <summary>Exactly the texts that formatting a 64-bit integer gives, so that the form never shows.</summary>
    private static bool TryParse(ReadOnlySpan<byte> text, out long number)
    {
        number = 0;
        if (text.IsEmpty || text[0] is not ((>= (byte)'0' and <= (byte)'9') or (byte)'-')) return false;
        if (!Utf8Parser.TryParse(text, out number, out int used) || used != text.Length) return false;
        // No leading zeros, no minus zero.
        int digits = text[0] == '-' ? 1 : 0;
        return text[digits] != '0' || text.Length == 1;
    }
}
