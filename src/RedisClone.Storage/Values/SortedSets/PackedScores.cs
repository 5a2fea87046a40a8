using System.Buffers.Binary;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.SortedSets;

/// <summary>
/// A small sorted set within its record: member and score in turn, lowest first. A score that is an integer is stored as an
/// integer, any other score as its eight bytes.
/// </summary>
internal static class PackedScores
{
    private const int Stride = 2;

    public static ScoredMember Read(ReadOnlySpan<byte> entries, int at, out int next)
    {
        Element member = Packed.Read(entries, at, out int score);
        return new ScoredMember(member, ScoreOf(Packed.Read(entries, score, out next)));
    }

    public static bool TryGetScore(in Entry entry, Element member, out double score)
    {
        Span<byte> entries = new PackedValue(entry).Entries;
        int at = Packed.Find(entries, 0, member, Stride);
        score = at < 0 ? 0 : Read(entries, at, out _).Score;
        return at >= 0;
    }

    /// <summary>Sets the score of a member that is present. Returns false if it is absent.</summary>
    public static bool TryUpdate(in Entry entry, Element member, double score, out double previous)
    {
        PackedValue packed = new(entry);
        int at = Packed.Find(packed.Entries, 0, member, Stride);
        previous = at < 0 ? 0 : Read(packed.Entries, at, out _).Score;
        if (at < 0) return false;
        if (previous == score) return true;
        Span<byte> raw = stackalloc byte[sizeof(double)], scratch = stackalloc byte[IntegerText.MaxLength];
        Element scoreElement = ElementOf(score, raw);
        int size = Packed.SizeOf(member), old = Packed.Skip(packed.Entries, at, Stride) - at;
        int place = PlaceOf(packed.Entries, score, member.Text(scratch));
        Write(packed.Relocate(at, old, place, size + Packed.SizeOf(scoreElement)), member, scoreElement);
        return true;
    }

    public static int SizeOf(ScoredMember member)
    {
        Span<byte> raw = stackalloc byte[sizeof(double)];
        return Packed.SizeOf(Own(member)) + Packed.SizeOf(ElementOf(member.Score, raw));
    }

    /// <summary>Writes a member of a large sorted set. Returns its size.</summary>
    public static int Write(Span<byte> to, ScoredMember member)
    {
        Span<byte> raw = stackalloc byte[sizeof(double)];
        int size = Packed.Write(to, Own(member));
        return size + Packed.Write(to[size..], ElementOf(member.Score, raw));
    }

    private static Element Own(ScoredMember member) => member.Member.IsInteger ? member.Member : Element.Of(member.Member.Bytes);

    /// <summary>Adds a member. The caller knows that it is absent.</summary>
    public static void Add(in Entry entry, Element member, double score)
    {
        PackedValue packed = new(entry);
        Span<byte> raw = stackalloc byte[sizeof(double)], scratch = stackalloc byte[IntegerText.MaxLength];
        Element scoreElement = ElementOf(score, raw);
        int size = Packed.SizeOf(member), place = PlaceOf(packed.Entries, score, member.Text(scratch));
        Span<byte> added = packed.Splice(place, 0, size + Packed.SizeOf(scoreElement));
        Write(added, member, scoreElement);
        packed.Count++;
    }

    private static void Write(Span<byte> to, Element member, Element score) =>
        Packed.Write(to[Packed.Write(to, member)..], score);

    public static bool Remove(in Entry entry, Element member)
    {
        PackedValue packed = new(entry);
        int at = Packed.Find(packed.Entries, 0, member, Stride);
        if (at < 0) return false;
        packed.Remove(at, Stride);
        packed.Count--;
        return true;
    }

    public static bool TryGetRank(in Entry entry, Element member, out long rank, out double score)
    {
        Span<byte> entries = new PackedValue(entry).Entries;
        int found = Packed.Find(entries, 0, member, Stride);
        rank = 0;
        score = 0;
        if (found < 0) return false;
        for (int at = 0; at < found; at = Packed.Skip(entries, at, Stride)) rank++;
        score = Read(entries, found, out _).Score;
        return true;
    }

    /// <summary>
    /// The number of members with a lower score, or with <paramref name="orEqual"/> a score that is not higher.
    /// </summary>
    public static long CountBefore(in Entry entry, double score, bool orEqual)
    {
        Span<byte> entries = new PackedValue(entry).Entries;
        long count = 0;
        for (int at = 0; at < entries.Length; count++)
        {
            double found = Read(entries, at, out at).Score;
            if (orEqual ? found > score : found >= score) break;
        }
        return count;
    }

    public static long CountBefore(in Entry entry, LexBound bound, bool asLower)
    {
        Span<byte> entries = new PackedValue(entry).Entries;
        long count = 0;
        for (int at = 0; at < entries.Length; count++)
            if (!bound.IsAfter(Read(entries, at, out at).Member, asLower)) break;
        return count;
    }

    public static void RemoveRange(in Entry entry, RankRange range)
    {
        PackedValue packed = new(entry);
        packed.Remove(Packed.Skip(packed.Entries, 0, (int)range.Start * Stride), (int)range.Count * Stride);
        packed.Count -= (int)range.Count;
    }

    /// <summary>The position where an absent member with this score belongs.</summary>
    private static int PlaceOf(ReadOnlySpan<byte> entries, double score, ReadOnlySpan<byte> member)
    {
        int at = 0;
        while (at < entries.Length)
        {
            ScoredMember other = Read(entries, at, out int next);
            if (other.Score > score || other.Score == score && other.Member.CompareTo(member) > 0) break;
            at = next;
        }
        return at;
    }

    private static double ScoreOf(Element element) =>
        element.IsInteger ? element.Integer : BinaryPrimitives.ReadDoubleLittleEndian(element.Bytes);

    private static Element ElementOf(double score, Span<byte> raw)
    {
        // Like Redis, small sorted sets do not distinguish -0 from 0. Beyond 2^53, an integer would save nothing.
        const double Exact = 1L << 53;
        if (score is >= -Exact and <= Exact && (long)score == score) return new Element((long)score);
        BinaryPrimitives.WriteDoubleLittleEndian(raw, score);
        return new Element(raw);
    }
}
