using RedisClone.Configuration;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>The stream commands that append, read, delete and trim entries.</summary>
internal static class StreamCommands
{
    private const string OfRange = "O(N) with N being the number of elements returned. If N is constant (e.g. always asking " +
        "for the first 10 elements with COUNT), you can consider it O(1).";

    public static readonly CommandRow[] Rows =
    [
        new("XADD key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [IDMPAUTO producer | IDMP producer message] [<MAXLEN | MINID> " +
            "[= | ~] threshold [LIMIT count]] <* | id> field value [field value ...]",
            -5, Keys.At(1, RW | Update), Write | DenyOom | Fast, "stream", "5.0.0", Append,
            "Appends an entry to a stream and creates the stream if it does not exist.")
        {
            Complexity = "O(1) when adding a new entry, O(N) when trimming where N being the number of entries evicted.",
            Tips = CommandTips.Nondeterministic,
        },
        new("XLEN key",
            2, Keys.At(1, RO), ReadOnly | Fast, "stream", "5.0.0", Length, "Returns the number of entries of a stream."),
        new("XRANGE key start end [COUNT count]",
            -4, Keys.At(1, RO | Access), ReadOnly, "stream", "5.0.0", Range, "Returns the entries between two IDs.")
            { Complexity = OfRange },
        new("XREVRANGE key end start [COUNT count]",
            -4, Keys.At(1, RO | Access), ReadOnly, "stream", "5.0.0", ReverseRange,
            "Returns the entries between two IDs in reverse order.")
            { Complexity = OfRange },
        new("XDEL key id [id ...]",
            -3, Keys.At(1, RW | KeyFlags.Delete), Write | Fast, "stream", "5.0.0", Delete, "Deletes entries of a stream.")
            { Complexity = "O(1) for each single item to delete in the stream, regardless of the stream size." },
        new("XTRIM key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]",
            -4, Keys.At(1, RW | KeyFlags.Delete), Write, "stream", "5.0.0", Trim, "Removes the oldest entries of a stream.")
        {
            Complexity = "O(N), with N being the number of evicted entries. Constant times are very small however, since " +
                "entries are organized in blocks that go as a whole.",
            Tips = CommandTips.Nondeterministic,
        },
        new("XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
            -3, Keys.At(1, RW | Update), Write | DenyOom | Fast, "stream", "5.0.0", SetId, "Sets the internal counters of a stream; for internal use."),
    ];

    // ---- appending

    private static void Append(ref CommandContext c)
    {
        var trimming = new StreamTrimOptions();
        var message = new StreamIdempotence.Message();
        bool create = true, auto = false, hasSequence = true;
        StreamId id = default;
        int at = 2;
        for (; at < c.Args.Count && !c.Failed; at++)
        {
            auto = StreamIds.IsWord(c.Args[at], '*');
            if (auto) break;
            if (trimming.TryRead(ref c, ref at) || message.TryRead(ref c, ref at)) continue;
            if (c.Failed) break;
            if (c.Is(at, "NOMKSTREAM"u8))
            {
                create = false;
                continue;
            }
            id = c.NewStreamId(at, out hasSequence);
            break;
        }
        trimming.Finish(ref c, mustTrim: false);
        int fields = c.Args.Count - at - 1;
        if (!c.Failed && (fields < 2 || fields % 2 != 0)) c.Fail(Errors.WrongArity("xadd"));
        if (!c.Failed && !auto && message.IsGiven) c.Fail("ERR IDMP/IDMPAUTO can be used only with auto-generated IDs");
        if (!c.Failed && !auto && hasSequence && id == StreamId.Min) c.Fail("ERR The ID specified in XADD must be greater than 0-0");
        if (c.Failed || !c.TryFind(1, ValueType.Stream, write: true, out Entry entry)) return;
        if (!entry.Exists && !create)
        {
            c.Reply.Null();
            return;
        }
        if (entry.Exists && message.IsGiven && message.TryFind(ref c, entry, at + 1, out StreamId known))
        {
            c.Reply.StreamId(known);
            return;
        }
        if (!TryChooseId(ref c, entry.Exists ? StreamValue.State(entry).Last : StreamId.Min, auto, hasSequence, ref id)) return;
        bool saysMore = message.IsGiven || trimming.Rule != StreamReferenceRule.Keep;
        if (saysMore && c.EffectsWanted && !c.ReserveEffects(SizeOfEffects(c, entry, trimming))) return;
        if (!StreamValue.Add(ref entry, c.Args[1], id, new ArgumentFields(c.Args, at + 1)))
        {
            c.Fail("ERR Elements are too large to be stored");
            return;
        }
        c.Reply.StreamId(id);
        // The deletion of acknowledged entries is an effect of its own, and the new entry may be one of them.
        bool isTrimApart = trimming.Rule == StreamReferenceRule.Acknowledged && !trimming.IsEffect(entry);
        if (isTrimApart) ReplaceByDecided(ref c, entry, trimming, id, at + 1);
        long trimmed = trimming.IsGiven ? StreamReferences.Trim(ref c, entry, trimming.Trim, trimming.Rule) : 0;
        if (!isTrimApart && (auto || !hasSequence || trimming.Trim.Approximate || trimming.Rule != StreamReferenceRule.Keep))
            ReplaceByDecided(ref c, entry, trimming, id, at + 1);
        if (message.IsGiven) message.Remember(ref c, entry, at + 1, id);
        c.Modified(1, NotifyFlags.Stream, "xadd");
        if (trimmed > 0) c.Notify(1, NotifyFlags.Stream, "xtrim");
    }

