using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>
/// Commands that assign pending entries to another consumer: XCLAIM by identifier, XAUTOCLAIM by idle time.
/// </summary>
internal static class StreamClaims
{
    /// <summary>The number of pending entries that XAUTOCLAIM examines for each entry that it may claim.</summary>
    private const long AttemptsPerEntry = 10;

    /// <summary>The greatest COUNT. Redis has the same limit.</summary>
    private const long MostClaimed = long.MaxValue / 16;

    public static readonly CommandRow[] Rows =
    [
        new("XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] " +
            "[FORCE] [JUSTID] [LASTID lastid]",
            -6, Keys.At(1, RW | Update), Write | Fast | NeedsRoom, "stream", "5.0.0", Claim, "Makes a consumer the owner of pending entries.")
        {
            Complexity = "O(log N) with N being the number of messages in the PEL of the consumer group.",
            Tips = CommandTips.Nondeterministic,
        },
        new("XAUTOCLAIM key group consumer min-idle-time start [COUNT count] [JUSTID]",
            -6, Keys.At(1, RW | KeyFlags.Delete), Write | Fast | NeedsRoom, "stream", "6.2.0", ClaimIdle,
            "Makes a consumer the owner of entries that were pending for a long time.")
        {
            Complexity = "O(1) if COUNT is small.",
            Tips = CommandTips.Nondeterministic,
        },
    ];

    private static void Claim(ref CommandContext c)
    {
        c.IsTold = true;
        if (!c.TryFind(1, ValueType.Stream, write: true, out Entry entry) || !TryGroup(ref c, entry, out StreamGroup group)) return;
        long idle = Math.Max(0, c.Int64(4, "ERR Invalid min-idle-time argument for XCLAIM"));
        if (c.Failed || !ClaimOptions.TryRead(ref c, out ClaimOptions options)) return;
        long size = StreamConsumers.SizeOfConsumer(c, 1, 2, 3) + StreamConsumers.SizeOfEach(c, 1, 2, 3, options.First - 4);
        if (!c.ReserveEffects(size)) return;
        bool sayRead = options.Last > group.Last;
        c.IsTold = !sayRead;
        if (sayRead) group.Last = options.Last;
        StreamConsumer consumer = StreamConsumers.Obtain(ref c, group, 1, 2, 3);
        consumer.Seen = c.Now;
        DeferredReply array = c.Reply.BeginDeferred();
        long claimed = 0;
        for (int i = 5; i < options.First; i++)
        {
            StreamId id = c.StreamId(i);
            bool isPending = group.TryGetPending(id, out PendingEntry pending);
            if (!StreamValue.TryGet(entry, id, out StreamEntry found) && !c.Session.IsBase)
            {
                if (!isPending) continue;
                group.RemovePending(id);
                StreamConsumers.SayForgotten(ref c, 1, 2, id);
                c.Changed();
                continue;
            }
            if (!isPending && !options.Force || pending.HasConsumer && idle > 0 && c.Now - pending.Delivered < idle) continue;
            // The first delivery sets the count to one. A claim adds one to it, unless JUSTID is given.
            long before = isPending ? pending.Deliveries : 1;
            long deliveries = options.Deliveries >= 0 ? options.Deliveries : options.JustId ? before : StreamConsumers.OneMore(before);
            if (options.JustId || c.Session.IsBase) c.Reply.StreamId(id);
            else c.Reply.StreamEntry(found);
            group.SetPending(id, consumer, options.Delivered, deliveries);
            consumer.Active = c.Now;
            claimed++;
            StreamConsumers.SayClaimed(ref c, 1, 2, 3, group, [id], options.Delivered, deliveries);
            sayRead = false;
            c.Changed();
            c.IsTold = true;
        }
        c.Reply.EndArray(array, claimed);
        if (!sayRead) return;
        StreamConsumers.SayRead(ref c, 1, 2, group);
        c.Changed();
    }

    private static void ClaimIdle(ref CommandContext c)
    {
        c.IsTold = true;
        long idle = Math.Max(0, c.Int64(4, "ERR Invalid min-idle-time argument for XAUTOCLAIM"));
        StreamId next = c.Failed ? default : c.LowerStreamBound(5);
        long count = 100;
        bool justId = false;
        for (int i = 6; i < c.Args.Count && !c.Failed; i++)
        {
            if (c.Is(i, "COUNT"u8) && i + 1 < c.Args.Count) count = c.Int64(++i, 1, MostClaimed, "ERR COUNT must be > 0");
            else if (c.Is(i, "JUSTID"u8)) justId = true;
            else c.FailSyntax();
        }
        if (c.Failed || !c.TryFind(1, ValueType.Stream, write: true, out Entry entry) || !TryGroup(ref c, entry, out StreamGroup group)) return;
        if (c.MoveToWorker(Math.Min(count, group.PendingCount))) return;
        var idlers = new StreamIdList();
        var gone = new StreamIdList();
        StreamId cursor = FindIdle(c.Now, entry, group, next, count, idle, ref idlers, ref gone);
        long size = StreamConsumers.SizeOfConsumer(c, 1, 2, 3)
            + StreamConsumers.SizeOfEach(c, 1, 2, 3, idlers.Count + (long)gone.Count);
        if (c.ReserveEffects(size)) Claim(ref c, entry, group, cursor, justId, idlers, gone);
        idlers.Dispose();
        gone.Dispose();
    }

