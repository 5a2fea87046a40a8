using RedisClone.Configuration;
using RedisClone.Engine.Commands.Sets;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.SortedSets;

/// <summary>
/// Unions, intersections and differences of sorted sets and sets, for commands that return, store or count the result.
/// </summary>
internal static class SortedSetAlgebra
{
    private static readonly KeySpec[] Stored = Keys.At(1, OW | Update).And(Keys.Counted(2, RO | Access));

    public static readonly CommandRow[] Rows =
    [
        new("ZUNION numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>] [WITHSCORES]",
            -3, Keys.Counted(1, RO | Access), ReadOnly, "sorted-set", "6.2.0", Unite, "Returns the union of sorted sets.") { Complexity = OfUnion },
        new("ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>]",
            -4, Stored, Write | DenyOom, "sorted-set", "2.0.0", UniteStore, "Stores the union of sorted sets.") { Complexity = OfUnion },
        new("ZINTER numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>] [WITHSCORES]",
            -3, Keys.Counted(1, RO | Access), ReadOnly, "sorted-set", "6.2.0", Intersect,
            "Returns the members that are in all sorted sets.") { Complexity = OfIntersection },
        new("ZINTERSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>]",
            -4, Stored, Write | DenyOom, "sorted-set", "2.0.0", IntersectStore,
            "Stores the members that are in all sorted sets.") { Complexity = OfIntersection },
        new("ZINTERCARD numkeys key [key ...] [LIMIT limit]",
            -3, Keys.Counted(1, RO | Access), ReadOnly, "sorted-set", "7.0.0", IntersectCount, "Counts the members that are in all sorted sets.")
            { Complexity = "O(N*K) worst case with N being the smallest input sorted set, K being the number of input sorted " +
                "sets." },
        new("ZDIFF numkeys key [key ...] [WITHSCORES]",
            -3, Keys.Counted(1, RO | Access), ReadOnly, "sorted-set", "6.2.0", Subtract, "Returns the members of the first " +
                "sorted set that are in no other sorted set.") { Complexity = OfDifference },
        new("ZDIFFSTORE destination numkeys key [key ...]",
            -4, Stored, Write | DenyOom, "sorted-set", "6.2.0", SubtractStore, "Stores the members of the first sorted set " +
                "that are in no other sorted set.") { Complexity = OfDifference },
    ];

    private const string OfUnion = "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, and M being " +
        "the number of elements in the resulting sorted set.";

    private const string OfIntersection = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K being " +
        "the number of input sorted sets and M being the number of elements in the resulting sorted set.";

    private const string OfDifference = "O(L + (N-K)log(N)) worst case where L is the total number of elements in all the " +
        "sets, N is the size of the first set, and K is the size of the result set.";

    private static void Unite(ref CommandContext c) => Return(ref c, SetOperation.Union);

    private static void UniteStore(ref CommandContext c) => Store(ref c, SetOperation.Union, "zunionstore");

    private static void Intersect(ref CommandContext c) => Return(ref c, SetOperation.Intersection);

    private static void IntersectStore(ref CommandContext c) => Store(ref c, SetOperation.Intersection, "zinterstore");

    private static void Subtract(ref CommandContext c) => Return(ref c, SetOperation.Difference);

    private static void SubtractStore(ref CommandContext c) => Store(ref c, SetOperation.Difference, "zdiffstore");

    private static void Return(ref CommandContext c, SetOperation operation)
    {
        var query = new SortedSetAlgebraQuery { Operation = operation };
        if (query.TryParse(ref c, numkeys: 1))
        {
            if (c.MoveToWorker(query.Work))
            {
                query.Dispose();
                return;
            }
            Entry built = Build(ref c, query, 2);
            SortedSetCommands.ReplyHeader(ref c, SortedSetValue.Count(built), query.WithScores);
            foreach (ScoredMember member in SortedSetValue.Members(built)) SortedSetCommands.Reply(ref c, member, query.WithScores);
            built.Keyspace.Remove(built);
        }
        query.Dispose();
    }

    private static void Store(ref CommandContext c, SetOperation operation, string keyEvent)
    {
        var query = new SortedSetAlgebraQuery { Operation = operation, Stores = true };
        if (query.TryParse(ref c, numkeys: 2) && !c.MoveToWorker(query.Work))
        {
            Entry built = Build(ref c, query, 1);
            long count = SortedSetValue.Count(built);
            c.Store(built, 1, count, NotifyFlags.Zset, keyEvent);
            c.Reply.Integer(count);
        }
        query.Dispose();
    }

    private static void IntersectCount(ref CommandContext c)
    {
        var query = new SortedSetAlgebraQuery { Operation = SetOperation.Intersection, Counts = true };
        if (query.TryParse(ref c, numkeys: 1) && !c.MoveToWorker(query.Work))
        {
            long count = 0, limit = query.Limit == 0 ? long.MaxValue : query.Limit;
            if (query.AllExist)
            {
                Entry smallest = c.Peek(query.KeyAt(0));
                var members = new MemberWalk(smallest, stackalloc byte[IntegerText.MaxLength]);
                Entry second = query.Count > 1 ? c.Peek(query.KeyAt(1)) : default;
                while (count < limit && members.MoveNext())
                    if (TryAggregate(ref c, query, second, members.Text, 0, out _)) count++;
            }
            c.Reply.Integer(count);
        }
        query.Dispose();
    }

