using System.Buffers.Binary;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Structures;

/// <summary>The form of the number in a member record: an expiry, a score, or none.</summary>
internal enum NumberForm : byte
{
    None = 0,
    Int32 = 1,
    Int64 = 2,
}

/// <summary>
/// One member of a large collection: a name, an optional number, an optional value. A set member is a name. A hash field has a
/// value, and a number if it expires. A sorted set member has its score as the number.
/// </summary>
/// <remarks>
/// The first byte holds the form and the length of the name (31: the length follows as a varint). If there is a value, its length
/// follows as a varint. Then come number, name and value. A name of up to 30 bytes needs one byte of overhead.
/// </remarks>
internal readonly ref struct MemberRecord
{
    private const int FormMask = 3, HasValueBit = 4, LengthShift = 3, LongLength = 31;

    private readonly Span<byte> _bytes;
    private readonly int _numberAt, _nameAt, _valueAt, _end;

    public MemberRecord(Span<byte> bytes)
    {
        _bytes = bytes;
        byte head = bytes[0];
        Form = (NumberForm)(head & FormMask);
        int at = 1, length = head >> LengthShift;
        if (length == LongLength) length = ReadVarint(bytes, ref at);
        int value = (head & HasValueBit) != 0 ? ReadVarint(bytes, ref at) : 0;
        _numberAt = at;
        _nameAt = at + NumberBytes(Form);
        _valueAt = _nameAt + length;
        _end = _valueAt + value;
    }

    public NumberForm Form { get; }

    public Span<byte> Name => _bytes[_nameAt.._valueAt];

    public Span<byte> Value => _bytes[_valueAt.._end];

    public long Number => Form switch
    {
        NumberForm.None => 0,
        NumberForm.Int32 => BinaryPrimitives.ReadInt32LittleEndian(_bytes[_numberAt..]),
        _ => BinaryPrimitives.ReadInt64LittleEndian(_bytes[_numberAt..]),
    };

    /// <summary>Overwrites the number with one of the same form.</summary>
    public void SetNumber(long number) => WriteNumber(_bytes[_numberAt..], Form, number);

    /// <summary>The bytes of a record. Throws if no buffer can be so large.</summary>
    public static int SizeOf(int nameLength, NumberForm form, int? valueLength) => Arena.SizeOf(
        1 + (nameLength < LongLength ? 0 : VarintBytes(nameLength)) + NumberBytes(form) + (long)nameLength
        + (valueLength is { } length ? VarintBytes(length) + length : 0));

    /// <summary>Writes a record without its value. Returns the span for the value.</summary>
    public static Span<byte> Write(Span<byte> to, ReadOnlySpan<byte> name, NumberForm form, long number, int? valueLength)
    {
        int shortLength = Math.Min(name.Length, LongLength), at = 1;
        to[0] = (byte)((int)form | (valueLength is null ? 0 : HasValueBit) | shortLength << LengthShift);
        if (shortLength == LongLength) WriteVarint(to, ref at, name.Length);
        if (valueLength is { } length) WriteVarint(to, ref at, length);
        WriteNumber(to[at..], form, number);
        at += NumberBytes(form);
        name.CopyTo(to[at..]);
        return to.Slice(at + name.Length, valueLength ?? 0);
    }

    /// <summary>The name only, for lookups.</summary>
    public static ReadOnlySpan<byte> NameOf(ReadOnlySpan<byte> bytes)
    {
        byte head = bytes[0];
        int at = 1, length = head >> LengthShift;
        if (length == LongLength) length = ReadVarint(bytes, ref at);
        if ((head & HasValueBit) != 0) ReadVarint(bytes, ref at);
        return bytes.Slice(at + NumberBytes((NumberForm)(head & FormMask)), length);
    }

    private static int NumberBytes(NumberForm form) => (int)form << 2;

    private static void WriteNumber(Span<byte> to, NumberForm form, long number)
    {
        if (form == NumberForm.Int64) BinaryPrimitives.WriteInt64LittleEndian(to, number);
        else if (form == NumberForm.Int32) BinaryPrimitives.WriteInt32LittleEndian(to, (int)number);
    }

    private static int VarintBytes(int value)
    {
        int bytes = 1;
        for (; value >= 0x80; value >>= 7) bytes++;
        return bytes;
    }

    private static int ReadVarint(ReadOnlySpan<byte> bytes, ref int at)
    {
        int value = bytes[at] & 0x7F;
        for (int shift = 7; bytes[at++] >= 0x80; shift += 7) value |= (bytes[at] & 0x7F) << shift;
        return value;
    }

    private static void WriteVarint(Span<byte> bytes, ref int at, int value)
    {
        for (; value >= 0x80; value >>= 7) bytes[at++] = (byte)(value | 0x80);
        bytes[at++] = (byte)value;
    }
}
