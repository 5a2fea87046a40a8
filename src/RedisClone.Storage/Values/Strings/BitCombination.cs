using System.Numerics;

namespace RedisClone.Storage.Values.Strings;

/// <summary>The operations of BITOP.</summary>
public enum BitOperation : byte
{
    And,
    Or,
    Xor,
    Not,

    /// <summary>Bits in the first source and in none of the others.</summary>
    Diff,

    /// <summary>Bits in at least one of the other sources and not in the first.</summary>
    Diff1,

    /// <summary>Bits in the first source and in at least one of the others.</summary>
    AndOr,

    /// <summary>Bits in exactly one source.</summary>
    One,
}

/// <summary>
/// Combines any number of bitmaps, one after the other, into one as long as the longest. Shorter ones are padded with zeros.
/// </summary>
/// <param name="operation">The operation.</param>
/// <param name="result">The result buffer: as long as the longest source, filled with zeros.</param>
/// <param name="spare">A second buffer like the result, if <see cref="NeedsSpare"/>.</param>
public ref struct BitCombination(BitOperation operation, Span<byte> result, Span<byte> spare)
{
    private readonly Span<byte> _result = result;
    private readonly Span<byte> _spare = spare;
    private bool _begun;

    public static bool NeedsSpare(BitOperation operation) => operation >= BitOperation.Diff;

    public void Add(scoped ReadOnlySpan<byte> source)
    {
        bool first = !_begun;
        _begun = true;
        switch (operation)
        {
            case BitOperation.And when !first:
                Combine<AndBits>(_result, source);
                _result[source.Length..].Clear();
                break;
            case BitOperation.Or or BitOperation.Xor or BitOperation.And or BitOperation.Not when first:
                source.CopyTo(_result);
                break;
            case BitOperation.Xor:
                Combine<XorBits>(_result, source);
                break;
            case BitOperation.One:
                // The spare bitmap has the bits that occurred more than once.
                CombineTwice(_result, _spare, source);
                break;
            case BitOperation.Diff or BitOperation.Diff1 or BitOperation.AndOr when first:
                source.CopyTo(_spare);
                break;
            default:
                Combine<OrBits>(_result, source);
                break;
        }
    }

    /// <summary>Completes the result. Called once, after the last source.</summary>
    public readonly void Finish()
    {
        switch (operation)
        {
            case BitOperation.Not: Invert(_result); break;
            case BitOperation.Diff: Combine<OnlyOtherBits>(_result, _spare); break;
            case BitOperation.Diff1 or BitOperation.One: Combine<OnlyOwnBits>(_result, _spare); break;
            case BitOperation.AndOr: Combine<AndBits>(_result, _spare); break;
        }
    }

    private static void Combine<TOperator>(Span<byte> into, ReadOnlySpan<byte> with) where TOperator : struct, IBitOperator
    {
        int i = 0;
        for (; i + Vector<byte>.Count <= with.Length; i += Vector<byte>.Count)
            TOperator.Apply(new Vector<byte>(into[i..]), new Vector<byte>(with[i..])).CopyTo(into[i..]);
        for (; i < with.Length; i++) into[i] = TOperator.Apply(into[i], with[i]);
    }

    private static void CombineTwice(Span<byte> once, Span<byte> twice, ReadOnlySpan<byte> with)
    {
        int i = 0;
        for (; i + Vector<byte>.Count <= with.Length; i += Vector<byte>.Count)
        {
            Vector<byte> seen = new(once[i..]), next = new(with[i..]);
            (new Vector<byte>(twice[i..]) | (seen & next)).CopyTo(twice[i..]);
            (seen | next).CopyTo(once[i..]);
        }
        for (; i < with.Length; i++)
        {
            twice[i] |= (byte)(once[i] & with[i]);
            once[i] |= with[i];
        }
    }

    private static void Invert(Span<byte> bits)
    {
        int i = 0;
        for (; i + Vector<byte>.Count <= bits.Length; i += Vector<byte>.Count) (~new Vector<byte>(bits[i..])).CopyTo(bits[i..]);
        for (; i < bits.Length; i++) bits[i] = (byte)~bits[i];
    }

    private interface IBitOperator
    {
        static abstract Vector<byte> Apply(Vector<byte> own, Vector<byte> other);

        static abstract byte Apply(byte own, byte other);
    }

    private readonly struct AndBits : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> own, Vector<byte> other) => own & other;

        public static byte Apply(byte own, byte other) => (byte)(own & other);
    }

    private readonly struct OrBits : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> own, Vector<byte> other) => own | other;

        public static byte Apply(byte own, byte other) => (byte)(own | other);
    }

    private readonly struct XorBits : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> own, Vector<byte> other) => own ^ other;

        public static byte Apply(byte own, byte other) => (byte)(own ^ other);
    }

    private readonly struct OnlyOwnBits : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> own, Vector<byte> other) => Vector.AndNot(own, other);

        public static byte Apply(byte own, byte other) => (byte)(own & ~other);
    }

    private readonly struct OnlyOtherBits : IBitOperator
    {
        public static Vector<byte> Apply(Vector<byte> own, Vector<byte> other) => Vector.AndNot(other, own);

        public static byte Apply(byte own, byte other) => (byte)(other & ~own);
    }
}
