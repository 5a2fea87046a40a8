using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>
/// What can be done with a sorted set: members by score, and among equal scores by their bytes. Whatever a range is given by,
/// it becomes one of ranks, which can be counted, walked in both directions, or removed.
/// </summary>
/// <remarks>
/// Scores are never NaN. Texts passed in must not lie in the sorted set that is changed. What removes the last member leaves
/// an empty sorted set, whose key the caller removes.
/// </remarks>
public static class SortedSetValue
{
    /// <summary>A new, empty sorted set.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        Entry entry = keyspace.Insert(key, hash, ValueType.SortedSet, ValueEncoding.Packed, PackedValue.CountBytes);
        entry.Value.Clear();
        return entry;
    }

    /// <summary>Chooses the form of an empty sorted set ahead of so many additions, the length of the longest given.</summary>
    public static void Reserve(in Entry entry, long members, int longestText)
    {
        ValueLimits limits = entry.Keyspace.Store.Limits;
        if (!IsLarge(entry) && (members > limits.ZsetMaxListpackEntries || longestText > limits.ZsetMaxListpackValue))
            LargeSortedSet.Convert(entry);
    }

    /// <summary>Makes a large sorted set a small one if the settings let it be and memory is there for it.</summary>
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

    /// <summary>Gives a member a score; true when it is new, else with the score that it had.</summary>
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

    /// <summary>How many members come before this one.</summary>
    public static bool TryGetRank(in Entry entry, ReadOnlySpan<byte> member, out long rank, out double score) => IsLarge(entry)
        ? LargeSortedSet.TryGetRank(entry, member, out rank, out score)
        : PackedScores.TryGetRank(entry, Element.Of(member), out rank, out score);

    /// <summary>The ranks of the members whose score lies in an interval.</summary>
    public static RankRange Ranks(in Entry entry, ScoreRange range)
    {
        long start = CountBefore(entry, range.Min, range.MinExclusive);
        long end = CountBefore(entry, range.Max, !range.MaxExclusive);
        return new RankRange(start, Math.Max(0, end - start));
    }

    /// <summary>The ranks of the members that lie in an interval, all scores being equal.</summary>
    public static RankRange Ranks(in Entry entry, LexBound min, LexBound max)
    {
        long start = CountBefore(entry, min, asLower: true);
        long end = CountBefore(entry, max, asLower: false);
        return new RankRange(start, Math.Max(0, end - start));
    }

    /// <summary>The ranks from one to another, both included, negative ones counted from the end as ZRANGE does.</summary>
    public static RankRange Ranks(in Entry entry, long first, long last)
    {
        long count = Count(entry);
        if (first < 0) first = Math.Max(0, first + count);
        if (last < 0) last += count;
        last = Math.Min(last, count - 1);
        return first > last ? new RankRange(0, 0) : new RankRange(first, last - first + 1);
    }

    /// <summary>The members of a range, lowest first or highest first; the range must be within the sorted set.</summary>
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
    /// The members of one cursor position; the cursor becomes that of the next one, 0 after the last. A member that is there
    /// from the first position to the last is met.
    /// </summary>
    public static SortedSetMembers Scan(in Entry entry, ref ulong cursor)
    {
        if (IsLarge(entry)) return SortedSetMembers.Position(entry, ref cursor);
        cursor = 0;
        return Members(entry);
    }

    /// <summary>A member of a sorted set that has any, each as likely as any other.</summary>
    public static ScoredMember Random(in Entry entry)
    {
        SortedSetMembers one = Members(entry, new RankRange(entry.Keyspace.Store.Random.NextInt64(Count(entry)), 1));
        one.MoveNext();
        return one.Current;
    }

    /// <summary>So many different members at random, or all if there are fewer. A store makes one sample at a time.</summary>
    public static SortedSetMembers Sample(in Entry entry, long count) => SortedSetMembers.Some(entry, count);

    private static bool IsLarge(in Entry entry) => entry.Encoding == ValueEncoding.Large;

    private static long CountBefore(in Entry entry, double score, bool orEqual) => IsLarge(entry)
        ? LargeSortedSet.CountBefore(entry, score, orEqual)
        : PackedScores.CountBefore(entry, score, orEqual);

    private static long CountBefore(in Entry entry, LexBound bound, bool asLower) => IsLarge(entry)
        ? LargeSortedSet.CountBefore(entry, bound, asLower)
        : PackedScores.CountBefore(entry, bound, asLower);
}
