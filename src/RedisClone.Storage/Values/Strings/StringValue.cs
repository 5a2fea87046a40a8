using System.Buffers.Binary;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Values.Strings;

/// <summary>Operations on strings. A string that is a canonical integer is stored as eight bytes.</summary>
public static class StringValue
{
    /// <summary>The room reserved for further growth is half of the length, up to this, and an eighth of a longer string.</summary>
    private const int MaxSpare = 1 << 20;

    /// <summary>Sets a key to a string, whatever it held. The key may be absent.</summary>
    public static void Set(
        Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, scoped ReadOnlySpan<byte> value, long expiry)
    {
        FaultPoint.Call();
        if (IntegerText.TryParse(value, out long number)) Set(keyspace, ref entry, key, number, expiry);
        else value.CopyTo(Room(keyspace, ref entry, key, ValueEncoding.Raw, value.Length, expiry));
    }

    public static void Set(Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, long number, long expiry) =>
        BinaryPrimitives.WriteInt64LittleEndian(
            Room(keyspace, ref entry, key, ValueEncoding.Integer, sizeof(long), expiry), number);

    /// <summary>
    /// Like <see cref="Set(Keyspace, ref Entry, ReadOnlySpan{byte}, ReadOnlySpan{byte}, long)"/>, but keeps the text of an
    /// integer as bytes. For results of computations.
    /// </summary>
    public static void SetBytes(
        Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, scoped ReadOnlySpan<byte> value, long expiry,
        ValueEncoding encoding = ValueEncoding.Raw) =>
        value.CopyTo(Room(keyspace, ref entry, key, encoding, value.Length, expiry));

    /// <summary>Adds an absent key with a string of zero bytes, for changes in place.</summary>
    public static Span<byte> Create(Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, int length)
    {
        Span<byte> value = Room(keyspace, ref entry, key, ValueEncoding.Modified, length, expiry: 0);
        value.Clear();
        return value;
    }

    /// <summary>The number of a string with encoding <see cref="ValueEncoding.Integer"/>.</summary>
    public static long Integer(in Entry entry) => BinaryPrimitives.ReadInt64LittleEndian(entry.Value);

    /// <summary>Changes the number of such a string in place.</summary>
    public static void SetInteger(in Entry entry, long number) => BinaryPrimitives.WriteInt64LittleEndian(entry.Value, number);

    /// <summary>The integer that a string represents, in whichever form it is stored.</summary>
    public static bool TryGetInteger(in Entry entry, out long number)
    {
        if (entry.Encoding != ValueEncoding.Integer) return IntegerText.TryParse(entry.Value, out number);
        number = Integer(entry);
        return true;
    }

    /// <summary>The bytes of a string that is stored as text. Returns false for an integer.</summary>
    public static bool TryGetText(in Entry entry, out ReadOnlySpan<byte> text)
    {
        Record record = entry.Record;
        text = record.Value;
        return record.Encoding != ValueEncoding.Integer;
    }

    /// <summary>The length of the string as a client sees it.</summary>
    public static int Length(in Entry entry) =>
        entry.Encoding == ValueEncoding.Integer ? IntegerText.LengthOf(Integer(entry)) : entry.Value.Length;

    /// <summary>The bytes of the string. An integer is formatted into <paramref name="scratch"/> (20 bytes).</summary>
    public static ReadOnlySpan<byte> Bytes(scoped in Entry entry, Span<byte> scratch) =>
        entry.Encoding == ValueEncoding.Integer ? scratch[..IntegerText.Format(Integer(entry), scratch)] : entry.Value;

    /// <summary>
    /// Makes a string writable and at least this long. Keeps its content; bytes beyond the old length are zero.
    /// </summary>
    public static Span<byte> Grow(in Entry entry, int length)
    {
        FaultPoint.Call();
        int old = Length(entry);
        Span<byte> value = Widen(entry, Math.Max(length, old));
        value[old..].Clear();
        return value;
    }

    /// <summary>Appends bytes. Returns the new length.</summary>
    public static int Append(in Entry entry, ReadOnlySpan<byte> bytes)
    {
        FaultPoint.Call();
        int old = Length(entry);
        Span<byte> value = Widen(entry, old + bytes.Length);
        bytes.CopyTo(value[old..]);
        return value.Length;
    }

    private static Span<byte> Widen(in Entry entry, int length)
    {
        Keyspace keyspace = entry.Keyspace;
        if (entry.Encoding == ValueEncoding.Integer)
        {
            Span<byte> text = stackalloc byte[IntegerText.MaxLength];
            int digits = IntegerText.Format(Integer(entry), text);
            keyspace.Resize(entry, length);
            text[..digits].CopyTo(entry.Value);
        }
        else if (length != entry.Value.Length)
        {
            keyspace.Resize(entry, length, Math.Min(length / 2, Math.Max(length / 8, MaxSpare)));
        }
        if (entry.Encoding != ValueEncoding.Modified) Keyspace.SetForm(entry, ValueType.String, ValueEncoding.Modified);
        // The caller changes the bytes next.
        keyspace.CountChange();
        return entry.Value;
    }

    private static Span<byte> Room(
        Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, ValueEncoding encoding, int length, long expiry)
    {
        if (entry.Exists) keyspace.Replace(entry, ValueType.String, encoding, length, expiry);
        else entry = keyspace.Insert(key, entry.Hash, ValueType.String, encoding, length, expiry);
        return entry.Value;
    }
}
