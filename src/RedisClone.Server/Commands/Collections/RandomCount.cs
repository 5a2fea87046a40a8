using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>How many elements HRANDFIELD, SRANDMEMBER and ZRANDMEMBER are asked for: one, up to so many, or exactly so many with repetitions.</summary>
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

    /// <summary>No count was given: one element, not in an array.</summary>
    public bool Single { get; }

    /// <summary>The count was negative: the same element may be returned more than once.</summary>
    public bool Repeats { get; }

    /// <summary>Values or scores are wanted too.</summary>
    public bool With { get; }

    /// <summary>Reads what is asked for and finds the value at argument 1; false when the command is answered, or has failed.</summary>
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

    /// <summary>How many elements of a value of so many are to be returned; false when they are too many, or the command goes on elsewhere.</summary>
    public bool TryCount(ref CommandContext c, long size, out long count)
    {
        count = Repeats ? _count : Math.Min(_count, size);
        if (Repeats && !c.MayReply(count)) return false;
        // A sample without repetition may have to walk over what it does not take.
        return !c.MoveToWorker(Single ? 1 : Repeats ? count : Math.Min(size, count * 16));
    }

    /// <summary>Reads the optional count at argument 2 and the word after it; false with an error latched.</summary>
    private static bool TryParse(ref CommandContext c, ReadOnlySpan<byte> withWord, out RandomCount count)
    {
        count = new RandomCount(1, single: true, repeats: false, with: false);
        if (c.Args.Count == 2) return true;
        // SRANDMEMBER, which takes no word, looks at the number of arguments first.
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
