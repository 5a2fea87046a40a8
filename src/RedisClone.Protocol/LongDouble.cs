using System.Globalization;
using System.Numerics;
using System.Text.Unicode;

namespace RedisClone.Protocol;

/// <summary>
/// The 80-bit floating-point number that Redis on x86-64 uses for INCRBYFLOAT and HINCRBYFLOAT, in integer arithmetic: 64 bits of
/// significand, rounded to nearest even. Parsing, addition and formatting give the same text as in Redis. Gradual underflow below
/// 1e-4932 is not modelled, because 17 decimals cannot show it.
/// </summary>
public readonly record struct LongDouble : IComparable<LongDouble>
{
    /// <summary>The longest text: 4933 digits before the point, 17 after it, and the sign.</summary>
    public const int MaxLength = 5 * 1024;

    private const int MaxExponent = 16383 - 63;
    private const int MinExponent = -16446 - 63;
    private const int Decimals = 17;

    private static readonly UInt128 DecimalsPower = 100_000_000_000_000_000;

    private readonly bool _negative;
    private readonly bool _infinite;

    // The value is _significand * 2^_exponent. The top bit of a significand other than zero is set.
    private readonly ulong _significand;
    private readonly int _exponent;

    private LongDouble(bool negative, ulong significand, int exponent)
    {
        _negative = negative;
        _significand = significand;
        _exponent = exponent;
        _infinite = significand != 0 && exponent > MaxExponent;
    }

    /// <summary>The largest finite number.</summary>
    public static LongDouble MaxValue { get; } = new(false, ulong.MaxValue, MaxExponent);

    /// <summary>Whether a sum is infinite or not a number. INCRBYFLOAT refuses both.</summary>
    public bool IsInfinity => _infinite;

    private int Sign => _significand == 0 ? 0 : _negative ? -1 : 1;

    public static LongDouble FromInt64(long value) => Round(value < 0, value < 0 ? 0 - (ulong)value : (ulong)value, false, 0);

    public static LongDouble FromDouble(double value)
    {
        bool negative = double.IsNegative(value);
        if (!double.IsFinite(value)) return new LongDouble(negative, 1UL << 63, MaxExponent + 1);
        ulong bits = BitConverter.DoubleToUInt64Bits(value);
        ulong fraction = bits & ((1UL << 52) - 1);
        int exponent = (int)(bits >> 52) & 0x7FF;
        if (exponent > 0) fraction |= 1UL << 52;
        return Round(negative, fraction, false, Math.Max(exponent, 1) - 1075);
    }

    /// <summary>Parses the whole text as C's strtold does. Rejects blanks, NaN and numbers out of range.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out LongDouble value)
    {
        value = default;
        if (text.IsEmpty || text.Length >= MaxLength) return false;
        bool negative = text[0] == '-';
        ReadOnlySpan<byte> rest = text[0] is (byte)'-' or (byte)'+' ? text[1..] : text;
        if (RedisNumber.IsInfinity(rest))
        {
            value = new LongDouble(negative, 1UL << 63, MaxExponent + 1);
            return true;
        }
        bool isZero;
        if (HexadecimalText.IsHexadecimal(rest))
        {
            if (!HexadecimalText.TryRead(rest, out HexadecimalText hexadecimal)) return false;
            value = Round(negative, hexadecimal.Bits, hexadecimal.HasMore, hexadecimal.Exponent);
            isZero = hexadecimal.Bits == 0;
        }
        else
        {
            if (!DecimalText.TryRead(rest, out DecimalText number)) return false;
            value = number.IsSmall
                ? FromSmall(negative, number.Small, number.Power)
                : FromLarge(negative, number.Digits(rest), number.Power);
            isZero = number.IsZero;
        }
        return !value._infinite && (value._significand != 0 ? value._exponent > MinExponent : isZero);
    }

    public static LongDouble operator +(LongDouble left, LongDouble right) => Add(left, right);

    public static LongDouble operator -(LongDouble left, LongDouble right) => Add(left, Negate(right));

    public static LongDouble Subtract(LongDouble left, LongDouble right) => left - right;

    public static LongDouble operator -(LongDouble value) => Negate(value);

    public static LongDouble Negate(LongDouble value) => new(!value._negative, value._significand, value._exponent);

    public static bool operator <(LongDouble left, LongDouble right) => left.CompareTo(right) < 0;

    public static bool operator >(LongDouble left, LongDouble right) => left.CompareTo(right) > 0;

    public static bool operator <=(LongDouble left, LongDouble right) => left.CompareTo(right) <= 0;

    public static bool operator >=(LongDouble left, LongDouble right) => left.CompareTo(right) >= 0;

    public int CompareTo(LongDouble other)
    {
        if (Sign != other.Sign) return Sign.CompareTo(other.Sign);
        return Sign < 0 ? CompareMagnitudes(other, this) : CompareMagnitudes(this, other);
    }

    public static LongDouble Add(LongDouble left, LongDouble right)
    {
        if (left._infinite || right._infinite) return left._infinite ? left : right;
        if (left._significand == 0) return right;
        if (right._significand == 0) return left;
        if (left._exponent < right._exponent) (left, right) = (right, left);

        // Keeps 62 bits below the last bit of the larger number. Of the bits shifted out, only whether any is set matters.
        const int guard = 62;
        int distance = Math.Min(left._exponent - right._exponent, 127);
        UInt128 a = (UInt128)left._significand << guard;
        UInt128 b = (UInt128)right._significand << guard;
        bool sticky = distance > 0 && b << (128 - distance) != 0;
        b >>= distance;
        if (sticky) b |= 1;
        int exponent = left._exponent - guard;
        if (left._negative == right._negative) return Round(left._negative, a + b, false, exponent);
        return a >= b ? Round(left._negative && a != b, a - b, false, exponent) : Round(right._negative, b - a, false, exponent);
    }

    /// <summary>
    /// Writes at most 17 decimals, rounded half to even, without trailing zeros (%.17Lf trimmed). Returns the length.
    /// </summary>
    public int Format(Span<byte> target)
    {
        if (_significand == 0)
        {
            target[0] = (byte)'0';
            return 1;
        }
        int at = 0;
        if (_negative) target[at++] = (byte)'-';
        if (_infinite)
        {
            "inf"u8.CopyTo(target[at..]);
            return at + 3;
        }
        if (_exponent >= 0)
        {
            BigInteger shifted = new BigInteger(_significand) << _exponent;
            Utf8.TryWrite(target[at..], CultureInfo.InvariantCulture, $"{shifted}", out int digits);
            return at + digits;
        }

        int shift = -_exponent;
        ulong whole = shift < 64 ? _significand >> shift : 0;
        ulong decimals = FractionDigits(shift < 64 ? _significand & ((1UL << shift) - 1) : _significand, shift);
        if (decimals == DecimalsPower)
        {
            whole++;
            decimals = 0;
        }
        if (whole == 0 && decimals == 0)
        {
            target[0] = (byte)'0';
            return 1;
        }
        whole.TryFormat(target[at..], out int written, default, CultureInfo.InvariantCulture);
        at += written;
        return decimals == 0 ? at : at + WriteDecimals(decimals, target[at..]);
    }

    private static int CompareMagnitudes(LongDouble left, LongDouble right)
    {
        if (left._significand == 0) return 0;
        if (left._infinite || right._infinite) return left._infinite.CompareTo(right._infinite);
        return left._exponent != right._exponent
            ? left._exponent.CompareTo(right._exponent)
            : left._significand.CompareTo(right._significand);
    }

    /// <summary>Computes fraction * 2^-shift in units of the last decimal, rounded half to even.</summary>
    private static ulong FractionDigits(ulong fraction, int shift)
    {
        if (shift >= 128) return 0;
        UInt128 scaled = fraction * DecimalsPower;
        UInt128 digits = scaled >> shift;
        UInt128 rest = scaled - (digits << shift);
        UInt128 half = UInt128.One << (shift - 1);
        if (rest > half || (rest == half && UInt128.IsOddInteger(digits))) digits++;
        return (ulong)digits;
    }

    private static int WriteDecimals(ulong decimals, Span<byte> target)
    {
        target[0] = (byte)'.';
        for (int i = Decimals; i > 0; i--)
        {
            target[i] = (byte)('0' + (decimals % 10));
            decimals /= 10;
        }
        return target[..(Decimals + 1)].LastIndexOfAnyExcept((byte)'0') + 1;
    }

    /// <summary>Computes digits * 10^power. Both the digits and the power of ten fit 64 bits.</summary>
    private static LongDouble FromSmall(bool negative, ulong digits, int power)
    {
        if (digits == 0) return new LongDouble(negative, 0, 0);
        ulong ten = 1;
        for (int i = Math.Abs(power); i > 0; i--) ten *= 10;
        if (power >= 0) return Round(negative, (UInt128)digits * ten, false, 0);

        int up = BitOperations.LeadingZeroCount(digits);
        UInt128 dividend = (UInt128)(digits << up) << 64;
        (UInt128 quotient, UInt128 rest) = UInt128.DivRem(dividend, ten);
        // If the power of ten is large, the quotient has too few bits to round. Three more bits come from the remainder.
        UInt128 more = (rest << 3) / ten;
        bool exact = more * ten == rest << 3;
        if (quotient >> 120 == 0) return Round(negative, (quotient << 3) | more, !exact, -64 - up - 3);
        return Round(negative, quotient, rest != 0, -64 - up);
    }

    private static LongDouble FromLarge(bool negative, BigInteger digits, long power)
    {
        if (digits.IsZero) return new LongDouble(negative, 0, 0);
        // Far out of range, there is no need to compute the power.
        double magnitude = BigInteger.Log10(digits) + power;
        if (magnitude > 5000) return new LongDouble(negative, 1UL << 63, MaxExponent + 1);
        if (magnitude < -5000) return new LongDouble(negative, 0, 0);

        BigInteger dividend = power >= 0 ? digits * BigInteger.Pow(10, (int)power) : digits;
        BigInteger divisor = power >= 0 ? BigInteger.One : BigInteger.Pow(10, (int)-power);
        int shift = 100 - (int)(dividend.GetBitLength() - divisor.GetBitLength());
        if (shift >= 0) dividend <<= shift;
        else divisor <<= -shift;
        BigInteger quotient = BigInteger.DivRem(dividend, divisor, out BigInteger rest);
        return Round(negative, (UInt128)quotient, !rest.IsZero, -shift);
    }

    /// <summary>
    /// Rounds (bits + a little, if sticky) * 2^exponent to 64 bits, half to even. If the number is not exact, it must have at
    /// least 66 bits.
    /// </summary>
    private static LongDouble Round(bool negative, UInt128 bits, bool sticky, int exponent)
    {
        if (bits == 0) return new LongDouble(negative, 0, 0);
        int surplus = 64 - (int)UInt128.LeadingZeroCount(bits);
        if (surplus <= 0) return new LongDouble(negative, (ulong)(bits << -surplus), exponent + surplus);
        ulong significand = (ulong)(bits >> surplus);
        UInt128 rest = bits - ((UInt128)significand << surplus);
        UInt128 half = UInt128.One << (surplus - 1);
        bool up = rest > half || (rest == half && (sticky || (significand & 1) != 0));
        exponent += surplus;
        if (up && ++significand == 0)
        {
            significand = 1UL << 63;
            exponent++;
        }
        return new LongDouble(negative, significand, exponent);
    }
}
