using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>XREAD and XREADGROUP: they read entries from streams, and can block until there are some.</summary>
internal static class StreamReads
{
    private const string OfReads =
        "For each stream mentioned: O(M) with M being the number of elements returned. If M is constant (e.g. always asking " +
            "for the first 10 elements with " +
        "COUNT), you can consider it O(1). When blocked, the XADD that brings the data pays the O(N) time to serve the N " +
            "clients that wait for it.";

    /// <summary>
    /// The least interval in milliseconds at which a blocked client looks for entries that became pending since.
    /// </summary>
    private const long LeastClaimWait = 100;

    /// <summary>The greatest number of streams for which a command keeps its identifiers on the stack.</summary>
    private const int StackStreams = 16;

    public static readonly CommandRow[] Rows =
    [
        new("XREAD [COUNT count] [MAXCOUNT count] [MAXSIZE bytes] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
            -4, After("STREAMS", 1), ReadOnly | Blocking, "stream", "5.0.0", Read, "Reads entries after given IDs from " +
                "streams; can block until there are some.")
            { FindKeys = FindKeysOfRead, Complexity = OfReads },
        new("XREADGROUP GROUP group consumer [COUNT count] [MAXCOUNT count] [MAXSIZE bytes] [BLOCK milliseconds] [CLAIM " +
            "min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]",
            -7, After("STREAMS", 4), Write | Blocking | NeedsRoom, "stream", "5.0.0", ReadGroup,
            "Reads entries from streams for a consumer of a group; can block until there are some.")
            { FindKeys = FindKeysOfRead, Complexity = OfReads },
    ];

    private static KeySpec[] After(string keyword, int startFrom) =>
        [new KeySpec(RO | Access) { Keyword = keyword, StartFrom = startFrom, Last = -1, Limit = 2 }];

    /// <summary>
    /// The keys are the first half of the arguments after STREAMS. If the number of arguments is odd, the handler replies
    /// with an error before it looks up a key.
    /// </summary>
    private static void FindKeysOfRead(in Request request, ref KeyPositions into)
    {
        int first = StreamReadOptions.FirstKeyOf(request);
        int last = first + (request.Count - first) / 2;
        for (int i = first; first > 0 && i < last; i++) into.Add(i, RO | Access);
    }

    private static void Read(ref CommandContext c) => Read(ref c, grouped: false);

    private static void ReadGroup(ref CommandContext c)
    {
        c.IsTold = true;
        Read(ref c, grouped: true);
    }

    private static void Read(ref CommandContext c, bool grouped)
    {
        if (!StreamReadOptions.TryRead(ref c, grouped, out StreamReadOptions options)) return;
        Span<StreamId> after = options.Keys <= StackStreams ? stackalloc StreamId[StackStreams] : new StreamId[options.Keys];
        after = after[..options.Keys];
        if (!TryResolve(ref c, options, after, out long work) || c.MoveToWorker(work)) return;
        if (grouped && c.EffectsWanted && !StreamReadEffects.TryReserve(ref c, options, after)) return;

        DeferredReply replies = default;
        var budget = new StreamReadBudget(options);
        long served = 0;
        for (int i = 0; i < options.Keys && !budget.IsSpent; i++)
        {
            Entry entry = c.Peek(options.FirstKey + i);
            if (!entry.Exists) continue;
            StreamDelivery delivery = grouped ? StreamDelivery.Begin(ref c, entry, options, options.FirstKey + i, after[i]) : default;
            if (!(grouped ? delivery.HasAny(entry, c.Now) : StreamValue.Count(entry) > 0 && StreamValue.LastEntry(entry) > after[i])) continue;
            if (served++ == 0) replies = c.Reply.BeginDeferred();
            if (c.Reply.Version < 3) c.Reply.ArrayHeader(2);
            c.Reply.Bulk(c.Args[options.FirstKey + i]);
            budget.BeginStream();
            if (grouped) delivery.Serve(ref c, entry, ref budget);
            else Serve(ref c, entry, after[i], ref budget);
        }
        if (served > 0 && c.Reply.Version < 3) c.Reply.EndArray(replies, served);
        else if (served > 0) c.Reply.EndMap(replies, served);
        else if (options.Milliseconds >= 0 && c.CanBlock) Block(ref c, options, after);
        else c.Reply.NullArray();
    }

    private static void Serve(ref CommandContext c, in Entry entry, StreamId after, ref StreamReadBudget budget)
    {
        DeferredReply array = c.Reply.BeginDeferred();
        long replied = 0;
        if (after.TryNext(out StreamId from))
            foreach (StreamEntry found in StreamValue.Entries(entry, from, StreamId.Max))
            {
                if (!budget.TryTake(found)) break;
                c.Reply.StreamEntry(found);
                replied++;
            }
        c.Reply.EndArray(array, replied);
    }

