namespace RedisClone.Storage.Values.Strings;

/// <summary>How BITFIELD treats a number that its field cannot hold.</summary>
public enum BitOverflow : byte
{
    Wrap,
    Saturate,
    Fail,
}

/// <summary>A number of 1 to 64 bits at any bit offset of a string, most significant bit first.</summary>
/// <param name="Offset">The offset of its first bit.</param>
/// <param name="Bits">The number of bits; at most 63 if unsigned.</param>
/// <param name="Signed">Whether the most significant bit is a sign.</param>
public readonly record struct BitField(long Offset, int Bits, bool Signed)
{
    private long Least => Signed ? long.MinValue >> 64 - Bits : 0;

    private long Most => Signed ? long.MaxValue >> 64 - Bits : (1L << Bits) - 1;

    /// <summary>The least length of a string that contains the whole field.</summary>
    public long EndByte => (Offset + Bits + 7) >> 3;

    /// <summary>Reads the field. Bytes beyond the end of the string are zero.</summary>
    public long Read(ReadOnlySpan<byte> bytes)
    {
        UInt128 window = ReadWindow(bytes, out int below);
        long value = (long)(ulong)(window >> below);
        return Narrow(value);
    }

    /// <summary>Writes the field, which must lie within the string.</summary>
    public void Write(Span<byte> bytes, long value)
    {
        UInt128 window = ReadWindow(bytes, out int below);
        UInt128 mask = (UInt128.MaxValue >> 128 - Bits) << below;
        window = (window & ~mask) | ((UInt128)(ulong)value << below & mask);
        for (long at = EndByte - 1; at >= Offset >> 3; at--, window >>= 8) bytes[(int)at] = (byte)window;
    }

    /// <summary>Brings a number into the range of the field. Returns false if it does not fit and must not be written.</summary>
    public bool TryFit(Int128 value, BitOverflow overflow, out long fitted)
    {
        fitted = Narrow((long)value);
        if (value >= Least && value <= Most) return true;
        if (overflow == BitOverflow.Saturate) fitted = value < Least ? Least : Most;
        return overflow != BitOverflow.Fail;
    }

    /// <summary>The low bits of a number, interpreted as a value of the field.</summary>
    private long Narrow(long value) => Signed ? value << 64 - Bits >> 64 - Bits : value & Most;

    /// <summary>
    /// Reads the bytes that the field touches, at most nine. <paramref name="below"/> is the number of their bits after the
    /// field.
    /// </summary>
    private UInt128 ReadWindow(ReadOnlySpan<byte> bytes, out int below)
    {
        UInt128 window = 0;
        for (long at = Offset >> 3; at < EndByte; at++) window = window << 8 | (at < bytes.Length ? bytes[(int)at] : 0u);
        below = (int)(EndByte * 8 - Offset - Bits);
        return window;
    }
}
