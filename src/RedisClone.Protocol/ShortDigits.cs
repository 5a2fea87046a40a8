using System.Numerics;

namespace RedisClone.Protocol;

/// <summary>
/// The decimal digits of a double by Grisu2 (Loitsch, "Printing Floating-Point Numbers Quickly and Accurately with Integers",
/// 2010). They always read back as the same double. In one of some thousand cases they are neither the shortest such digits nor
/// the closest. Redis prints exactly these digits, so the library's formatting, which is always shortest, cannot be used.
/// </summary>
internal static class ShortDigits
{
    public const int MaxDigits = 18;

    private const int FractionBits = 52;
    private const ulong FractionMask = (1UL << FractionBits) - 1;
    private const ulong HiddenBit = 1UL << FractionBits;
    private const int ExponentBias = 1023 + FractionBits;

    // The cached powers of ten, and the required range of the exponent of a scaled boundary.
    private const int FirstPower = -348;
    private const int PowerStep = 8;
    private const int PowerCount = 87;
    private const int MinExponent = -60;
    private const int MaxExponent = -32;

    private static readonly Scaled[] Powers = BuildPowers();
    private static readonly ulong[] Tens = BuildTens();

    /// <summary>The number Fraction * 2^Exponent.</summary>
    private readonly record struct Scaled(ulong Fraction, int Exponent)
    {
        /// <summary>The upper half of the product, rounded.</summary>
        public Scaled Times(Scaled other)
        {
            ulong high = Math.BigMul(Fraction, other.Fraction, out ulong low);
            return new Scaled(high + (low >> 63), Exponent + other.Exponent + 64);
        }

        public Scaled Normalized()
        {
            int shift = BitOperations.LeadingZeroCount(Fraction);
            return new Scaled(Fraction << shift, Exponent - shift);
        }
    }

    /// <summary>
    /// Writes the digits of a positive finite number as characters. The number is the digits times 10^<paramref name="power"/>.
    /// </summary>
    public static int Generate(double value, Span<byte> digits, out int power)
    {
        ulong bits = BitConverter.DoubleToUInt64Bits(value);
        ulong fraction = bits & FractionMask;
        int exponent = (int)(bits >> FractionBits) & 0x7FF;
        Scaled number = exponent == 0
            ? new Scaled(fraction, 1 - ExponentBias)
            : new Scaled(fraction | HiddenBit, exponent - ExponentBias);

        // The boundaries are halfway to the neighbours. Below a power of two, the neighbour is half as far away.
        Scaled upper = new Scaled((number.Fraction << 1) + 1, number.Exponent - 1).Normalized();
        int lowerShift = number.Fraction == HiddenBit ? 2 : 1;
        int lowerExponent = number.Exponent - lowerShift;
        Scaled lower = new(((number.Fraction << lowerShift) - 1) << (lowerExponent - upper.Exponent), upper.Exponent);

        Scaled scale = PowerFor(upper.Exponent, out int tenExponent);
        Scaled middle = number.Normalized().Times(scale);
        upper = upper.Times(scale);
        lower = lower.Times(scale);
        power = -tenExponent;
        return Generate(middle.Fraction, upper.Fraction - 1, lower.Fraction + 1, -upper.Exponent, digits, ref power);
    }

    /// <summary>
    /// Generates digits of <paramref name="upper"/> until the rest is within the interval, then lowers the last one towards
    /// <paramref name="middle"/>. All three have <paramref name="shift"/> bits after the binary point.
    /// </summary>
    private static int Generate(ulong middle, ulong upper, ulong lower, int shift, Span<byte> digits, ref int power)
    {
        ulong toMiddle = upper - middle;
        ulong delta = upper - lower;
        ulong one = 1UL << shift;
        ulong whole = upper >> shift;
        ulong part = upper & (one - 1);
        int count = 0;

        for (int left = 9; left >= 0; left--)
        {
            ulong unit = Tens[left];
            ulong digit = whole / unit;
            whole -= digit * unit;
            if (digit > 0 || count > 0) digits[count++] = (byte)('0' + digit);
            ulong rest = (whole << shift) + part;
            if (rest > delta) continue;
            power += left;
            Lower(ref digits[count - 1], delta, rest, unit << shift, toMiddle);
            return count;
        }

        for (int behind = 1; ; behind++)
        {
            part *= 10;
            delta *= 10;
            ulong digit = part >> shift;
            if (digit > 0 || count > 0) digits[count++] = (byte)('0' + digit);
            part &= one - 1;
            if (part >= delta) continue;
            power -= behind;
            Lower(ref digits[count - 1], delta, part, one, toMiddle * Tens[Math.Min(behind, Tens.Length - 1)]);
            return count;
        }
    }

    private static void Lower(ref byte digit, ulong delta, ulong rest, ulong unit, ulong target)
    {
        while (rest < target && delta - rest >= unit && (rest + unit < target || target - rest > rest + unit - target))
        {
            digit--;
            rest += unit;
        }
    }

    /// <summary>
    /// The cached power that brings the exponent into range. If two powers do, the start of the search decides which one.
    /// </summary>
    private static Scaled PowerFor(int exponent, out int tenExponent)
    {
        const double log10Of2 = 0.30102999566398114;
        int wanted = (int)(-(exponent + PowerCount) * log10Of2);
        int index = (wanted - FirstPower) / PowerStep;
        while (exponent + Powers[index].Exponent + 64 < MinExponent) index++;
        while (exponent + Powers[index].Exponent + 64 > MaxExponent) index--;
        tenExponent = FirstPower + index * PowerStep;
        return Powers[index];
    }

    private static Scaled[] BuildPowers()
    {
        var powers = new Scaled[PowerCount];
        for (int i = 0; i < PowerCount; i++) powers[i] = PowerOfTen(FirstPower + i * PowerStep);
        return powers;
    }

    /// <summary>10^n with 64 bits, rounded to nearest.</summary>
    private static Scaled PowerOfTen(int n)
    {
        BigInteger power = BigInteger.Pow(10, Math.Abs(n));
        int shift = n >= 0 ? 65 - (int)power.GetBitLength() : 65 + (int)power.GetBitLength();
        BigInteger bits = n < 0 ? (BigInteger.One << shift) / power : shift >= 0 ? power << shift : power >> -shift;
        // The number now has 65 or 66 bits. The bits beyond 64 determine the rounding.
        int surplus = (int)bits.GetBitLength() - 64;
        bits = (bits + (BigInteger.One << (surplus - 1))) >> surplus;
        return new Scaled((ulong)bits, surplus - shift);
    }

    private static ulong[] BuildTens()
    {
        ulong[] tens = new ulong[20];
        tens[0] = 1;
        for (int i = 1; i < tens.Length; i++) tens[i] = tens[i - 1] * 10;
        return tens;
    }
}
