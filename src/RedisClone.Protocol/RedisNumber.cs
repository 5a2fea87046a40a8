using System.Globalization;
using System.Text;

namespace RedisClone.Protocol;

/// <summary>Numbers as text by the rules of Redis: parsing and formatting.</summary>
public static class RedisNumber
{
    /// <summary>Length of the longest 64-bit integer: -9223372036854775808.</summary>
    public const int MaxInt64Length = 20;

    /// <summary>At least the length of the longest double, such as -1.2345678901234567e-308.</summary>
    public const int MaxDoubleLength = 32;

    /// <summary>Parses a 64-bit integer in canonical form: no blanks, no plus sign, no leading zeros, no -0.</summary>
    public static bool TryParseInt64(ReadOnlySpan<byte> text, out long value)
    {
        value = 0;
        if ((uint)(text.Length - 1) >= MaxInt64Length) return false;
        bool negative = text[0] == '-';
        ReadOnlySpan<byte> digits = negative ? text[1..] : text;
        if (digits.IsEmpty) return false;
        if (digits[0] == '0') return text.Length == 1;

        ulong sum = 0;
        foreach (byte c in digits)
        {
            uint digit = (uint)c - '0';
            if (digit > 9) return false;
            sum = sum * 10 + digit;
        }
        // Nineteen digits always fit 64 bits; a number of twenty digits is out of range.
        if (digits.Length > 19 || sum > (ulong)long.MaxValue + (negative ? 1u : 0u)) return false;
        value = negative ? (long)(0 - sum) : (long)sum;
        return true;
    }

    /// <summary>Writes the decimal digits. Returns the length.</summary>
    public static int WriteInt64(long value, Span<byte> target)
    {
        value.TryFormat(target, out int written, default, CultureInfo.InvariantCulture);
        return written;
    }

    /// <summary>
    /// Parses the whole text as a double as C's strtod does: decimal, hexadecimal or infinite. Rejects blanks, NaN, overflow and
    /// underflow to zero.
    /// </summary>
    public static bool TryParseDouble(ReadOnlySpan<byte> text, out double value) => TryParseDouble(text, saturates: false, out value);

    private static bool TryParseDouble(ReadOnlySpan<byte> text, bool saturates, out double value)
    {
        value = 0;
        if (text.IsEmpty) return false;
        bool negative = text[0] == '-';
        ReadOnlySpan<byte> unsigned = text[0] is (byte)'-' or (byte)'+' ? text[1..] : text;
        if (IsInfinity(unsigned)) value = double.PositiveInfinity;
        else if (HexadecimalText.IsHexadecimal(unsigned))
        {
            if (!HexadecimalText.TryRead(unsigned, out HexadecimalText hexadecimal)) return false;
            if (!hexadecimal.TryRound(out value)) return false;
        }
        else if (!DecimalText.TryRead(unsigned, out DecimalText number) || !TryRound(number, unsigned, saturates, out value))
        {
            return false;
        }
        if (negative) value = -value;
        return true;
    }

    /// <summary>Parses a double where Redis is less strict: an empty text is zero, and blanks may precede the number.</summary>
    /// <param name="text">The text.</param>
    /// <param name="value">The number.</param>
    /// <param name="saturates">Whether a number that is too large is infinite, and one that is too small zero. They are refused otherwise.</param>
    public static bool TryParseLooseDouble(ReadOnlySpan<byte> text, out double value, bool saturates = false)
    {
        value = 0;
        return text.IsEmpty || TryParseDouble(text.TrimStart(" \t\n\v\f\r"u8), saturates, out value);
    }

    internal static bool IsInfinity(ReadOnlySpan<byte> unsigned) =>
        !unsigned.IsEmpty && (unsigned[0] | 0x20) == 'i'
        && (Ascii.EqualsIgnoreCase(unsigned, "inf"u8) || Ascii.EqualsIgnoreCase(unsigned, "infinity"u8));

    /// <summary>Rounds to the nearest double. Returns false on overflow to infinity and on underflow to zero, unless they are wanted.</summary>
    private static bool TryRound(DecimalText number, ReadOnlySpan<byte> text, bool saturates, out double value)
    {
        // Both operands are exact doubles, so their quotient or product is rounded only once.
        if (number.IsSmall && number.Small <= 1UL << 53)
        {
            double ten = ExactTens[Math.Abs(number.Power)];
            value = number.Power < 0 ? number.Small / ten : number.Small * ten;
            return true;
        }
        const NumberStyles style = NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent;
        return double.TryParse(text, style, CultureInfo.InvariantCulture, out value)
            && (saturates || double.IsFinite(value) && (value != 0 || number.IsZero));
    }

    private static readonly double[] ExactTens =
        [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19];

    /// <summary>
    /// Writes a double as Redis replies do: an integer without exponent as long as it is exact, any other number with its short
    /// digits, and with an exponent only if the point would be far from them. Returns the length.
    /// </summary>
    public static int FormatDouble(double value, Span<byte> target)
    {
        if (!double.IsFinite(value)) return FormatSpecial(value, target);
        if (value == 0) return Copy(double.IsNegative(value) ? "-0"u8 : "0"u8, target);
        // Up to 2^62, as in Redis. A double beyond 2^53 is always an integer, but it may print more digits than are exact.
        if (Math.Abs(value) <= 1L << 62 && (long)value == value) return WriteInt64((long)value, target);

        int sign = value < 0 ? 1 : 0;
        if (sign == 1) target[0] = (byte)'-';
        Span<byte> digits = stackalloc byte[ShortDigits.MaxDigits];
        int count = ShortDigits.Generate(Math.Abs(value), digits, out int power);
        return sign + PlacePoint(digits[..count], power, target[sign..]);
    }

