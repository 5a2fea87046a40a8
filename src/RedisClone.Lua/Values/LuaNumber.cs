using System.Globalization;

namespace RedisClone.Lua.Values;

/// <summary>Converts numbers to and from text and to C integers, like the C library that Lua 5.1 uses.</summary>
internal static class LuaNumber
{
    /// <summary>The maximum length of a number in <c>%.14g</c>.</summary>
    public const int MaxText = 32;

    private const double TwoTo63 = 9223372036854775808.0;

    /// <summary>
    /// Converts a double to a 64-bit integer like C on x86-64: a value out of range becomes the smallest integer.
    /// </summary>
    public static long ToInt64(double value) => value >= -TwoTo63 && value < TwoTo63 ? (long)value : long.MinValue;

    public static int ToInt32(double value) => (int)ToInt64(value);

    /// <summary>Converts a double to an unsigned 64-bit integer like C: a negative value wraps.</summary>
    public static ulong ToUInt64(double value) =>
        value >= TwoTo63 ? (ulong)ToInt64(value - TwoTo63) ^ (1UL << 63) : (ulong)ToInt64(value);

    /// <summary>
    /// Formats a number as <c>%.14g</c>, the form in which Lua converts numbers to strings. Returns the number of bytes
    /// written.
    /// </summary>
    public static int Format(double value, Span<byte> to)
    {
        const double limit = 1e14;
        if (value > -limit && value < limit && value == Math.Truncate(value) && (value != 0 || !double.IsNegative(value)))
        {
            ((long)value).TryFormat(to, out int written, default, CultureInfo.InvariantCulture);
            return written;
        }
        return NumberText.FormatGeneral(value, 14, alternate: false, upper: false, to);
    }

    public static LuaString ToLuaString(double value)
    {
        if (value >= 0 && value < 10 && value == (int)value && !double.IsNegative(value))
            return LuaString.Single((byte)('0' + (int)value));
        Span<byte> text = stackalloc byte[MaxText];
        return new LuaString(text[..Format(value, text)].ToArray());
    }

    public static bool TryConvert(in LuaValue value, out double number)
    {
        if (value.IsNumber)
        {
            number = value.Number;
            return true;
        }
        if (value.Tag is LuaString s) return TryParse(s.Span, out number);
        number = 0;
        return false;
    }

    /// <summary>
    /// Parses a whole string as a number with optional surrounding blanks. Like a C string, it ends at the first zero
    /// byte.
    /// </summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out double value)
    {
        int end = text.IndexOf((byte)0);
        if (end >= 0) text = text[..end];
        int used = ParsePrefix(text, out value);
        return used > 0 && SkipSpace(text, used) == text.Length;
    }

    /// <summary>The strtod of C. Returns the length of the number, or 0 if there is none.</summary>
    public static int ParsePrefix(ReadOnlySpan<byte> text, out double value)
    {
        value = 0;
        int at = SkipSpace(text, 0);
        if (at == text.Length) return 0;
        int start = at;
        bool negative = text[at] == '-';
        if (negative || text[at] == '+') at++;
        ReadOnlySpan<byte> rest = text[at..];
        int used;
        if (rest.Length > 2 && rest[0] == '0' && (rest[1] | 0x20) == 'x' && (used = ParseHex(rest[2..], out value)) > 0)
        {
            if (negative) value = -value;
            return at + 2 + used;
        }
        if (rest.Length > 0 && (char.IsAsciiDigit((char)rest[0]) || rest[0] == '.'))
        {
            used = ScanDecimal(rest);
            if (used == 0) return 0;
            value = ParseDecimal(text[start..(at + used)]);
            return at + used;
        }
        used = ParseWord(rest, out value);
        if (used == 0) return 0;
        if (negative) value = -value;
        return at + used;
    }

    /// <summary>The strtoul of C. Returns the length of the number in the given base, or 0 if there is none.</summary>
    public static int ParseUnsigned(ReadOnlySpan<byte> text, int radix, out double value)
    {
        value = 0;
        int at = SkipSpace(text, 0);
        if (at == text.Length) return 0;
        bool negative = text[at] == '-';
        if (negative || text[at] == '+') at++;
        if (radix == 16 && text.Length > at + 2 && text[at] == '0' && (text[at + 1] | 0x20) == 'x' && HexDigit(text[at + 2]) < 16)
            at += 2;
        ulong sum = 0;
        bool overflow = false;
        int first = at;
        for (; at < text.Length; at++)
        {
            int digit = HexDigit(text[at]);
            if (digit >= radix) break;
            UInt128 next = ((UInt128)sum * (uint)radix) + (uint)digit;
            overflow |= next > ulong.MaxValue;
            sum = (ulong)next;
        }
        if (at == first) return 0;
        value = overflow ? ulong.MaxValue : negative ? unchecked(0 - sum) : sum;
        return at;
    }

