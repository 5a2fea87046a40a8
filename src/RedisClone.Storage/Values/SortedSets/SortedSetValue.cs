using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.SortedSets;

/// <summary>
/// Operations on sorted sets. Members are ordered by score, and members with equal scores by their bytes. Every kind of range is
/// converted to a range of ranks, which can be counted, walked in both directions, or removed.
/// </summary>
/// <remarks>
/// Scores are never NaN. Arguments must not point into the sorted set that is changed. Removing the last member leaves an empty
/// sorted set; the caller removes its key.
/// </remarks>
public static class SortedSetValue
{
    /// <summary>Creates an empty sorted set.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        Entry entry = keyspace.Insert(key, hash, ValueType.SortedSet, ValueEncoding.Packed, PackedValue.CountBytes);
        entry.Value.Clear();
        return entry;
    }

    /// <summary>
    /// Chooses the form of an empty sorted set before the addition of this many members, given the longest member's length.
    /// </summary>
    public static void Reserve(in Entry entry, long members, int longestText)
    {
        ValueLimits limits = entry.Keyspace.Store.Limits;
        if (!IsLarge(entry) && (members > limits.ZsetMaxListpackEntries || longestText > limits.ZsetMaxListpackValue))
            LargeSortedSet.Convert(entry);
    }

    /// <summary>Turns a large sorted set into a small one, if the settings allow it and there is memory for it.</summary>
    public static void Pack(in Entry entry)
    {
        ValueLimits limits = entry.Keyspace.Store.Limits;
        if (!IsLarge(entry) || Count(entry) > limits.ZsetMaxListpackEntries) return;
        foreach (ScoredMember member in Members(entry))
            if (member.Member.Length > limits.ZsetMaxListpackValue) return;
        LargeSortedSet.TryPack(entry);
    }

    public static long Count(in Entry entry) =>
        IsLarge(entry) ? LargeSortedSet.Order(entry).Weight : new PackedValue(entry).Count;

    public static bool TryGetScore(in Entry entry, ReadOnlySpan<byte> member, out double score) => IsLarge(entry)
        ? LargeSortedSet.TryGetScore(entry, member, out score)
        : PackedScores.TryGetScore(entry, Element.Of(member), out score);

    /// <summary>
    /// Sets the score of a member. Returns true if the member is new; otherwise <paramref name="previous"/> is its old score.
    /// </summary>
    public static bool Set(in Entry entry, ReadOnlySpan<byte> member, double score, out double previous)
    {
        FaultPoint.Call();
        if (!IsLarge(entry))
        {
            Element element = Element.Of(member);
            if (PackedScores.TryUpdate(entry, element, score, out previous)) return entry.Keyspace.CountChange(false);
            ValueLimits limits = entry.Keyspace.Store.Limits;
            PackedValue packed = new(entry);
            if (packed.Count < limits.ZsetMaxListpackEntries && member.Length <= limits.ZsetMaxListpackValue
                && packed.HasRoom(member.Length))
            {
                PackedScores.Add(entry, element, score);
                return entry.Keyspace.CountChange(true);
            }
            LargeSortedSet.Convert(entry);
        }
        return entry.Keyspace.CountChange(LargeSortedSet.Set(entry, member, score, out previous));
    }

    public static bool Remove(in Entry entry, ReadOnlySpan<byte> member)
    {
        FaultPoint.Call();
        return entry.Keyspace.CountChange(
            IsLarge(entry) ? LargeSortedSet.Remove(entry, member) : PackedScores.Remove(entry, Element.Of(member)));
    }

    /// <summary>The number of members before this one, and its score.</summary>
    public static bool TryGetRank(in Entry entry, ReadOnlySpan<byte> member, out long rank, out double score) => IsLarge(entry)
        ? LargeSortedSet.TryGetRank(entry, member, out rank, out score)
        : PackedScores.TryGetRank(entry, Element.Of(member), out rank, out score);

    /// <summary>The ranks of the members with a score in an interval.</summary>
    public static RankRange Ranks(in Entry entry, ScoreRange range)
    {
        long start = CountBefore(entry, range.Min, range.MinExclusive);
        long end = CountBefore(entry, range.Max, !range.MaxExclusive);
        return new RankRange(start, Math.Max(0, end - start));
    }

    /// <summary>The ranks of the members in an interval, if all scores are equal.</summary>
    public static RankRange Ranks(in Entry entry, LexBound min, LexBound max)
    {
        long start = CountBefore(entry, min, asLower: true);
        long end = CountBefore(entry, max, asLower: false);
        return new RankRange(start, Math.Max(0, end - start));
    }

    /// <summary>
    /// The ranks from <paramref name="first"/> to <paramref name="last"/>, both included. Negative ones count from the end, as in
    /// ZRANGE.
    /// </summary>
    public static RankRange Ranks(in Entry entry, long first, long last)
    {
        long count = Count(entry);
        if (first < 0) first = Math.Max(0, first + count);
        if (last < 0) last += count;
        last = Math.Min(last, count - 1);
        return first > last ? new RankRange(0, 0) : new RankRange(first, last - first + 1);
    }

    /// <summary>The members of a range, lowest or highest first. The range must be within the sorted set.</summary>
    public static SortedSetMembers Members(in Entry entry, RankRange range, bool backwards = false) =>
        SortedSetMembers.Ranks(entry, range, backwards);

    /// <summary>All members, lowest first.</summary>
    public static SortedSetMembers Members(in Entry entry) => Members(entry, new RankRange(0, Count(entry)));

    /// <summary>Removes the members of a range, which must be within the sorted set.</summary>
    public static void RemoveRange(in Entry entry, RankRange range)
    {
        FaultPoint.Call();
        entry.Keyspace.CountChange();
        if (range.Count <= 0) return;
        if (IsLarge(entry)) LargeSortedSet.RemoveRange(entry, range);
        else PackedScores.RemoveRange(entry, range);
    }

    /// <summary>
    /// The members of one cursor position. Advances the cursor, which becomes 0 after the last position. A member that is present
    /// during the whole scan is visited.
    /// </summary>
    public static SortedSetMembers Scan(in Entry entry, ref ulong cursor)
    {
        if (IsLarge(entry)) return SortedSetMembers.Position(entry, ref cursor);
        cursor = 0;
        return Members(entry);
    }

    /// <summary>A random member. Every member has the same probability. The sorted set must not be empty.</summary>
    public static ScoredMember Random(in Entry entry)
    {
        SortedSetMembers one = Members(entry, new RankRange(entry.Keyspace.Store.Random.NextInt64(Count(entry)), 1));
        one.MoveNext();
        return one.Current;
    }

    /// <summary>Up to <paramref name="count"/> different random members. A store has one sample at a time.</summary>
    public static SortedSetMembers Sample(in Entry entry, long count) => SortedSetMembers.Some(entry, count);

    private static bool IsLarge(in Entry entry) => entry.Encoding == ValueEncoding.Large;

    private static long CountBefore(in Entry entry, double score, bool orEqual) => IsLarge(entry)
        ? LargeSortedSet.CountBefore(entry, score, orEqual)
        : PackedScores.CountBefore(entry, score, orEqual);

    private static long CountBefore(in Entry entry, LexBound bound, bool asLower) => IsLarge(entry)
        ? LargeSortedSet.CountBefore(entry, bound, asLower)
        : PackedScores.CountBefore(entry, bound, asLower);
}
