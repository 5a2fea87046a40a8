using RedisClone.Configuration;
using RedisClone.Engine.Commands.Collections;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Sets;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Sets;

/// <summary>An operation on several sets.</summary>
internal enum SetOperation : byte
{
    Union,
    Intersection,
    Difference,
}

/// <summary>Unions, intersections and differences of sets, for commands that return, store or count the result.</summary>
internal static class SetAlgebra
{
    private static readonly KeySpec[] Stored = Keys.At(1, OW | Update).And(Keys.Range(2, -1, flags: RO | Access));

    public static readonly CommandRow[] Rows =
    [
        new("SINTER key [key ...]",
            -2, Keys.Range(1, -1, flags: RO | Access), ReadOnly, "set", "1.0.0", Intersect,
            "Returns the members that are in all sets.")
            { Complexity = OfIntersection, Tips = CommandTips.NondeterministicOrder },
        new("SINTERSTORE destination key [key ...]",
            -3, Stored, Write | DenyOom, "set", "1.0.0", IntersectStore, "Stores the members that are in all sets.")
            { Complexity = OfIntersection },
        new("SINTERCARD numkeys key [key ...] [LIMIT limit]",
            -3, Keys.Counted(1, RO | Access), ReadOnly, "set", "7.0.0", IntersectCount,
            "Counts the members that are in all sets.")
            { Complexity = OfIntersection },
        new("SUNION key [key ...]",
            -2, Keys.Range(1, -1, flags: RO | Access), ReadOnly, "set", "1.0.0", Unite, "Returns the union of sets.")
            { Complexity = OfAll, Tips = CommandTips.NondeterministicOrder },
        new("SUNIONSTORE destination key [key ...]",
            -3, Stored, Write | DenyOom, "set", "1.0.0", UniteStore, "Stores the union of sets.") { Complexity = OfAll },
        new("SUNIONCARD numkeys key [key ...] [LIMIT limit] [APPROX]",
            -3, Keys.Counted(1, RO | Access), ReadOnly, "set", "8.10.0", UniteCount, "Counts the members of the union of sets.") { Complexity = OfAll },
        new("SDIFF key [key ...]",
            -2, Keys.Range(1, -1, flags: RO | Access), ReadOnly, "set", "1.0.0", Subtract,
            "Returns the members of the first set that are in no other set.")
            { Complexity = OfAll, Tips = CommandTips.NondeterministicOrder },
        new("SDIFFSTORE destination key [key ...]",
            -3, Stored, Write | DenyOom, "set", "1.0.0", SubtractStore,
            "Stores the members of the first set that are in no other set.") { Complexity = OfAll },
        new("SDIFFCARD numkeys key [key ...] [LIMIT limit]",
            -3, Keys.Counted(1, RO | Access), ReadOnly, "set", "8.10.0", SubtractCount, "Counts the members of the first set " +
                "that are in no other set.") { Complexity = OfAll },
    ];

    private const string OfIntersection = "O(N*M) worst case where N is the cardinality of the smallest set and M is the " +
        "number of sets.";

    private const string OfAll = "O(N) where N is the total number of elements in all given sets.";

    private static void Intersect(ref CommandContext c) => Return(ref c, SetOperation.Intersection);

    private static void IntersectStore(ref CommandContext c) => Store(ref c, SetOperation.Intersection, "sinterstore");

    private static void IntersectCount(ref CommandContext c) => Count(ref c, SetOperation.Intersection);

    private static void Unite(ref CommandContext c) => Return(ref c, SetOperation.Union);

    private static void UniteStore(ref CommandContext c) => Store(ref c, SetOperation.Union, "sunionstore");

    private static void UniteCount(ref CommandContext c) => Count(ref c, SetOperation.Union);

    private static void Subtract(ref CommandContext c) => Return(ref c, SetOperation.Difference);

    private static void SubtractStore(ref CommandContext c) => Store(ref c, SetOperation.Difference, "sdiffstore");

    private static void SubtractCount(ref CommandContext c) => Count(ref c, SetOperation.Difference);