    /// <summary>Builds the result in a scratch keyspace, under the key at an argument.</summary>
    private static Entry Build(scoped ref CommandContext c, SortedSetAlgebraQuery query, int under)
    {
        Entry built = SortedSetValue.Create(c.ScratchFor(under), c.Args[under], c.HashOf(under));
        switch (query.Operation)
        {
            case SetOperation.Union:
                Unite(ref c, query, built);
                break;
            case SetOperation.Intersection:
                Intersect(ref c, query, built);
                break;
            default:
                Subtract(ref c, query, built);
                break;
        }
        return built;
    }

    private static void Unite(ref CommandContext c, SortedSetAlgebraQuery query, scoped in Entry built)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        for (int i = 0; i < query.Count; i++)
        {
            Entry entry = c.Peek(query.KeyAt(i));
            if (!entry.Exists) continue;
            SortedSetValue.Reserve(built, CountOf(entry), 0);
            var members = new MemberWalk(entry, digits);
            while (members.MoveNext())
            {
                double score = query.Weigh(i, members.Score);
                if (SortedSetValue.TryGetScore(built, members.Text, out double sum)) score = query.Combine(sum, score);
                SortedSetValue.Set(built, members.Text, score, out _);
            }
        }
    }

    private static void Intersect(ref CommandContext c, SortedSetAlgebraQuery query, scoped in Entry built)
    {
        if (!query.AllExist) return;
        Entry smallest = c.Peek(query.KeyAt(0));
        var members = new MemberWalk(smallest, stackalloc byte[IntegerText.MaxLength]);
        Entry second = query.Count > 1 ? c.Peek(query.KeyAt(1)) : default;
        while (members.MoveNext())
            if (TryAggregate(ref c, query, second, members.Text, members.Score, out double score))
                SortedSetValue.Set(built, members.Text, score, out _);
    }

    /// <summary>Combines the scores of a member in all sets; returns false if a set does not have the member.</summary>
    private static bool TryAggregate(
        ref CommandContext c, SortedSetAlgebraQuery query, scoped in Entry second, scoped ReadOnlySpan<byte> member, double first, out double score)
    {
        score = query.Weigh(0, first);
        double other = 0;
        if (query.Count > 1 && !TryScore(second, member, out other)) return false;
        if (query.Count > 1) score = query.Combine(score, query.Weigh(1, other));
        for (int i = 2; i < query.Count; i++)
        {
            Entry next = c.Peek(query.KeyAt(i));
            if (!TryScore(next, member, out other)) return false;
            score = query.Combine(score, query.Weigh(i, other));
        }
        return true;
    }

    private static void Subtract(ref CommandContext c, SortedSetAlgebraQuery query, scoped in Entry built)
    {
        Entry first = c.Peek(query.KeyAt(0));
        if (!first.Exists) return;
        // With very many sets, even empty ones, a lookup of each member in each set costs more than a removal of all members
        // of the others.
        bool takesAway = CountOf(first) * query.Count / 2 > query.Work;
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        var members = new MemberWalk(first, digits);
        while (members.MoveNext())
            if (takesAway || !IsInAnyOther(ref c, query, members.Text)) SortedSetValue.Set(built, members.Text, members.Score, out _);
        for (int i = 1; takesAway && i < query.Count && SortedSetValue.Count(built) > 0; i++)
        {
            Entry other = c.Peek(query.KeyAt(i));
            if (!other.Exists) continue;
            var others = new MemberWalk(other, digits);
            while (others.MoveNext()) SortedSetValue.Remove(built, others.Text);
        }
    }

    private static bool IsInAnyOther(ref CommandContext c, SortedSetAlgebraQuery query, scoped ReadOnlySpan<byte> member)
    {
        for (int i = 1; i < query.Count; i++)
        {
            Entry other = c.Peek(query.KeyAt(i));
            if (other.Exists && TryScore(other, member, out _)) return true;
        }
        return false;
    }

    public static long CountOf(scoped in Entry entry) => entry.Type == ValueType.Set ? SetValue.Count(entry) : SortedSetValue.Count(entry);

    /// <summary>The score of a member. It is 1 in a plain set.</summary>
    private static bool TryScore(scoped in Entry entry, scoped ReadOnlySpan<byte> member, out double score)
    {
        if (entry.Type != ValueType.Set) return SortedSetValue.TryGetScore(entry, member, out score);
        score = 1;
        return SetValue.Contains(entry, member);
    }

    /// <summary>Enumerates the members of a set or a sorted set.</summary>
    private ref struct MemberWalk
    {
        private readonly Span<byte> _digits;
        private readonly bool _plain;
        private SetMembers _members;
        private SortedSetMembers _scored;

        public MemberWalk(in Entry entry, Span<byte> digits)
        {
            _digits = digits;
            _plain = entry.Type == ValueType.Set;
            if (_plain) _members = SetValue.Members(entry);
            else _scored = SortedSetValue.Members(entry);
        }

        public ReadOnlySpan<byte> Text { get; private set; }

        public double Score { get; private set; }

        public bool MoveNext()
        {
            if (_plain)
            {
                if (!_members.MoveNext()) return false;
                Text = _members.Current.Text(_digits);
                Score = 1;
                return true;
            }
            if (!_scored.MoveNext()) return false;
            Text = _scored.Current.Member.Text(_digits);
            Score = _scored.Current.Score;
            return true;
        }
    }
}
