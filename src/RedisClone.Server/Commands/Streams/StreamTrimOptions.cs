using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>The options that XADD and XTRIM share: how far the stream is cut.</summary>
internal struct StreamTrimOptions
{
    private const string Both = "ERR syntax error, MAXLEN and MINID options at the same time are not compatible";
    private const long DefaultBlocks = 100, LeastDefaultLimit = 10_000, MostDefaultLimit = 1_000_000;

    private long _limit;
    private bool _limited;
    private StreamReferenceRule? _rule;

    /// <summary>Whether anything is to be cut.</summary>
    public bool IsGiven { get; private set; }

    public StreamTrim Trim { get; private set; }

    /// <summary>What becomes of the pending entries of groups.</summary>
    public readonly StreamReferenceRule Rule => _rule ?? StreamReferenceRule.Keep;

    /// <summary>Reads the option at an argument, which becomes its last; false if it is none of these.</summary>
    public bool TryRead(ref CommandContext c, ref int argument)
    {
        if (StreamReferences.TryRead(ref c, argument, ref _rule)) return true;
        bool byId = c.Is(argument, "MINID"u8), hasMore = argument + 1 < c.Args.Count;
        if (hasMore && (byId || c.Is(argument, "MAXLEN"u8)))
        {
            if (IsGiven) c.Fail(Both);
            else ReadThreshold(ref c, ref argument, byId);
            return true;
        }
        if (!hasMore || !c.Is(argument, "LIMIT"u8)) return false;
        _limited = true;
        _limit = c.Int64(++argument);
        if (!c.Failed && _limit < 0) c.Fail("ERR The LIMIT argument must be >= 0.");
        return true;
    }

    /// <summary>Checks all options together, once they are read: those of a command that only trims, or that need not.</summary>
    public void Finish(ref CommandContext c, bool mustTrim)
    {
        if (c.Failed) return;
        // A limit in what is replayed was one on the command that it came from: what the limit left is written there.
        if (c.Session.IsReplay) return;
        if (_limit != 0 && !IsGiven) c.Fail("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
        else if (mustTrim && !IsGiven) c.Fail("ERR syntax error, XTRIM must be called with a trimming strategy");
        else if (_limited && !Trim.Approximate) c.Fail("ERR syntax error, LIMIT cannot be used without the special ~ option");
        if (!Trim.Approximate) return;
        long limit = _limited ? _limit : DefaultLimit(c.Server.Config.StreamNodeMaxEntries);
        Trim = Trim with { Limit = limit };
    }

    /// <summary>Whether the cut is an effect of this form; that by acknowledgement leaves gaps, and is written down as deletions.</summary>
    public readonly bool IsEffect(in Entry entry) => IsGiven && (Rule != StreamReferenceRule.Acknowledged || StreamGroup.Count(entry) == 0);

    /// <summary>Adds what was cut to an effect: as it was decided, since a replay may find other limits.</summary>
    public readonly void AddTo(EffectBuffer effect, in Entry entry)
    {
        effect.Add(Trim.ById ? "MINID"u8 : "MAXLEN"u8);
        effect.Add("="u8);
        if (!Trim.Approximate && Trim.ById) effect.Add(Trim.MinId);
        else if (!Trim.Approximate) effect.Add(Trim.MaxLength);
        else if (!Trim.ById) effect.Add(StreamValue.Count(entry));
        else effect.Add(StreamValue.Count(entry) > 0 ? StreamValue.First(entry) : StreamId.Max);
    }

    /// <summary>How many arguments <see cref="AddTo"/> adds.</summary>
    public const int EffectArguments = 3;

    private void ReadThreshold(ref CommandContext c, ref int argument, bool byId)
    {
        bool approximate = false;
        if (argument + 2 < c.Args.Count)
        {
            approximate = StreamIds.IsWord(c.Args[argument + 1], '~');
            if (approximate || StreamIds.IsWord(c.Args[argument + 1], '=')) argument++;
        }
        argument++;
        IsGiven = true;
        Trim = byId
            ? new StreamTrim { ById = true, Approximate = approximate, MinId = c.StreamId(argument) }
            : new StreamTrim { Approximate = approximate, MaxLength = c.Int64(argument) };
        if (!c.Failed && Trim.MaxLength < 0) c.Fail("ERR The MAXLEN argument must be >= 0.");
    }

    /// <summary>Without a limit of its own a cut goes only so far that it is quick.</summary>
    private static long DefaultLimit(long blockEntries) =>
        blockEntries is > 0 and <= MostDefaultLimit ? Math.Min(DefaultBlocks * blockEntries, MostDefaultLimit)
        : blockEntries > 0 ? MostDefaultLimit : LeastDefaultLimit;
}