    private static void Return(ref CommandContext c, SetOperation operation)
    {
        if (!TryOperands(ref c, operation, 1, c.Args.Count - 1, out Operands sets)) return;
        if (sets.MustBeBuilt)
        {
            Entry built = Build(ref c, sets, 1, long.MaxValue);
            c.Reply.SetHeader(SetValue.Count(built));
            foreach (Element member in SetValue.Members(built)) c.Reply.Element(member);
            built.Keyspace.Remove(built);
            return;
        }
        DeferredReply reply = c.Reply.BeginDeferred();
        long count = 0;
        if (!sets.IsEmpty)
        {
            Entry leader = c.Peek(sets.Leader);
            Entry second = sets.Second > 0 ? c.Peek(sets.Second) : default;
            foreach (Element member in SetValue.Members(leader))
            {
                if (!sets.Admit(ref c, second, member)) continue;
                c.Reply.Element(member);
                count++;
            }
        }
        c.Reply.EndSet(reply, count);
    }

    private static void Store(ref CommandContext c, SetOperation operation, string keyEvent)
    {
        if (!TryOperands(ref c, operation, 2, c.Args.Count - 2, out Operands sets)) return;
        Entry built;
        if (sets.MustBeBuilt || operation == SetOperation.Union)
        {
            built = Build(ref c, sets, 1, long.MaxValue);
        }
        else
        {
            built = SetValue.Create(c.ScratchFor(1), c.Args[1], c.HashOf(1));
            if (!sets.IsEmpty)
            {
                Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
                Entry leader = c.Peek(sets.Leader);
                Entry second = sets.Second > 0 ? c.Peek(sets.Second) : default;
                foreach (Element member in SetValue.Members(leader))
                    if (sets.Admit(ref c, second, member)) SetValue.Add(built, member.Text(digits));
            }
        }
        long count = SetValue.Count(built);
        c.Store(built, 1, count, NotifyFlags.Set, keyEvent);
        c.Reply.Integer(count);
    }

    private static void Count(ref CommandContext c, SetOperation operation)
    {
        if (!TryCounted(ref c, operation == SetOperation.Union, out int keys, out long limit)) return;
        if (!TryOperands(ref c, operation, 2, keys, out Operands sets)) return;
        if (limit == 0) limit = long.MaxValue;
        long count = 0;
        if (sets.MustBeBuilt)
        {
            Entry built = Build(ref c, sets, 2, limit);
            count = Math.Min(limit, SetValue.Count(built));
            built.Keyspace.Remove(built);
        }
        else if (!sets.IsEmpty)
        {
            Entry leader = c.Peek(sets.Leader);
            Entry second = sets.Second > 0 ? c.Peek(sets.Second) : default;
            foreach (Element member in SetValue.Members(leader))
                if (sets.Admit(ref c, second, member) && ++count == limit) break;
        }
        c.Reply.Integer(count);
    }

    /// <summary>Parses "numkeys key [key ...] [LIMIT limit]", and APPROX for unions.</summary>
    public static bool TryCounted(ref CommandContext c, bool approximate, out int keys, out long limit)
    {
        limit = 0;
        keys = 0;
        long wanted = c.Int64(1, 1, long.MaxValue, "ERR numkeys should be greater than 0");
        if (!c.Failed && wanted > c.Args.Count - 2) c.Fail("ERR Number of keys can't be greater than number of args");
        if (c.Failed) return false;
        keys = (int)wanted;
        for (int i = 2 + keys; i < c.Args.Count && !c.Failed; i++)
        {
            // The count is always exact, so APPROX has no effect.
            if (approximate && c.Is(i, "APPROX"u8)) continue;
            if (c.Is(i, "LIMIT"u8) && i + 1 < c.Args.Count) limit = c.Int64(++i, 0, long.MaxValue, "ERR LIMIT can't be negative");
            else c.FailSyntax();
        }
        return !c.Failed;
    }

