using RedisClone.Protocol;
using RedisClone.Storage.Values.SortedSets;

namespace RedisClone.Engine.Commands.SortedSets;

/// <summary>Parses the bounds of ranges of scores and of members.</summary>
internal static class SortedSetBounds
{
    private const string NotScores = "ERR min or max is not a float";
    private const string NotMembers = "ERR min or max not valid string range item";

    /// <summary>Parses two scores. A parenthesis before a score excludes it.</summary>
    public static bool TryScores(ref CommandContext c, int min, int max, out ScoreRange range)
    {
        range = default;
        if (!TryScore(c.Args[min], out double low, out bool lowExclusive) || !TryScore(c.Args[max], out double high, out bool highExclusive))
            return c.Fail(NotScores);
        range = new ScoreRange(low, high, lowExclusive, highExclusive);
        return true;
    }

    private static bool TryScore(ReadOnlySpan<byte> text, out double score, out bool exclusive)
    {
        exclusive = !text.IsEmpty && text[0] == '(';
        if (exclusive) text = text[1..];
        return RedisNumber.TryParseLooseDouble(text, out score, saturates: true);
    }

    /// <summary>Parses two bounds of a range of members: "-", "+", "[member" or "(member".</summary>
    public static bool TryMembers(scoped ref CommandContext c, int min, int max, out LexBound low, out LexBound high)
    {
        high = default;
        return TryMember(c.Args[min], out low) && TryMember(c.Args[max], out high) || c.Fail(NotMembers);
    }

    private static bool TryMember(ReadOnlySpan<byte> text, out LexBound bound)
    {
        bound = LexBound.Lowest;
        if (text.IsEmpty) return false;
        switch (text[0])
        {
            case (byte)'[':
                bound = LexBound.Inclusive(text[1..]);
                return true;
            case (byte)'(':
                bound = LexBound.Exclusive(text[1..]);
                return true;
            case (byte)'+':
                bound = LexBound.Highest;
                return text.Length == 1;
            default:
                return text.SequenceEqual("-"u8);
        }
    }
}
