namespace RedisClone.Storage.Values.SortedSets;

/// <summary>A member of a sorted set and its score.</summary>
public readonly ref struct ScoredMember(Element member, double score)
{
    public Element Member { get; } = member;

    public double Score { get; } = score;
}

/// <summary>Members of consecutive ranks, lowest score first.</summary>
public readonly record struct RankRange(long Start, long Count)
{
    public long End => Start + Count;

    /// <summary>
    /// Applies LIMIT to the range: skips <paramref name="offset"/> members and keeps at most <paramref name="count"/> (all if
    /// negative). Counts from the end if the range is read backwards.
    /// </summary>
    public RankRange Limit(long offset, long count, bool backwards)
    {
        if (offset < 0 || offset >= Count) return new RankRange(Start, 0);
        long left = Count - offset;
        long taken = count < 0 ? left : Math.Min(count, left);
        return new RankRange(backwards ? End - offset - taken : Start + offset, taken);
    }
}

/// <summary>An interval of scores.</summary>
public readonly record struct ScoreRange(double Min, double Max, bool MinExclusive = false, bool MaxExclusive = false);

/// <summary>One end of an interval of members that all have the same score.</summary>
public readonly ref struct LexBound
{
    private LexBound(BoundKind kind, ReadOnlySpan<byte> text)
    {
        Kind = kind;
        Text = text;
    }

    /// <summary>The bound "-", before every member.</summary>
    public static LexBound Lowest => new(BoundKind.Lowest, default);

    /// <summary>The bound "+", after every member.</summary>
    public static LexBound Highest => new(BoundKind.Highest, default);

    internal BoundKind Kind { get; }

    internal ReadOnlySpan<byte> Text { get; }

    public static LexBound Inclusive(ReadOnlySpan<byte> text) => new(BoundKind.Inclusive, text);

    public static LexBound Exclusive(ReadOnlySpan<byte> text) => new(BoundKind.Exclusive, text);

    /// <summary>Whether a member lies before this bound, taken as the lower or the upper end of an interval.</summary>
    internal bool IsAfter(Element member, bool asLower) => Kind switch
    {
        BoundKind.Lowest => false,
        BoundKind.Highest => true,
        _ => member.CompareTo(Text) is var order && (order < 0 || order == 0 && (Kind == BoundKind.Exclusive) == asLower),
    };

    internal enum BoundKind : byte
    {
        Lowest,
        Highest,
        Inclusive,
        Exclusive,
    }
}
