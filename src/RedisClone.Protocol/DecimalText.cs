using System.Globalization;
using System.Numerics;

namespace RedisClone.Protocol;

/// <summary>An unsigned decimal number in C syntax: digits with at most one point, then an optional exponent.</summary>
internal readonly struct DecimalText
{
    private const int SmallDigits = 19;
    private const int SmallPower = 19;

    private readonly int _length;
    private readonly int _significantDigits;

    private DecimalText(int length, int significantDigits, ulong small, long power)
    {
        _length = length;
        _significantDigits = significantDigits;
        Small = small;
        Power = (int)Math.Clamp(power, int.MinValue / 2, int.MaxValue / 2);
    }

    /// <summary>The digits, if they fit. The number is the digits times 10^<see cref="Power"/>.</summary>
    public ulong Small { get; }

    public int Power { get; }

    public bool IsSmall => _significantDigits <= SmallDigits && Math.Abs(Power) <= SmallPower;

    public bool IsZero => _significantDigits == 0;

    public static bool TryRead(ReadOnlySpan<byte> text, out DecimalText number)
    {
        int digits = 0;
        int significant = 0;
        int behindPoint = 0;
        bool point = false;
        ulong small = 0;
        int i = 0;
        for (; i < text.Length; i++)
        {
            byte c = text[i];
            if (c == '.' && !point)
            {
                point = true;
                continue;
            }
            uint digit = (uint)c - '0';
            if (digit > 9) break;
            digits++;
            if (point) behindPoint++;
            if (significant == 0 && digit == 0) continue;
            if (++significant <= SmallDigits) small = small * 10 + digit;
        }
        number = default;
        if (digits == 0) return false;
        int length = i;
        long exponent = 0;
        if (i < text.Length && !TryReadExponent(text[i..], out exponent)) return false;
        number = new DecimalText(length, significant, small, exponent - behindPoint);
        return true;
    }

    /// <summary>All digits of the number. <paramref name="text"/> is the text that it was read from.</summary>
    public BigInteger Digits(ReadOnlySpan<byte> text)
    {
        Span<char> digits = stackalloc char[_length];
        int count = 0;
        foreach (byte c in text[.._length])
        {
            if (c != '.') digits[count++] = (char)c;
        }
        return BigInteger.Parse(digits[..count], NumberStyles.None, CultureInfo.InvariantCulture);
    }

    /// <summary>Reads an exponent that is all of the text: e, an optional sign, digits. Caps its magnitude.</summary>
    private static bool TryReadExponent(ReadOnlySpan<byte> text, out long exponent)
    {
        exponent = 0;
        if ((text[0] | 0x20) != 'e') return false;
        text = text[1..];
        bool negative = !text.IsEmpty && text[0] == '-';
        if (!text.IsEmpty && text[0] is (byte)'-' or (byte)'+') text = text[1..];
        if (text.IsEmpty) return false;
        foreach (byte c in text)
        {
            uint digit = (uint)c - '0';
            if (digit > 9) return false;
            if (exponent < 1_000_000_000) exponent = exponent * 10 + digit;
        }
        if (negative) exponent = -exponent;
        return true;
    }
}