    /// <summary>
    /// Looks up all keys, checks their types and chooses the set to enumerate. It returns false if the handler must return.
    /// </summary>
    private static bool TryOperands(ref CommandContext c, SetOperation operation, int first, int count, out Operands sets)
    {
        sets = default;
        long total = 0, least = long.MaxValue;
        int smallest = 0, present = 0;
        for (int i = first; i < first + count; i++)
        {
            if (!c.TryFind(i, ValueType.Set, write: false, out Entry entry)) return false;
            if (!entry.Exists) continue;
            present++;
            long size = SetValue.Count(entry);
            total += size;
            if (size >= least) continue;
            least = size;
            smallest = i;
        }
        int leader = operation switch
        {
            SetOperation.Intersection => present == count ? smallest : 0,
            SetOperation.Difference => c.Peek(first).Exists ? first : 0,
            _ => smallest,
        };
        sets = new Operands(operation, first, count, leader, MustBeBuilt: operation switch
        {
            SetOperation.Union => count > 1,
            // With very many sets, even empty ones, a lookup of each member in each set costs more than a removal of all
            // members of the others.
            SetOperation.Difference => leader > 0 && SetValue.Count(c.Peek(leader)) * count / 2 > total,
            _ => false,
        });
        long work = operation == SetOperation.Intersection && leader > 0 ? Math.Min(total, least * count) : total;
        return !c.MoveToWorker(work);
    }

    /// <summary>
    /// Builds a union with at most <paramref name="limit"/> members, or a difference, in a scratch keyspace under the key at
    /// an argument.
    /// </summary>
    private static Entry Build(scoped ref CommandContext c, Operands sets, int under, long limit)
    {
        Entry built = SetValue.Create(c.ScratchFor(under), c.Args[under], c.HashOf(under));
        if (sets.Operation == SetOperation.Union) Unite(ref c, sets, built, limit);
        else Subtract(ref c, sets, built);
        return built;
    }

    private static void Unite(ref CommandContext c, Operands sets, scoped in Entry built, long limit)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        bool begun = false;
        for (int i = sets.First; i < sets.First + sets.Count; i++)
        {
            Entry entry = c.Peek(i);
            if (!entry.Exists) continue;
            foreach (Element member in SetValue.Members(entry))
            {
                ReadOnlySpan<byte> text = member.Text(digits);
                if (!begun) SetValue.Reserve(built, SetValue.Count(entry), text);
                begun = true;
                if (SetValue.Add(built, text) && SetValue.Count(built) >= limit) return;
            }
        }
    }

    private static void Subtract(ref CommandContext c, Operands sets, scoped in Entry built)
    {
        Unite(ref c, sets with { Count = 1 }, built, long.MaxValue);
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        for (int i = sets.First + 1; i < sets.First + sets.Count && SetValue.Count(built) > 0; i++)
        {
            Entry other = c.Peek(i);
            if (!other.Exists) continue;
            foreach (Element member in SetValue.Members(other)) SetValue.Remove(built, member.Text(digits));
        }
    }

    /// <summary>
    /// The sets of one command. The command enumerates one set, the leader, and looks up each member in the others, unless
    /// <paramref name="MustBeBuilt"/> is set.
    /// </summary>
    private readonly record struct Operands(SetOperation Operation, int First, int Count, int Leader, bool MustBeBuilt)
    {
        /// <summary>Whether the result has no members.</summary>
        public bool IsEmpty => Leader == 0;

        /// <summary>The first argument other than the leader; 0 if there is none.</summary>
        public int Second => Count < 2 ? 0 : Leader == First ? First + 1 : First;

        /// <summary>Whether a member of the leader belongs to the result.</summary>
        public bool Admit(ref CommandContext c, scoped in Entry second, scoped Element member)
        {
            bool wanted = Operation == SetOperation.Intersection;
            for (int i = First; i < First + Count; i++)
            {
                if (i == Leader) continue;
                if (i == Second)
                {
                    if ((second.Exists && SetValue.Contains(second, member)) != wanted) return false;
                    continue;
                }
                Entry other = c.Peek(i);
                if ((other.Exists && SetValue.Contains(other, member)) != wanted) return false;
            }
            return true;
        }
    }
}
