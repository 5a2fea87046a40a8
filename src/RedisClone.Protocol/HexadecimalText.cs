namespace RedisClone.Protocol;

/// <summary>
/// An unsigned hexadecimal number in C syntax: 0x, digits with at most one point, then optionally p and a power of two.
/// </summary>
/// <param name="Bits">The leading bits of the number, which is Bits times 2^<see cref="Exponent"/>.</param>
/// <param name="HasMore">Whether any of the remaining bits is set.</param>
/// <param name="Exponent">The power of two.</param>
internal readonly record struct HexadecimalText(UInt128 Bits, bool HasMore, int Exponent)
{
    private const int DoubleBits = 53;
    private const int LowestDoubleBit = -1074;

    public static bool IsHexadecimal(ReadOnlySpan<byte> text) => text.Length > 2 && text[0] == '0' && (text[1] | 0x20) == 'x';

    /// <summary>Reads a text for which <see cref="IsHexadecimal"/> is true.</summary>
    public static bool TryRead(ReadOnlySpan<byte> text, out HexadecimalText number)
    {
        number = default;
        UInt128 bits = 0;
        bool hasMore = false, point = false, any = false;
        int exponent = 0, at = 2;
        for (; at < text.Length; at++)
        {
            if (text[at] == '.' && !point)
            {
                point = true;
                continue;
            }
            if (!char.IsAsciiHexDigit((char)text[at])) break;
            any = true;
            uint digit = (uint)(char.IsAsciiDigit((char)text[at]) ? text[at] - '0' : (text[at] | 0x20) - 'a' + 10);
            bool kept = bits >> 120 == 0;
            if (kept) bits = bits << 4 | digit;
            else hasMore |= digit != 0;
            // A dropped digit before the point multiplies by 16; a kept digit after the point divides by 16.
            exponent += kept == point ? kept ? -4 : 4 : 0;
        }
        if (!any) return false;
        if (at < text.Length)
        {
            if ((text[at] | 0x20) != 'p' || !TryReadPower(text[(at + 1)..], out int power)) return false;
            exponent += power;
        }
        number = new HexadecimalText(bits, hasMore, exponent);
        return true;
    }

    /// <summary>
    /// Rounds to the nearest double, half to even. Returns false on overflow to infinity and on underflow to zero.
    /// </summary>
    public bool TryRound(out double value)
    {
        value = 0;
        if (Bits == 0) return true;
        int length = 128 - (int)UInt128.LeadingZeroCount(Bits);
        int lowest = Math.Max(Exponent + length - DoubleBits, LowestDoubleBit);
        int dropped = lowest - Exponent;
        if (dropped > 127) return false;
        if (dropped <= 0)
        {
            value = Math.ScaleB((double)Bits, Exponent);
        }
        else
        {
            UInt128 kept = Bits >> dropped, rest = Bits - (kept << dropped), half = UInt128.One << (dropped - 1);
            if (rest > half || (rest == half && (HasMore || UInt128.IsOddInteger(kept)))) kept++;
            value = Math.ScaleB((double)kept, lowest);
        }
        return value != 0 && double.IsFinite(value);
    }

    private static bool TryReadPower(ReadOnlySpan<byte> text, out int power)
    {
        power = 0;
        bool negative = text.StartsWith((byte)'-');
        if (negative || text.StartsWith((byte)'+')) text = text[1..];
        foreach (byte c in text)
        {
            if (!char.IsAsciiDigit((char)c)) return false;
            power = Math.Min(power * 10 + (c - '0'), 1_000_000);
        }
        if (negative) power = -power;
        return !text.IsEmpty;
    }
}