    /// <summary>Returns the value of a digit in any base up to 36, or a large number for another character.</summary>
    public static int HexDigit(byte c) => c switch
    {
        >= (byte)'0' and <= (byte)'9' => c - '0',
        >= (byte)'a' and <= (byte)'z' => c - 'a' + 10,
        >= (byte)'A' and <= (byte)'Z' => c - 'A' + 10,
        _ => int.MaxValue,
    };

    public static int SkipSpace(ReadOnlySpan<byte> text, int at)
    {
        while (at < text.Length && text[at] is (byte)' ' or (>= 9 and <= 13)) at++;
        return at;
    }

    private static int ScanDecimal(ReadOnlySpan<byte> text)
    {
        int at = SkipDigits(text, 0);
        int digits = at;
        if (at < text.Length && text[at] == '.')
        {
            int end = SkipDigits(text, at + 1);
            digits += end - at - 1;
            at = end;
        }
        if (digits == 0) return 0;
        if (at < text.Length && (text[at] | 0x20) == 'e')
        {
            int exponent = at + 1;
            if (exponent < text.Length && text[exponent] is (byte)'+' or (byte)'-') exponent++;
            int end = SkipDigits(text, exponent);
            if (end > exponent) at = end;
        }
        return at;
    }

    private static int SkipDigits(ReadOnlySpan<byte> text, int at)
    {
        while (at < text.Length && char.IsAsciiDigit((char)text[at])) at++;
        return at;
    }

    private static double ParseDecimal(ReadOnlySpan<byte> text)
    {
        // Up to 15 digits are exact in a double. Most numbers in scripts have this form.
        if (text.Length <= 15 && text.IndexOfAnyExceptInRange((byte)'0', (byte)'9') < 0)
        {
            long sum = 0;
            foreach (byte c in text) sum = (sum * 10) + c - '0';
            return sum;
        }
        return double.Parse(text, NumberStyles.Float, CultureInfo.InvariantCulture);
    }

    private static int ParseHex(ReadOnlySpan<byte> text, out double value)
    {
        ulong mantissa = 0;
        int scale = 0, at = 0, digits = 0;
        bool point = false;
        for (; at < text.Length; at++)
        {
            if (text[at] == '.' && !point)
            {
                point = true;
                continue;
            }
            int digit = HexDigit(text[at]);
            if (digit >= 16) break;
            digits++;
            if (mantissa >> 60 == 0)
            {
                mantissa = (mantissa << 4) | (uint)digit;
                if (point) scale -= 4;
            }
            else
            {
                // The mantissa is full. Its lowest bit records whether a nonzero digit was cut, so that rounding
                // remains correct.
                if (digit != 0) mantissa |= 1;
                if (!point) scale += 4;
            }
        }
        value = 0;
        if (digits == 0) return 0;
        if (at < text.Length && (text[at] | 0x20) == 'p')
        {
            int p = at + 1;
            bool negative = p < text.Length && text[p] == '-';
            if (p < text.Length && text[p] is (byte)'+' or (byte)'-') p++;
            int end = SkipDigits(text, p);
            if (end > p)
            {
                int exponent = 0;
                foreach (byte c in text[p..end]) exponent = Math.Min((exponent * 10) + c - '0', 100_000);
                scale += negative ? -exponent : exponent;
                at = end;
            }
        }
        value = Math.ScaleB(mantissa, scale);
        return at;
    }

    private static int ParseWord(ReadOnlySpan<byte> text, out double value)
    {
        value = double.PositiveInfinity;
        if (StartsWith(text, "infinity"u8)) return 8;
        if (StartsWith(text, "inf"u8)) return 3;
        value = 0;
        if (!StartsWith(text, "nan"u8)) return 0;
        value = BitConverter.UInt64BitsToDouble(0x7FF8_0000_0000_0000); // the constant of .NET is a negative NaN
        if (text.Length > 3 && text[3] == '(')
        {
            int at = 4;
            while (at < text.Length && (char.IsAsciiLetterOrDigit((char)text[at]) || text[at] == '_')) at++;
            if (at < text.Length && text[at] == ')') return at + 1;
        }
        return 3;
    }

    private static bool StartsWith(ReadOnlySpan<byte> text, ReadOnlySpan<byte> lower)
    {
        if (text.Length < lower.Length) return false;
        for (int i = 0; i < lower.Length; i++)
        {
            if ((text[i] | 0x20) != lower[i]) return false;
        }
        return true;
    }
}
