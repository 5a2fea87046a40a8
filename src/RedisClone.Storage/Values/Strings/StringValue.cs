using System.Buffers.Binary;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>Strings, and the integers among them, which are kept as eight bytes.</summary>
public static class StringValue
{
    /// <summary>Room that a growing value is given beyond what it needs now: half of that, up to this.</summary>
    private const int MaxSpare = 1 << 20;

    /// <summary>Gives a key this value, whatever it held; the key may be absent.</summary>
    public static void Set(Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, scoped ReadOnlySpan<byte> value, long expiry)
    {
        FaultPoint.Call();
        if (IntegerText.TryParse(value, out long number)) Set(keyspace, ref entry, key, number, expiry);
        else value.CopyTo(Room(keyspace, ref entry, key, ValueEncoding.Raw, value.Length, expiry));
    }

    public static void Set(Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, long number, long expiry) =>
        BinaryPrimitives.WriteInt64LittleEndian(Room(keyspace, ref entry, key, ValueEncoding.Integer, sizeof(long), expiry), number);

    /// <summary>The same, kept as bytes even if they are a number's text: how the result of a computation is stored.</summary>
    public static void SetBytes(
        Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, scoped ReadOnlySpan<byte> value, long expiry, ValueEncoding encoding = ValueEncoding.Raw) =>
        value.CopyTo(Room(keyspace, ref entry, key, encoding, value.Length, expiry));

    /// <summary>Adds an absent key with a value of zero bytes that is to be changed in place.</summary>
    public static Span<byte> Create(Keyspace keyspace, ref Entry entry, scoped ReadOnlySpan<byte> key, int length)
    {
        Span<byte> value = Room(keyspace, ref entry, key, ValueEncoding.Modified, length, expiry: 0);
        value.Clear();
        return value;
    }

    /// <summary>The number of a value whose encoding is <see cref="ValueEncoding.Integer"/>.</summary>
    public static long Integer(in Entry entry) => BinaryPrimitives.ReadInt64LittleEndian(entry.Value);

    /// <summary>Changes the number of such a value in place.</summary>
    public static void SetInteger(in Entry entry, long number) => BinaryPrimitives.WriteInt64LittleEndian(entry.Value, number);

    /// <summary>The number that a string is, in whichever form it is kept.</summary>
    public static bool TryGetInteger(in Entry entry, out long number)
    {
        if (entry.Encoding != ValueEncoding.Integer) return IntegerText.TryParse(entry.Value, out number);
        number = Integer(entry);
        return true;
    }

    /// <summary>The string's length as a client sees it.</summary>
    public static int Length(in Entry entry) =>
        entry.Encoding == ValueEncoding.Integer ? IntegerText.LengthOf(Integer(entry)) : entry.Value.Length;

    /// <summary>The string's bytes; an integer is formatted into <paramref name="scratch"/> (20 bytes).</summary>
    public static ReadOnlySpan<byte> Bytes(scoped in Entry entry, Span<byte> scratch) =>
        entry.Encoding == ValueEncoding.Integer ? scratch[..IntegerText.Format(Integer(entry), scratch)] : entry.Value;

    /// <summary>
    /// Makes the value writable bytes of at least this length, keeping what it held; bytes beyond its old length are zero.
    /// </summary>
    public static Span<byte> Grow(in Entry entry, int length)
    {
        FaultPoint.Call();
        int old = Length(entry);
        Span<byte> value = Widen(entry, Math.Max(length, old));
        value[old..].Clear();
        return value;
    }

    /// <summary>Adds bytes at the end; returns the new length.</summary>
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
            keyspace.Resize(entry, length, Math.Min(length / 2, MaxSpare));
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
