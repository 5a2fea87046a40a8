using System.Buffers;

namespace RedisClone.Protocol;

/// <summary>
/// Redis's glob patterns: * ? [a-z] [^a] \x, over bytes. What stands between two stars is a piece, and each of its elements
/// matches one byte. A piece is taken where it is found first: whatever a later place could reach, that one reaches too. The
/// last piece must end the text.
/// <para>
/// The work is bounded. A literal piece is found in time that is linear in the text. Any other piece is tried at each place,
/// and a text that takes more than <see cref="MostSteps"/> steps does not match. Redis takes seconds to days for such a text.
/// </para>
/// <para>
/// Redis's oddities are kept: no pattern but the empty one matches the empty text, not even *; a pattern with more than a
/// thousand stars matches nothing; a class may lack its ']'; bytes in a range are signed, as C's char is on x86.
/// </para>
/// </summary>
public static class Glob
{
    private const int MaxStars = 1000;

    /// <summary>Elements that are compared for one text, the bytes of a class counted one by one.</summary>
    private const long MostSteps = 1L << 26;

    /// <summary>
    /// The product of a literal piece's length and the text's up to which the vectorized search is the faster one, whatever
    /// they hold.
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

    /// <summary>The pattern begins with a star.</summary>
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

    /// <summary>Whether the elements from <paramref name="p"/> on match all of the text; there are as many.</summary>
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

    /// <summary>Knuth, Morris and Pratt: no byte of the text is looked at again.</summary>
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

    /// <summary>What stands between two stars, or behind the last.</summary>
    private readonly record struct Piece(int End, int Elements, bool IsLiteral)
    {
        /// <summary>The piece at a position; one of more elements than the text has bytes is not read to its end.</summary>
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

    /// <summary>Matches one byte with the element at <paramref name="p"/>, which is no star, and moves behind it.</summary>
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
    /// A class ends at its ']' or at the pattern's end. An escaped byte in it is compared with its case, and a range's
    /// end may be any byte, ']' and '\' too: as in Redis.
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