    /// <summary>
    /// Finds the identifier after which each stream is read. On an error, it returns false before the command changes
    /// anything.
    /// </summary>
    private static bool TryResolve(ref CommandContext c, in StreamReadOptions options, scoped Span<StreamId> after, out long work)
    {
        var wait = (c.Session.Waiter ?? c.Earlier)?.State as StreamWait;
        work = 0;
        for (int i = 0; i < options.Keys; i++)
        {
            int key = options.FirstKey + i, id = key + options.Keys;
            if (!c.TryFind(key, ValueType.Stream, write: false, out Entry entry)) return false;
            StreamGroup group = default;
            if (options.Group > 0 && (!entry.Exists || !StreamGroup.TryGet(entry, c.Args[options.Group], out group)))
                return c.Fail($"NOGROUP No such key '{c.Echo(key)}' or consumer group '{c.Echo(options.Group)}' in XREADGROUP with GROUP option");
            bool isLast = StreamIds.IsWord(c.Args[id], '+'), isNew = StreamIds.IsWord(c.Args[id], '>');
            if (StreamIds.IsWord(c.Args[id], '$') || isLast)
            {
                if (options.Group > 0) return c.Fail(Meaningless(isLast ? '+' : '$'));
                // A client that blocked continues after the last identifier at the time when it blocked.
                if (wait is not null) after[i] = wait.After[i];
                else if (!entry.Exists) after[i] = StreamId.Min;
                else if (!isLast) after[i] = StreamValue.State(entry).Last;
                else if (StreamValue.Count(entry) > 0) StreamValue.LastEntry(entry).TryPrevious(out after[i]);
                else after[i] = StreamValue.State(entry).Last;
            }
            else if (isNew)
            {
                if (options.Group == 0) return c.Fail("ERR The > ID can be specified only when calling XREADGROUP using the " +
                    "GROUP <group> <consumer> option.");
                after[i] = StreamId.Max;
            }
            else
            {
                after[i] = c.StreamId(id);
                if (c.Failed) return false;
            }
            if (entry.Exists) work += Math.Min(options.Count, StreamValue.MostBetween(entry, isNew ? group.Last : after[i], StreamId.Max));
        }
        work = Math.Min(work, options.MaxCount);
        return true;
    }

    private static string Meaningless(char id) =>
        $"ERR The {id} ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by " +
        $"specifying a proper ID, or use the > ID to get new messages. The {id} ID would just return an empty result set.";

    private static void Block(ref CommandContext c, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> after) =>
        c.Block(options.Milliseconds, ValueType.Stream, options.FirstKey, options.Keys, nullIsArray: true, IsReady,
            StreamWait.Of(ref c, options, after), servedWithoutValue: options.Group > 0,
            againAfter: options.Claim >= 0 ? UntilClaimable(ref c, options) : 0);

    /// <summary>
    /// The time in milliseconds until the oldest pending entry can be claimed. Without pending entries, it is the claim time,
    /// because other consumers can make entries pending in the meantime.
    /// </summary>
    private static long UntilClaimable(ref CommandContext c, in StreamReadOptions options)
    {
        long wait = Math.Max(options.Claim, LeastClaimWait);
        for (int i = 0; i < options.Keys; i++)
        {
            Entry entry = c.Peek(options.FirstKey + i);
            if (entry.Exists && StreamGroup.TryGet(entry, c.Args[options.Group], out StreamGroup group)
                && group.TryNextByTime(long.MinValue, StreamId.Min, out PendingEntry oldest))
                wait = Math.Min(wait, options.Claim - Math.Max(0, c.Now - oldest.Delivered));
        }
        return Math.Max(1, wait);
    }

    private static bool IsReady(in Entry entry, Waiter waiter)
    {
        var wait = (StreamWait)waiter.State!;
        StreamGroup group = default;
        // The group was destroyed: the command runs again and replies with the error.
        if (wait.Group is { } name && !StreamGroup.TryGet(entry, name, out group)) return true;
        if (wait.Claim >= 0 && group.TryNextByTime(long.MinValue, StreamId.Min, out PendingEntry oldest)
            && oldest.Delivered <= ServerCore.UnixMilliseconds() - wait.Claim) return true;
        if (StreamValue.Count(entry) == 0) return false;
        StreamId last = StreamValue.LastEntry(entry);
        for (int i = 0; i < wait.After.Length; i++)
            if (last > (wait.Group is null ? wait.After[i] : group.Last) && entry.Key.SequenceEqual(wait.Keys[i])) return true;
        return false;
    }

    /// <summary>
    /// The state of a blocked reader. It copies the arguments because another thread can resume the client, and release its
    /// request, before the waiter is claimed.
    /// </summary>
    private sealed record StreamWait(byte[][] Keys, byte[]? Group, long Claim, StreamId[] After)
    {
        public static StreamWait Of(ref CommandContext c, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> after)
        {
            byte[][] keys = new byte[options.Keys][];
            for (int i = 0; i < keys.Length; i++) keys[i] = c.Args[options.FirstKey + i].ToArray();
            return new StreamWait(keys, options.Group > 0 ? c.Args[options.Group].ToArray() : null, options.Claim, after.ToArray());
        }
    }
}

/// <summary>The remaining number of entries and bytes of one read.</summary>
internal struct StreamReadBudget(in StreamReadOptions options)
{
    private readonly long _ofEach = options.Count;
    private long _ofStream, _entries = options.MaxCount, _bytes = options.MaxSize;
    private bool _any;

    /// <summary>The remaining number of entries of the current stream.</summary>
    public readonly long Entries => IsSpent ? 0 : Math.Min(_ofStream, _entries);

    public readonly bool IsSpent => _entries <= 0 || _bytes <= 0 && _any;

    public void BeginStream() => _ofStream = _ofEach;

    /// <summary>
    /// Takes an entry from the budget, or returns false if the entry does not fit. The first entry is taken regardless of its
    /// size.
    /// </summary>
    public bool TryTake(scoped StreamEntry entry)
    {
        if (Entries <= 0) return false;
        if (_bytes < long.MaxValue)
        {
            long bytes = 0;
            foreach (StreamFields field in entry) bytes += field.Name.Length + field.Value.Length;
            _bytes -= bytes;
            if (_bytes < 0 && _any) return false;
        }
        TakeGone();
        return true;
    }

    /// <summary>
    /// Takes an entry without its size, for an entry that the stream no longer has: its reply is the identifier only.
    /// </summary>
    public void TakeGone()
    {
        _any = true;
        _ofStream--;
        _entries--;
    }
}
