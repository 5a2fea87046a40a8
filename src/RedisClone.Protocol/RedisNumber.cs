using System.Globalization;
using System.Text;

namespace RedisClone.Protocol;

/// <summary>Numbers as text, by Redis's rules: which texts are numbers, and how numbers are written.</summary>
public static class RedisNumber
{
    /// <summary>The longest 64-bit integer: -9223372036854775808.</summary>
    public const int MaxInt64Length = 20;

    /// <summary>The longest text of a double: -1.2345678901234567e-308.</summary>
    public const int MaxDoubleLength = 32;

    /// <summary>
    /// A 64-bit integer in its one canonical form: no blanks, no plus sign, no leading zeros, no -0.
    /// </summary>
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
            // Twenty digits can pass 2^64 once; 19 never do.
            if (sum > (ulong.MaxValue - digit) / 10) return false;
            sum = sum * 10 + digit;
        }
        if (sum > (ulong)long.MaxValue + (negative ? 1u : 0u)) return false;
        value = negative ? (long)(0 - sum) : (long)sum;
        return true;
    }

    /// <summary>Writes the decimal digits; returns how many bytes.</summary>
    public static int WriteInt64(long value, Span<byte> target)
    {
        value.TryFormat(target, out int written, default, CultureInfo.InvariantCulture);
        return written;
    }

    /// <summary>
    /// A double as C's strtod reads it, all of the text being used up: decimal, hexadecimal or infinite, neither blank nor
    /// NaN, and neither too large nor too small to be told from zero.
    /// </summary>
    public static bool TryParseDouble(ReadOnlySpan<byte> text, out double value)
    {
        value = 0;
        if (text.IsEmpty) return false;
        ReadOnlySpan<byte> digits = text[0] is (byte)'-' or (byte)'+' ? text[1..] : text;
        if (digits.IsEmpty) return false;
        if (!char.IsAsciiDigit((char)digits[0]) && digits[0] != '.')
        {
            if (!IsInfinity(digits)) return false;
            value = text[0] == '-' ? double.NegativeInfinity : double.PositiveInfinity;
            return true;
        }
        // The library would take zero bytes at the end for blanks.
        if (text[^1] == 0) return false;
        const NumberStyles style = NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent;
        return double.TryParse(text, style, CultureInfo.InvariantCulture, out value)
            && !double.IsInfinity(value)
            && (value != 0 || IsZero(digits));
    }

    public static bool IsInfinity(ReadOnlySpan<byte> unsigned) =>
        Ascii.EqualsIgnoreCase(unsigned, "inf"u8) || Ascii.EqualsIgnoreCase(unsigned, "infinity"u8);

    /// <summary>The digits before the exponent are all zero.</summary>
    private static bool IsZero(ReadOnlySpan<byte> digits)
    {
        int first = digits.IndexOfAnyExcept((byte)'0', (byte)'.');
        return first < 0 || (digits[first] | 0x20) == 'e';
    }

    /// <summary>Writes the shortest text that reads back as the same double, in the form of Redis's replies.</summary>
    public static int FormatDouble(double value, Span<byte> target)
    {
        value.TryFormat(target, out int written, default, CultureInfo.InvariantCulture);
        return written;
    }
}
