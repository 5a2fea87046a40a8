namespace RedisClone.Storage;

/// <summary>What becomes of a number that its field cannot hold.</summary>
public enum BitOverflow : byte
{
    Wrap,
    Saturate,
    Fail,
}

/// <summary>A number of 1 to 64 bits at any bit of a string, highest bit first.</summary>
/// <param name="Offset">Its first bit.</param>
/// <param name="Bits">How many it has; 63 at most without a sign.</param>
/// <param name="Signed">Whether its highest bit is a sign.</param>
public readonly record struct BitField(long Offset, int Bits, bool Signed)
{
    private long Least => Signed ? long.MinValue >> 64 - Bits : 0;

    private long Most => Signed ? long.MaxValue >> 64 - Bits : (1L << Bits) - 1;

    /// <summary>Where the string must end at the least for the field to lie within.</summary>
    public long EndByte => (Offset + Bits + 7) >> 3;

    /// <summary>Reads the field; bytes beyond the string's end are zero.</summary>
    public long Read(ReadOnlySpan<byte> bytes)
    {
        UInt128 window = ReadWindow(bytes, out int below);
        long value = (long)(ulong)(window >> below);
        return Narrow(value);
    }

    /// <summary>Writes the field, all of which lies within the string.</summary>
    public void Write(Span<byte> bytes, long value)
    {
        UInt128 window = ReadWindow(bytes, out int below);
        UInt128 mask = (UInt128.MaxValue >> 128 - Bits) << below;
        window = (window & ~mask) | ((UInt128)(ulong)value << below & mask);
        for (long at = EndByte - 1; at >= Offset >> 3; at--, window >>= 8) bytes[(int)at] = (byte)window;
    }

    /// <summary>Brings a number into the field's range as told; false when it does not fit and must not be written.</summary>
    public bool TryFit(Int128 value, BitOverflow overflow, out long fitted)
    {
        fitted = Narrow((long)value);
        if (value >= Least && value <= Most) return true;
        if (overflow == BitOverflow.Saturate) fitted = value < Least ? Least : Most;
        return overflow != BitOverflow.Fail;
    }

    /// <summary>The lowest bits of a number, read as the field reads them.</summary>
    private long Narrow(long value) => Signed ? value << 64 - Bits >> 64 - Bits : value & Most;

    /// <summary>The bytes that the field touches, nine at most, and how many bits of them lie behind it.</summary>
    private UInt128 ReadWindow(ReadOnlySpan<byte> bytes, out int below)
    {
        UInt128 window = 0;
        for (long at = Offset >> 3; at < EndByte; at++) window = window << 8 | (at < bytes.Length ? bytes[(int)at] : 0u);
        below = (int)(EndByte * 8 - Offset - Bits);
        return window;
    }
}