    /// <summary>Writes a double like C's %.{precision}g. ZSCAN shows the scores of a large sorted set this way.</summary>
    public static int FormatGeneral(double value, int precision, Span<byte> target)
    {
        if (!double.IsFinite(value)) return FormatSpecial(value, target);
        if (value == 0) return Copy(double.IsNegative(value) ? "-0"u8 : "0"u8, target);
        int sign = value < 0 ? 1 : 0;
        if (sign == 1) target[0] = (byte)'-';
        Span<byte> digits = stackalloc byte[precision + 1];
        int count = RoundedDigits(Math.Abs(value), precision, digits, out int exponent);
        return sign + PlaceGeneral(digits[..count], exponent, precision, target[sign..]);
    }

    /// <summary>
    /// Writes a double with a fixed number of decimals, scaled and then rounded half to even. For GEODIST and similar commands.
    /// </summary>
    public static int FormatFixed(double value, int decimals, Span<byte> target)
    {
        long scale = 1;
        for (int i = 0; i < decimals; i++) scale *= 10;
        double scaled = Math.Round(value * scale, MidpointRounding.ToEven);
        int at = 0;
        ulong magnitude = (ulong)Math.Abs(scaled);
        if (scaled < 0) target[at++] = (byte)'-';
        (ulong whole, ulong rest) = Math.DivRem(magnitude, (ulong)scale);
        at += WriteInt64((long)whole, target[at..]);
        target[at] = (byte)'.';
        for (int i = decimals; i > 0; i--)
        {
            target[at + i] = (byte)('0' + (rest % 10));
            rest /= 10;
        }
        return at + 1 + decimals;
    }

    private static int FormatSpecial(double value, Span<byte> target) =>
        Copy(double.IsNaN(value) ? "nan"u8 : value > 0 ? "inf"u8 : "-inf"u8, target);

    private static int Copy(ReadOnlySpan<byte> text, Span<byte> target)
    {
        text.CopyTo(target);
        return text.Length;
    }

    /// <summary>Writes digits * 10^power in the most readable form: plain, with a point, or with an exponent.</summary>
    private static int PlacePoint(ReadOnlySpan<byte> digits, int power, Span<byte> target)
    {
        int exponent = power + digits.Length - 1;
        if (power >= 0 && Math.Abs(exponent) < digits.Length + 7)
        {
            digits.CopyTo(target);
            target.Slice(digits.Length, power).Fill((byte)'0');
            return digits.Length + power;
        }
        if (power < 0 && (power > -7 || Math.Abs(exponent) < 4)) return PutDecimal(digits, exponent, target);
        return PutScientific(digits, exponent, 1, target);
    }

    private static int PlaceGeneral(ReadOnlySpan<byte> digits, int exponent, int precision, Span<byte> target)
    {
        if (exponent < -4 || exponent >= precision) return PutScientific(digits, exponent, 2, target);
        if (exponent < digits.Length - 1) return PutDecimal(digits, exponent, target);
        digits.CopyTo(target);
        target[digits.Length..(exponent + 1)].Fill((byte)'0');
        return exponent + 1;
    }

    /// <summary>Writes digits with a point among or before them.</summary>
    private static int PutDecimal(ReadOnlySpan<byte> digits, int exponent, Span<byte> target)
    {
        if (exponent < 0)
        {
            int zeros = -exponent - 1;
            "0."u8.CopyTo(target);
            target.Slice(2, zeros).Fill((byte)'0');
            digits.CopyTo(target[(2 + zeros)..]);
            return 2 + zeros + digits.Length;
        }
        digits[..(exponent + 1)].CopyTo(target);
        target[exponent + 1] = (byte)'.';
        digits[(exponent + 1)..].CopyTo(target[(exponent + 2)..]);
        return digits.Length + 1;
    }

    private static int PutScientific(ReadOnlySpan<byte> digits, int exponent, int minExponentDigits, Span<byte> target)
    {
        int at = digits.Length > 1 ? PutDecimal(digits, 0, target) : Copy(digits, target);
        target[at++] = (byte)'e';
        target[at++] = exponent < 0 ? (byte)'-' : (byte)'+';
        exponent = Math.Abs(exponent);
        if (exponent < 10 && minExponentDigits > 1) target[at++] = (byte)'0';
        return at + WriteInt64(exponent, target[at..]);
    }

    /// <summary>
    /// Rounds to <paramref name="precision"/> digits, half to even as in C (the library rounds half up), without trailing zeros.
    /// Starts from 60 exact digits, so a tie is always detected.
    /// </summary>
    private static int RoundedDigits(double value, int precision, Span<byte> digits, out int exponent)
    {
        const int exactDigits = 60;
        Span<byte> text = stackalloc byte[exactDigits + 16];
        value.TryFormat(text, out int length, "E60", CultureInfo.InvariantCulture);
        int e = text.IndexOf((byte)'E');
        exponent = int.Parse(text[(e + 1)..length], NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);
        Span<byte> exact = stackalloc byte[exactDigits + 1];
        exact[0] = text[0];
        text[2..e].CopyTo(exact[1..]);

        exact[..precision].CopyTo(digits);
        int count = precision;
        ReadOnlySpan<byte> rest = exact[precision..];
        bool tie = rest[0] == '5' && rest[1..].IndexOfAnyExcept((byte)'0') < 0;
        if (tie ? (digits[count - 1] & 1) != 0 : rest[0] >= '5')
        {
            while (count > 0 && digits[count - 1] == '9') count--;
            if (count > 0) digits[count - 1]++;
            else
            {
                digits[count++] = (byte)'1';
                exponent++;
            }
        }
        return digits[..count].LastIndexOfAnyExcept((byte)'0') + 1;
    }
}