    private static void Claim(
        ref CommandContext c, in Entry entry, StreamGroup group, StreamId cursor, bool justId, in StreamIdList idlers,
        in StreamIdList gone)
    {
        StreamConsumer consumer = StreamConsumers.Obtain(ref c, group, 1, 2, 3);
        consumer.Seen = c.Now;
        c.Reply.ArrayHeader(3);
        c.Reply.StreamId(cursor);
        c.Reply.ArrayHeader(idlers.Count);
        foreach (StreamId id in idlers.Items)
        {
            group.TryGetPending(id, out PendingEntry pending);
            long deliveries = justId ? pending.Deliveries : StreamConsumers.OneMore(pending.Deliveries);
            if (justId) c.Reply.StreamId(id);
            else if (StreamValue.TryGet(entry, id, out StreamEntry found)) c.Reply.StreamEntry(found);
            group.SetPending(id, consumer, c.Now, deliveries);
            consumer.Active = c.Now;
            StreamConsumers.SayClaimed(ref c, 1, 2, 3, group, [id], c.Now, deliveries);
            c.Changed();
        }
        c.Reply.ArrayHeader(gone.Count);
        foreach (StreamId id in gone.Items)
        {
            c.Reply.StreamId(id);
            group.RemovePending(id);
            StreamConsumers.SayForgotten(ref c, 1, 2, id);
            c.Changed();
        }
    }

    /// <summary>
    /// Collects pending entries that are idle for long enough, and pending entries that the stream no longer has.
    /// </summary>
    /// <returns>The identifier at which the next call continues, or <see cref="StreamId.Min"/> at the end.</returns>
    private static StreamId FindIdle(
        long now, in Entry entry, StreamGroup group, StreamId next, long count, long idle, ref StreamIdList idlers, ref StreamIdList gone)
    {
        long attempts = count * AttemptsPerEntry;
        while (group.TryNextPending(next, out PendingEntry pending))
        {
            if (attempts-- == 0 || count == 0) return pending.Id;
            bool isIdle = idle == 0 || now - pending.Delivered >= idle, isGone = !StreamValue.Contains(entry, pending.Id);
            if (isGone) gone.Add(pending.Id);
            else if (isIdle) idlers.Add(pending.Id);
            if (isGone || isIdle) count--;
            if (!pending.Id.TryNext(out next)) break;
        }
        return StreamId.Min;
    }

    private static bool TryGroup(ref CommandContext c, in Entry entry, out StreamGroup group)
    {
        group = default;
        return entry.Exists && StreamGroup.TryGet(entry, c.Args[2], out group)
            || c.Fail($"NOGROUP No such key '{c.Echo(1)}' or consumer group '{c.Echo(2)}'");
    }

    /// <summary>The options of XCLAIM.</summary>
    private ref struct ClaimOptions
    {
        /// <summary>The index of the first argument after the identifiers.</summary>
        public int First;

        public long Delivered, Deliveries;
        public StreamId Last;
        public bool Force, JustId;

        public static bool TryRead(ref CommandContext c, out ClaimOptions options)
        {
            options = new ClaimOptions { First = 5, Delivered = -1, Deliveries = -1 };
            while (options.First < c.Args.Count && StreamIds.TryParse(c.Args[options.First], 0, out _)) options.First++;
            for (int i = options.First; i < c.Args.Count && !c.Failed; i++)
            {
                bool hasMore = i + 1 < c.Args.Count;
                if (c.Is(i, "FORCE"u8)) options.Force = true;
                else if (c.Is(i, "JUSTID"u8)) options.JustId = true;
                else if (hasMore && c.Is(i, "IDLE"u8)) options.Delivered = unchecked(c.Now - c.Int64(++i, "ERR Invalid IDLE option argument for XCLAIM"));
                else if (hasMore && c.Is(i, "TIME"u8)) options.Delivered = c.Int64(++i, "ERR Invalid TIME option argument for XCLAIM");
                else if (hasMore && c.Is(i, "RETRYCOUNT"u8)) options.Deliveries = c.Int64(++i, "ERR Invalid RETRYCOUNT option argument for XCLAIM");
                else if (hasMore && c.Is(i, "LASTID"u8)) options.Last = c.StreamId(++i);
                else c.Fail($"ERR Unrecognized XCLAIM option '{c.Echo(i)}'");
            }
            // The clocks of clients differ from the clock of the server, so a time that is negative or in the future becomes
            // now.
            if (options.Delivered < 0 || options.Delivered > c.Now && !c.Session.IsReplay) options.Delivered = c.Now;
            return !c.Failed;
        }
    }
}
