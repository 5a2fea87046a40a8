using System.Buffers;

namespace RedisClone.Protocol;

/// <summary>
/// Redis's glob patterns over bytes: * ? [a-z] [^a] \x. A piece is the part of a pattern between two stars; each element of a
/// piece matches one byte. The first match of a piece is always taken: every later match leaves less text for the next pieces.
/// The last piece must match the end of the text.
/// <para>
/// The work is bounded. The search for a literal piece is linear in the text. Any other piece is compared at each position, and
/// a text that takes more than <see cref="MostSteps"/> steps does not match. Redis takes seconds to days for such a text.
/// </para>
/// <para>
/// The class keeps the peculiarities of Redis. Only the empty pattern matches the empty text; even * does not. A pattern with
/// more than a thousand stars matches nothing. A class may lack its ']'. Bytes in a range are signed, like char in C on x86.
/// </para>
/// </summary>
public static class Glob
{
    private const int MaxStars = 1000;

    /// <summary>The most elements that are compared for one text. Every byte of a class counts.</summary>
    private const long MostSteps = 1L << 26;

    /// <summary>
    /// Up to this product of the lengths of a literal piece and of the text, the vectorized search is the faster one for any
    /// content.
    /// </summary>
    private const long PlainSearch = 1L << 16;

    public static bool Matches(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase = false)
    {
        if (text.IsEmpty) return pattern.IsEmpty;
        int p = 0;
        int t = 0;
        for (; p < pattern.Length && pattern[p] != '*'; t++)
            if (t == text.Length || !MatchesOne(pattern, ref p, text[t], ignoreCase)) return false;
        if (p == pattern.Length) return t == text.Length;
        return MatchesPieces(pattern[p..], text[t..], ignoreCase);
    }

    /// <summary>Matches a pattern that begins with a star.</summary>
    private static bool MatchesPieces(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase)
    {
        long steps = MostSteps;
        int p = 0;
        for (int stars = 1; ; stars++)
        {
            while (p < pattern.Length && pattern[p] == '*') p++;
            if (p == pattern.Length) return true;
            if (stars > MaxStars) return false;
            Piece piece = Piece.At(pattern, p, text.Length);
            if (piece.Elements > text.Length) return false;
            if (piece.End == pattern.Length) return MatchesAt(pattern, p, text[^piece.Elements..], ignoreCase, ref steps);
            ReadOnlySpan<byte> bytes = pattern[p..piece.End];
            int found = piece.IsLiteral && !ignoreCase
                ? FindLiteral(bytes, text)
                : Find(bytes, piece.Elements, text, ignoreCase, ref steps);
            if (found < 0) return false;
            text = text[(found + piece.Elements)..];
            p = piece.End;
        }
    }

    /// <summary>Whether the elements from <paramref name="p"/> on match the whole text. Their number is its length.</summary>
    private static bool MatchesAt(ReadOnlySpan<byte> pattern, int p, ReadOnlySpan<byte> text, bool ignoreCase, ref long steps)
    {
        int from = p;
        foreach (byte c in text)
        {
            if (MatchesOne(pattern, ref p, c, ignoreCase)) continue;
            steps -= p - from;
            return false;
        }
        return true;
    }

    private static int Find(ReadOnlySpan<byte> piece, int elements, ReadOnlySpan<byte> text, bool ignoreCase, ref long steps)
    {
        for (int at = 0; at <= text.Length - elements && steps > 0; at++)
            if (MatchesAt(piece, 0, text.Slice(at, elements), ignoreCase, ref steps)) return at;
        return -1;
    }

    private static int FindLiteral(ReadOnlySpan<byte> piece, ReadOnlySpan<byte> text) =>
        (long)piece.Length * text.Length <= PlainSearch ? text.IndexOf(piece) : FindByBorders(piece, text);