    /// <summary>
    /// An upper bound of the size, in bytes, of the effects of XADD: the entry, its idempotent message with the settings, and the trim.
    /// </summary>
    private static long SizeOfEffects(scoped in CommandContext c, scoped in Entry entry, in StreamTrimOptions trimming) =>
        3 * EffectBuffer.SizeOf(c.Args.Count + 8, c.Args.WireLength + 4L * StreamIds.MaxLength)
        + (trimming.IsGiven ? StreamReferences.SizeOfTrim(c, entry, trimming.Trim, trimming.Rule) : 0);

    /// <summary>
    /// Chooses the identifier of a new entry. It is greater than <paramref name="last"/> even if the clock goes backwards.
    /// </summary>
    private static bool TryChooseId(ref CommandContext c, StreamId last, bool auto, bool hasSequence, ref StreamId id)
    {
        if (last == StreamId.Max) return c.Fail("ERR The stream has exhausted the last possible ID, unable to add more items");
        if (auto)
        {
            if (c.Now > 0 && (ulong)c.Now > last.Milliseconds) id = new StreamId((ulong)c.Now, 0);
            else last.TryNext(out id);
            return true;
        }
        if (!hasSequence && id.Milliseconds == last.Milliseconds && last.Sequence < ulong.MaxValue) id = last with { Sequence = last.Sequence + 1 };
        return id > last || c.Fail("ERR The ID specified in XADD is equal or smaller than the target stream top item");
    }

    private static void ReplaceByDecided(ref CommandContext c, in Entry entry, in StreamTrimOptions trimming, StreamId id, int fields)
    {
        bool cuts = trimming.IsEffect(entry);
        int arguments = 3 + (cuts ? StreamTrimOptions.EffectArguments : 0) + c.Args.Count - fields;
        if (c.ReplaceEffect(arguments) is not { } effect) return;
        effect.Add("XADD"u8);
        effect.Add(c.Args[1]);
        if (cuts) trimming.AddTo(effect, entry);
        effect.Add(id);
        for (int i = fields; i < c.Args.Count; i++) effect.Add(c.Args[i]);
    }

    /// <summary>The fields and values of the request, from argument <paramref name="first"/> on.</summary>
    private readonly ref struct ArgumentFields(Request request, int first) : IStreamFields
    {
        private readonly Request _request = request;

        public int Count => (_request.Count - first) / 2;

        public ReadOnlySpan<byte> Name(int index) => _request[first + 2 * index];

        public ReadOnlySpan<byte> Value(int index) => _request[first + 2 * index + 1];
    }

    // ---- reading

    private static void Length(ref CommandContext c)
    {
        if (c.TryFind(1, ValueType.Stream, write: false, out Entry entry)) c.Reply.Integer(entry.Exists ? StreamValue.Count(entry) : 0);
    }

    private static void Range(ref CommandContext c) => Range(ref c, 2, 3, backwards: false);

    private static void ReverseRange(ref CommandContext c) => Range(ref c, 3, 2, backwards: true);

    private static void Range(ref CommandContext c, int first, int last, bool backwards)
    {
        StreamId from = c.LowerStreamBound(first);
        StreamId to = c.Failed ? default : c.UpperStreamBound(last);
        long count = long.MaxValue;
        for (int i = 4; i < c.Args.Count && !c.Failed; i += 2)
        {
            if (c.Is(i, "COUNT"u8) && i + 1 < c.Args.Count) count = Math.Max(0, c.Int64(i + 1));
            else c.FailSyntax();
        }
        if (c.Failed || !c.TryFind(1, ValueType.Stream, write: false, out Entry entry)) return;
        if (!entry.Exists) c.Reply.EmptyArray();
        else if (count == 0) c.Reply.NullArray();
        else if (!c.MoveToWorker(Math.Min(count, StreamValue.MostBetween(entry, from, to)))) Reply(c.Reply, entry, from, to, count, backwards);
    }

