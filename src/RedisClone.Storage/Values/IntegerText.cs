using System.Globalization;

namespace RedisClone.Storage.Values;

/// <summary>
/// The canonical decimal text of 64-bit integers. Only canonical text may be stored as a number, because reading must return the
/// same bytes.
/// </summary>
public static class IntegerText
{
    public const int MaxLength = 20;

    /// <summary>
    /// True for "0", "-1", "9223372036854775807"; false for "007", "+1", "-0", " 1" and for integers of more than 64 bits.
    /// </summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out long value)
    {
        value = 0;
        if (text.Length is 0 or > MaxLength) return false;
        bool negative = text[0] == '-';
        int at = negative ? 1 : 0;
        if (at == text.Length) return false;
        if (text[at] == '0') return text.Length == 1;

        ulong magnitude = 0;
        for (; at < text.Length; at++)
        {
            uint digit = (uint)(text[at] - '0');
            // 19 digits cannot overflow 64 bits, and the twentieth character can only be a sign.
            if (digit > 9 || magnitude > (ulong)long.MaxValue / 10) return false;
            magnitude = magnitude * 10 + digit;
        }
        if (magnitude > (ulong)long.MaxValue + (negative ? 1u : 0u)) return false;
        value = negative ? (long)(0 - magnitude) : (long)magnitude;
        return true;
    }

    /// <summary>Writes the text of an integer to a span of at least <see cref="MaxLength"/> bytes. Returns its length.</summary>
    public static int Format(long value, Span<byte> into)
    {
        value.TryFormat(into, out int written, provider: CultureInfo.InvariantCulture);
        return written;
    }

    public static int LengthOf(long value)
    {
        int length = value < 0 ? 2 : 1;
        for (ulong rest = value < 0 ? 0 - (ulong)value : (ulong)value; rest >= 10; rest /= 10) length++;
        return length;
    }
}