    /// <summary>The algorithm of Knuth, Morris and Pratt: never goes back in the text.</summary>
    private static int FindByBorders(ReadOnlySpan<byte> piece, ReadOnlySpan<byte> text)
    {
        int[] borders = ArrayPool<int>.Shared.Rent(piece.Length);
        borders[0] = 0;
        for (int i = 1, matched = 0; i < piece.Length; i++)
        {
            while (matched > 0 && piece[i] != piece[matched]) matched = borders[matched - 1];
            if (piece[i] == piece[matched]) matched++;
            borders[i] = matched;
        }
        int found = -1;
        for (int i = 0, matched = 0; i < text.Length; i++)
        {
            while (matched > 0 && text[i] != piece[matched]) matched = borders[matched - 1];
            if (text[i] == piece[matched]) matched++;
            if (matched < piece.Length) continue;
            found = i + 1 - matched;
            break;
        }
        ArrayPool<int>.Shared.Return(borders);
        return found;
    }

    /// <summary>The part of a pattern between two stars, or after the last one.</summary>
    private readonly record struct Piece(int End, int Elements, bool IsLiteral)
    {
        /// <summary>The piece at a position. A piece with more elements than the text has bytes is not read to its end.</summary>
        public static Piece At(ReadOnlySpan<byte> pattern, int p, int most)
        {
            int elements = 0;
            bool literal = true;
            for (; p < pattern.Length && pattern[p] != '*' && elements <= most; elements++)
            {
                byte element = pattern[p];
                literal &= element is not ((byte)'?' or (byte)'[' or (byte)'\\');
                if (element == '[') MatchesClass(pattern, ref p, c: 0, ignoreCase: false);
                else p += element == '\\' && p + 1 < pattern.Length ? 2 : 1;
            }
            return new Piece(p, elements, literal);
        }
    }

    /// <summary>Matches one byte with the element at <paramref name="p"/>, which is not a star, and advances past it.</summary>
    private static bool MatchesOne(ReadOnlySpan<byte> pattern, ref int p, byte c, bool ignoreCase)
    {
        byte element = pattern[p];
        switch (element)
        {
            case (byte)'?':
                p++;
                return true;
            case (byte)'[':
                return MatchesClass(pattern, ref p, c, ignoreCase);
            case (byte)'\\' when p + 1 < pattern.Length:
                element = pattern[++p];
                break;
        }
        p++;
        return Same(element, c, ignoreCase);
    }

    /// <summary>
    /// Matches a class, which ends at its ']' or at the end of the pattern. As in Redis, the comparison with an escaped byte is
    /// case-sensitive, and the end of a range may be any byte, including ']' and '\'.
    /// </summary>
    private static bool MatchesClass(ReadOnlySpan<byte> pattern, ref int p, byte c, bool ignoreCase)
    {
        p++;
        bool not = p < pattern.Length && pattern[p] == '^';
        if (not) p++;
        bool match = false;
        for (; p < pattern.Length && pattern[p] != ']'; p++)
        {
            if (pattern[p] == '\\' && p + 1 < pattern.Length)
            {
                p++;
                match |= pattern[p] == c;
            }
            else if (p + 2 < pattern.Length && pattern[p + 1] == '-')
            {
                match |= InRange(pattern[p], pattern[p + 2], c, ignoreCase);
                p += 2;
            }
            else match |= Same(pattern[p], c, ignoreCase);
        }
        if (p < pattern.Length) p++;
        return match != not;
    }

    private static bool InRange(byte from, byte to, byte c, bool ignoreCase)
    {
        sbyte start = Math.Min((sbyte)from, (sbyte)to);
        sbyte end = Math.Max((sbyte)from, (sbyte)to);
        if (!ignoreCase) return (sbyte)c >= start && (sbyte)c <= end;
        sbyte lower = (sbyte)Lower(c);
        return lower >= (sbyte)Lower((byte)start) && lower <= (sbyte)Lower((byte)end);
    }

    private static bool Same(byte a, byte b, bool ignoreCase) => a == b || (ignoreCase && Lower(a) == Lower(b));

    private static byte Lower(byte c) => c is >= (byte)'A' and <= (byte)'Z' ? (byte)(c | 0x20) : c;
}
