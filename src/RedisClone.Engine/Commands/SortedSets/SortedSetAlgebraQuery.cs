using RedisClone.Engine.Commands.Sets;
using RedisClone.Memory;
using RedisClone.Storage;

namespace RedisClone.Engine.Commands.SortedSets;

/// <summary>How the scores of one member in several sets are combined.</summary>
internal enum ScoreAggregate : byte
{
    Sum,
    Min,
    Max,

    /// <summary>Adds the weights of the sets that have the member and ignores its scores.</summary>
    Count,
}

/// <summary>
/// The arguments of ZUNION and similar commands: the sets in the order of computation, and the combination of scores.
/// </summary>
internal struct SortedSetAlgebraQuery
{
    private Operand[]? _operands;
    private ScoreAggregate _aggregate;

    public SetOperation Operation { get; init; }

    /// <summary>Whether the command stores the result at a key.</summary>
    public bool Stores { get; init; }

    /// <summary>Whether the command replies with the number of members only.</summary>
    public bool Counts { get; init; }

    public bool WithScores { get; private set; }

    public long Limit { get; private set; }

    public int Count { get; private set; }

    public bool AllExist { get; private set; }

    /// <summary>An estimate of the number of members that the command visits.</summary>
    public long Work { get; private set; }

    public readonly int KeyAt(int operand) => _operands![operand].Argument;

    /// <summary>The weighted score of a member of one set. Infinity times zero is 0.</summary>
    public readonly double Weigh(int operand, double score)
    {
        double weighed = _aggregate == ScoreAggregate.Count ? _operands![operand].Weight : _operands![operand].Weight * score;
        return double.IsNaN(weighed) ? 0 : weighed;
    }

    public readonly double Combine(double left, double right)
    {
        if (_aggregate == ScoreAggregate.Min) return right < left ? right : left;
        if (_aggregate == ScoreAggregate.Max) return right > left ? right : left;
        double sum = left + right;
        return double.IsNaN(sum) ? 0 : sum;
    }

    /// <summary>Parses the arguments from the number of keys on. On failure, it sets an error and returns false.</summary>
    public bool TryParse(ref CommandContext c, int numkeys)
    {
        long keys = c.Int64(numkeys);
        if (!c.Failed && keys < 1) c.Fail($"ERR at least 1 input key is needed for '{c.Row.FullName}' command");
        else if (!c.Failed && keys > c.Args.Count - numkeys - 1) c.FailSyntax();
        if (c.Failed) return false;
        Count = (int)keys;
        _operands = RentedArrays.Rent<Operand>(Count);
        return TryKeys(ref c, numkeys + 1) && TryOptions(ref c, numkeys + 1 + Count) && Arrange();
    }

    public void Dispose()
    {
        if (_operands is not null) RentedArrays.Return(_operands);
        _operands = null;
    }

    private bool TryKeys(ref CommandContext c, int first)
    {
        AllExist = true;
        for (int i = 0; i < Count; i++)
        {
            Entry entry = c.FindForRead(first + i);
            if (entry.Exists && entry.Type is not (ValueType.SortedSet or ValueType.Set)) return c.Fail(Errors.WrongType);
            AllExist &= entry.Exists;
            _operands![i] = new Operand(first + i, 1, entry.Exists ? SortedSetAlgebra.CountOf(entry) : 0);
        }
        return true;
    }

    private bool TryOptions(ref CommandContext c, int from)
    {
        bool combines = Operation != SetOperation.Difference && !Counts;
        for (int i = from; i < c.Args.Count && !c.Failed; i++)
        {
            int left = c.Args.Count - i - 1;
            if (combines && left >= Count && c.Is(i, "WEIGHTS"u8))
            {
                for (int k = 0; k < Count; k++)
                    _operands![k] = _operands[k] with { Weight = c.Double(++i, "ERR weight value is not a float") };
            }
            else if (combines && left >= 1 && c.Is(i, "AGGREGATE"u8))
            {
                i++;
                if (c.Is(i, "SUM"u8)) _aggregate = ScoreAggregate.Sum;
                else if (c.Is(i, "MIN"u8)) _aggregate = ScoreAggregate.Min;
                else if (c.Is(i, "MAX"u8)) _aggregate = ScoreAggregate.Max;
                else if (c.Is(i, "COUNT"u8)) _aggregate = ScoreAggregate.Count;
                else c.FailSyntax();
            }
            else if (!Stores && !Counts && c.Is(i, "WITHSCORES"u8))
            {
                WithScores = true;
            }
            else if (Counts && left >= 1 && c.Is(i, "LIMIT"u8))
            {
                Limit = c.Int64(++i, 0, long.MaxValue, "ERR LIMIT can't be negative");
            }
            else
            {
                c.FailSyntax();
            }
        }
        return !c.Failed;
    }

    /// <summary>
    /// Sorts the sets of a union or an intersection by size. This makes intersections faster. For unions, it gives the same
    /// rounding as Redis, which adds scores in this order.
    /// </summary>
    private bool Arrange()
    {
        Span<Operand> operands = _operands.AsSpan(0, Count);
        foreach (Operand operand in operands) Work += operand.Size;
        if (Operation == SetOperation.Difference) return true;
        // The sort is stable. There are usually few sets.
        if (Count <= 64) SortFew(operands);
        else operands.Sort(static (a, b) => a.Size != b.Size ? a.Size.CompareTo(b.Size) : a.Argument.CompareTo(b.Argument));
        if (Operation == SetOperation.Intersection) Work = Math.Min(Work, operands[0].Size * Count);
        return true;
    }

    private static void SortFew(Span<Operand> operands)
    {
        for (int i = 1; i < operands.Length; i++)
        {
            Operand moved = operands[i];
            int at = i;
            for (; at > 0 && operands[at - 1].Size > moved.Size; at--) operands[at] = operands[at - 1];
            operands[at] = moved;
        }
    }

    private readonly record struct Operand(int Argument, double Weight, long Size);
}
