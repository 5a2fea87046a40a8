using System.Globalization;

namespace RedisClone.Lua.Values;

/// <summary>
/// The conversions e, f and g of C's printf, without width and sign flags. All requested digits are exact.
/// </summary>
internal static class NumberText
{
    /// <summary>The maximum length of a number in <c>%.99f</c>.</summary>
    public const int MaxText = 448;

    private static readonly string[] s_exponential = [.. Enumerable.Range(0, 100).Select(i => $"E{i}")];
    private static readonly string[] s_fixed = [.. Enumerable.Range(0, 100).Select(i => $"F{i}")];

    /// <summary>Formats a number as <c>%.{precision}g</c>.</summary>
    public static int FormatGeneral(double value, int precision, bool alternate, bool upper, Span<byte> to)
    {
        if (!double.IsFinite(value)) return FormatSpecial(value, upper, to);
        if (precision == 0) precision = 1;
        Span<byte> text = stackalloc byte[128];
        (int digitsAt, int digits, int exponent) = Exponential(value, precision - 1, text);
        Span<byte> mantissa = text.Slice(digitsAt, digits);
        int at = 0;
        if (double.IsNegative(value)) to[at++] = (byte)'-';
        if (!alternate)
        {
            while (mantissa.Length > 1 && mantissa[^1] == '0') mantissa = mantissa[..^1];
        }
        if (exponent < -4 || exponent >= precision)
        {
            to[at++] = mantissa[0];
            if (mantissa.Length > 1 || alternate) to[at++] = (byte)'.';
            mantissa[1..].CopyTo(to[at..]);
            at += mantissa.Length - 1;
            return at + WriteExponent(exponent, upper, to[at..]);
        }
        if (exponent < 0)
        {
            "0."u8.CopyTo(to[at..]);
            at += 2;
            to.Slice(at, -exponent - 1).Fill((byte)'0');
            at += -exponent - 1;
            mantissa.CopyTo(to[at..]);
            return at + mantissa.Length;
        }
        int whole = Math.Min(exponent + 1, mantissa.Length);
        mantissa[..whole].CopyTo(to[at..]);
        at += whole;
        to.Slice(at, exponent + 1 - whole).Fill((byte)'0');
        at += exponent + 1 - whole;
        if (mantissa.Length > whole || alternate) to[at++] = (byte)'.';
        mantissa[whole..].CopyTo(to[at..]);
        return at + mantissa.Length - whole;
    }

    /// <summary>Formats a number as <c>%.{precision}e</c>.</summary>
    public static int FormatExponential(double value, int precision, bool alternate, bool upper, Span<byte> to)
    {
        if (!double.IsFinite(value)) return FormatSpecial(value, upper, to);
        Span<byte> text = stackalloc byte[128];
        (int digitsAt, int digits, int exponent) = Exponential(value, precision, text);
        int at = 0;
        if (double.IsNegative(value)) to[at++] = (byte)'-';
        to[at++] = text[digitsAt];
        if (precision > 0 || alternate) to[at++] = (byte)'.';
        text.Slice(digitsAt + 1, digits - 1).CopyTo(to[at..]);
        at += digits - 1;
        return at + WriteExponent(exponent, upper, to[at..]);
    }

    /// <summary>Formats a number as <c>%.{precision}f</c>.</summary>
    public static int FormatFixed(double value, int precision, bool alternate, Span<byte> to)
    {
        if (!double.IsFinite(value)) return FormatSpecial(value, upper: false, to);
        value.TryFormat(to, out int written, s_fixed[precision], CultureInfo.InvariantCulture);
        if (precision == 0 && alternate) to[written++] = (byte)'.';
        return written;
    }

    private static int FormatSpecial(double value, bool upper, Span<byte> to)
    {
        ReadOnlySpan<byte> word = double.IsNaN(value)
            ? upper ? "-NAN"u8 : "-nan"u8
            : upper ? "-INF"u8 : "-inf"u8;
        if (!double.IsNegative(value)) word = word[1..];
        word.CopyTo(to);
        return word.Length;
    }

    /// <summary>Writes precision + 1 digits. Returns their position and the exponent of the first digit.</summary>
    private static (int DigitsAt, int Digits, int Exponent) Exponential(double value, int precision, Span<byte> text)
    {
        Math.Abs(value).TryFormat(text, out int written, s_exponential[precision], CultureInfo.InvariantCulture);
        int e = text[..written].LastIndexOf((byte)'E');
        int exponent = 0;
        foreach (byte c in text[(e + 2)..written]) exponent = (exponent * 10) + c - '0';
        if (text[e + 1] == '-') exponent = -exponent;
        if (precision > 0) text[1] = text[0]; // overwrites the decimal point
        return precision > 0 ? (1, precision + 1, exponent) : (0, 1, exponent);
    }

    private static int WriteExponent(int exponent, bool upper, Span<byte> to)
    {
        to[0] = (byte)(upper ? 'E' : 'e');
        to[1] = (byte)(exponent < 0 ? '-' : '+');
        int magnitude = Math.Abs(exponent), at = 2;
        if (magnitude >= 100) to[at++] = (byte)('0' + (magnitude / 100));
        to[at++] = (byte)('0' + (magnitude / 10 % 10));
        to[at++] = (byte)('0' + (magnitude % 10));
        return at;
    }
}
