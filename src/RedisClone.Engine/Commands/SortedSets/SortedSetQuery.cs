using RedisClone.Storage;
using RedisClone.Storage.Values.SortedSets;

namespace RedisClone.Engine.Commands.SortedSets;

/// <summary>The meaning of the bounds of a range.</summary>
internal enum RangeKind : byte
{
    /// <summary>The options decide. Without BYSCORE and BYLEX, the bounds are ranks.</summary>
    Unknown,
    Rank,
    Score,
    Member,
}

/// <summary>
/// A range of a sorted set as given in the arguments: key, two bounds and options. It is converted to a range of ranks.
/// </summary>
internal struct SortedSetQuery
{
    private long _first, _last, _offset, _limit;
    private int _min, _max;
    private ScoreRange _scores;

    public SortedSetQuery() => _limit = -1;

    public RangeKind Kind { get; init; }

    public bool Reverse { get; private set; }

    public bool WithScores { get; private set; }

    private RangeKind ActualKind { get; set; }

    public readonly bool IsByMember => ActualKind == RangeKind.Member;

    /// <summary>Parses the arguments from the key on. On failure, it sets an error and returns false.</summary>
    public bool TryParse(ref CommandContext c, int key, bool? reverse, bool store)
    {
        Reverse = reverse ?? false;
        ActualKind = Kind;
        for (int i = key + 3; i < c.Args.Count; i++)
        {
            if (!store && c.Is(i, "WITHSCORES"u8))
            {
                WithScores = true;
            }
            else if (c.Is(i, "LIMIT"u8) && i + 2 < c.Args.Count)
            {
                _offset = c.Int64(++i);
                _limit = c.Int64(++i);
            }
            else if (reverse is null && c.Is(i, "REV"u8))
            {
                // As in Redis, a second REV is a syntax error.
                reverse = Reverse = true;
            }
            else if (ActualKind == RangeKind.Unknown && c.Is(i, "BYLEX"u8))
            {
                ActualKind = RangeKind.Member;
            }
            else if (ActualKind == RangeKind.Unknown && c.Is(i, "BYSCORE"u8))
            {
                ActualKind = RangeKind.Score;
            }
            else
            {
                c.FailSyntax();
            }
            if (c.Failed) return false;
        }
        if (ActualKind == RangeKind.Unknown) ActualKind = RangeKind.Rank;
        if (_limit != -1 && ActualKind == RangeKind.Rank)
            return c.Fail("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
        if (WithScores && ActualKind == RangeKind.Member)
            return c.Fail("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
        return TryParseEnds(ref c, key);
    }

    /// <summary>Parses the two bounds after the key, for commands without options.</summary>
    public bool TryParseBounds(ref CommandContext c, int key)
    {
        ActualKind = Kind;
        return TryParseEnds(ref c, key);
    }

    private bool TryParseEnds(ref CommandContext c, int key)
    {
        bool swapped = Reverse && ActualKind != RangeKind.Rank;
        _min = swapped ? key + 2 : key + 1;
        _max = swapped ? key + 1 : key + 2;
        switch (ActualKind)
        {
            case RangeKind.Score:
                return SortedSetBounds.TryScores(ref c, _min, _max, out _scores);
            case RangeKind.Member:
                return SortedSetBounds.TryMembers(ref c, _min, _max, out _, out _);
            default:
                _first = c.Int64(_min);
                _last = c.Int64(_max);
                return !c.Failed;
        }
    }

    /// <summary>The ranks in a sorted set that the range selects.</summary>
    public readonly RankRange RanksIn(scoped ref CommandContext c, in Entry entry)
    {
        switch (ActualKind)
        {
            case RangeKind.Score:
                return SortedSetValue.Ranks(entry, _scores).Limit(_offset, _limit, Reverse);
            case RangeKind.Member:
                SortedSetBounds.TryMembers(ref c, _min, _max, out LexBound low, out LexBound high);
                return SortedSetValue.Ranks(entry, low, high).Limit(_offset, _limit, Reverse);
            default:
                RankRange range = SortedSetValue.Ranks(entry, _first, _last);
                return Reverse ? range with { Start = SortedSetValue.Count(entry) - range.End } : range;
        }
    }
}