    /// <summary>Replies with at most <paramref name="count"/> entries between two identifiers.</summary>
    /// <returns>The number of entries in the reply.</returns>
    public static long Reply(ReplyWriter reply, in Entry entry, StreamId from, StreamId to, long count, bool backwards = false)
    {
        DeferredReply array = reply.BeginDeferred();
        long replied = 0;
        foreach (StreamEntry found in StreamValue.Entries(entry, from, to, backwards))
        {
            reply.StreamEntry(found);
            if (++replied == count) break;
        }
        reply.EndArray(array, replied);
        return replied;
    }

    // ---- removing

    private static void Delete(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Stream, write: true, out Entry entry)) return;
        if (!entry.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        for (int i = 2; i < c.Args.Count && !c.Failed; i++) c.StreamId(i);
        if (c.Failed) return;
        long deleted = 0;
        for (int i = 2; i < c.Args.Count; i++)
            if (StreamValue.Delete(entry, c.StreamId(i))) deleted++;
        if (deleted > 0) c.Modified(1, NotifyFlags.Stream, "xdel");
        c.Reply.Integer(deleted);
    }

    private static void Trim(ref CommandContext c)
    {
        var trimming = new StreamTrimOptions();
        for (int i = 2; i < c.Args.Count && !c.Failed; i++)
            if (!trimming.TryRead(ref c, ref i)) c.FailSyntax();
        trimming.Finish(ref c, mustTrim: true);
        if (c.Failed || !c.TryFind(1, ValueType.Stream, write: true, out Entry entry)) return;
        if (!c.ReserveEffects(StreamReferences.SizeOfTrim(c, entry, trimming.Trim, trimming.Rule))) return;
        long trimmed = entry.Exists ? StreamReferences.Trim(ref c, entry, trimming.Trim, trimming.Rule) : 0;
        if (trimmed > 0)
        {
            if (trimming.IsEffect(entry) && (trimming.Trim.Approximate || trimming.Rule != StreamReferenceRule.Keep)
                && c.ReplaceEffect(2 + StreamTrimOptions.EffectArguments) is { } effect)
            {
                effect.Add("XTRIM"u8);
                effect.Add(c.Args[1]);
                trimming.AddTo(effect, entry);
            }
            c.Modified(1, NotifyFlags.Stream, "xtrim");
        }
        c.Reply.Integer(trimmed);
    }

    // ---- metadata of a stream

    private static void SetId(ref CommandContext c)
    {
        StreamId last = c.StreamId(2), highestDeleted = default;
        long added = -1;
        for (int i = 3; i < c.Args.Count && !c.Failed; i += 2)
        {
            bool hasMore = i + 1 < c.Args.Count;
            if (hasMore && c.Is(i, "ENTRIESADDED"u8))
            {
                added = c.Int64(i + 1);
                if (!c.Failed && added < 0) c.Fail("ERR entries_added must be positive");
            }
            else if (hasMore && c.Is(i, "MAXDELETEDID"u8))
            {
                highestDeleted = c.StreamId(i + 1);
                if (!c.Failed && last < highestDeleted) c.Fail("ERR The ID specified in XSETID is smaller than the provided " +
                    "max_deleted_entry_id");
            }
            else
            {
                c.FailSyntax();
            }
        }
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists) c.Fail(Errors.NoSuchKey);
        if (c.Failed || !c.Expect(entry, ValueType.Stream)) return;
        StreamState state = StreamValue.State(entry);
        long count = StreamValue.Count(entry);
        if (last < state.HighestDeleted) c.Fail("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id");
        else if (count > 0 && last < StreamValue.LastEntry(entry)) c.Fail("ERR The ID specified in XSETID is smaller than the " +
            "target stream top item");
        else if (count > 0 && added != -1 && added < count) c.Fail("ERR The entries_added specified in XSETID is smaller than " +
            "the target stream length");
        if (c.Failed) return;
        StreamValue.SetState(entry, new StreamState(
            last, highestDeleted == StreamId.Min ? state.HighestDeleted : highestDeleted, added < 0 ? state.Added : (ulong)added));
        if (added >= 0) StreamGroup.ClampRead(entry, added);
        c.Modified(1, NotifyFlags.Stream, "xsetid");
        c.Reply.Ok();
    }
}
