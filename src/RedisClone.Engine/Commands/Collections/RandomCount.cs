using RedisClone.Storage;

namespace RedisClone.Engine.Commands.Collections;

/// <summary>
/// The count of HRANDFIELD, SRANDMEMBER and ZRANDMEMBER: one element, at most a number of distinct elements, or exactly a
/// number with repetitions.
/// </summary>
internal readonly record struct RandomCount
{
    private readonly long _count;

    private RandomCount(long count, bool single, bool repeats, bool with)
    {
        _count = count;
        Single = single;
        Repeats = repeats;
        With = with;
    }

    /// <summary>Whether there is no count: the reply is one element and not an array.</summary>
    public bool Single { get; }

    /// <summary>Whether the count is negative: elements may repeat.</summary>
    public bool Repeats { get; }

    /// <summary>Whether the reply includes values or scores.</summary>
    public bool With { get; }

    /// <summary>
    /// Parses the options and finds the value at argument 1. It returns false if the command has replied or failed.
    /// </summary>
    public static bool TryBegin(scoped ref CommandContext c, ValueType type, ReadOnlySpan<byte> withWord, out RandomCount count, out Entry entry)
    {
        entry = default;
        if (!TryParse(ref c, withWord, out count) || !c.TryFind(1, type, write: false, out entry)) return false;
        if (!entry.Exists) count.ReplyNothing(ref c);
        return entry.Exists;
    }

    public void ReplyNothing(ref CommandContext c)
    {
        if (Single) c.Reply.Null();
        else c.Reply.EmptyArray();
    }

    /// <summary>
    /// Computes how many elements to return of a value with <paramref name="size"/> elements. It returns false if they are
    /// too many, or if the command moves to a worker.
    /// </summary>
    public bool TryCount(ref CommandContext c, long size, out long count)
    {
        count = Repeats ? _count : Math.Min(_count, size);
        if (Repeats && !c.MayReply(count)) return false;
        // A sample without repetition may visit more elements than it returns.
        return !c.MoveToWorker(Single ? 1 : Repeats ? count : Math.Min(size, count * 16));
    }

    /// <summary>
    /// Parses the optional count at argument 2 and the word after it. On failure, it sets an error and returns false.
    /// </summary>
    private static bool TryParse(ref CommandContext c, ReadOnlySpan<byte> withWord, out RandomCount count)
    {
        count = new RandomCount(1, single: true, repeats: false, with: false);
        if (c.Args.Count == 2) return true;
        // SRANDMEMBER has no word after the count. It checks the number of arguments before the count.
        if (c.Args.Count > 3 && withWord.IsEmpty) return c.FailSyntax();
        long wanted = c.NegatableInt64(2);
        if (c.Failed) return false;
        bool with = c.Args.Count == 4 && c.Is(3, withWord);
        if (c.Args.Count > 3 && !with) return c.FailSyntax();
        if (with && wanted is < -long.MaxValue / 2 or > long.MaxValue / 2) return c.Fail(Errors.OutOfRange);
        count = new RandomCount(Math.Abs(wanted), single: false, repeats: wanted < 0, with);
        return true;
    }
}
