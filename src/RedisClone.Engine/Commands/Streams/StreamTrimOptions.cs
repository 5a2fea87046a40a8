using RedisClone.Engine.Effects;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>The trim options that XADD and XTRIM share.</summary>
internal struct StreamTrimOptions
{
    private const string Both = "ERR syntax error, MAXLEN and MINID options at the same time are not compatible";
    private const long DefaultBlocks = 100, LeastDefaultLimit = 10_000, MostDefaultLimit = 1_000_000;

    private long _limit;
    private bool _limited;
    private StreamReferenceRule? _rule;

    /// <summary>Whether MAXLEN or MINID is given.</summary>
    public bool IsGiven { get; private set; }

    public StreamTrim Trim { get; private set; }

    /// <summary>The rule for the pending entries of groups.</summary>
    public readonly StreamReferenceRule Rule => _rule ?? StreamReferenceRule.Keep;

    /// <summary>
    /// Reads the option at an argument and advances the index to its last argument. It returns false for any other option.
    /// </summary>
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

    /// <summary>
    /// Checks the options together after the last one is read. <paramref name="mustTrim"/> requires MAXLEN or MINID.
    /// </summary>
    public void Finish(ref CommandContext c, bool mustTrim)
    {
        if (c.Failed) return;
        // The effect that is replayed already has the result of the limit, so LIMIT needs no check here.
        if (c.Session.IsReplay) return;
        if (_limit != 0 && !IsGiven) c.Fail("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
        else if (mustTrim && !IsGiven) c.Fail("ERR syntax error, XTRIM must be called with a trimming strategy");
        else if (_limited && !Trim.Approximate) c.Fail("ERR syntax error, LIMIT cannot be used without the special ~ option");
        if (!Trim.Approximate) return;
        long limit = _limited ? _limit : DefaultLimit(c.Data.Config.StreamNodeMaxEntries);
        Trim = Trim with { Limit = limit };
    }

    /// <summary>
    /// Whether the effect states the trim as MAXLEN or MINID. A trim by acknowledgement leaves gaps, so its effect is an
    /// XDEL.
    /// </summary>
    public readonly bool IsEffect(in Entry entry) => IsGiven && (Rule != StreamReferenceRule.Acknowledged || StreamGroup.Count(entry) == 0);

    /// <summary>
    /// Adds the trim to an effect as an exact one: an approximate trim could delete other entries in a replay, where limits
    /// may differ.
    /// </summary>
    public readonly void AddTo(EffectBuffer effect, in Entry entry)
    {
        effect.Add(Trim.ById ? "MINID"u8 : "MAXLEN"u8);
        effect.Add("="u8);
        if (!Trim.Approximate && Trim.ById) effect.Add(Trim.MinId);
        else if (!Trim.Approximate) effect.Add(Trim.MaxLength);
        else if (!Trim.ById) effect.Add(StreamValue.Count(entry));
        else effect.Add(StreamValue.Count(entry) > 0 ? StreamValue.First(entry) : StreamId.Max);
    }

    /// <summary>The number of arguments that <see cref="AddTo"/> adds.</summary>
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

    /// <summary>The limit of an approximate trim without LIMIT. It bounds the time that the trim takes.</summary>
    private static long DefaultLimit(long blockEntries) =>
        blockEntries is > 0 and <= MostDefaultLimit ? Math.Min(DefaultBlocks * blockEntries, MostDefaultLimit)
        : blockEntries > 0 ? MostDefaultLimit : LeastDefaultLimit;
}
