using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Storage;
using static RedisClone.Server.Commands.CommandFlags;
using static RedisClone.Server.Commands.KeyFlags;

namespace RedisClone.Server.Commands;

/// <summary>The commands that create and remove groups and consumers, acknowledge entries and list pending entries.</summary>
internal static class StreamGroupCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("XGROUP", -2, Keys.None, CommandFlags.None, "stream", "5.0.0", null, "Commands about consumer groups.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("CREATE key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
                    -5, Keys.At(2, RW | Insert), Write | DenyOom, "stream", "5.0.0", Create, "Creates a consumer group."),
                new("CREATECONSUMER key group consumer",
                    5, Keys.At(2, RW | Insert), Write | DenyOom, "stream", "6.2.0", CreateConsumer,
                    "Creates a consumer of a group."),
                new("DELCONSUMER key group consumer",
                    5, Keys.At(2, RW | KeyFlags.Delete), Write, "stream", "5.0.0", DeleteConsumer,
                    "Removes a consumer and its pending entries."),
                new("DESTROY key group",
                    4, Keys.At(2, RW | KeyFlags.Delete), Write, "stream", "5.0.0", Destroy, "Removes a group.")
                {
                    Complexity = "O(N) where N is the number of entries in the group's pending entries list (PEL).",
                },
                new("SETID key group <id | $> [ENTRIESREAD entries-read]",
                    -5, Keys.At(2, RW | Update), Write, "stream", "5.0.0", SetId, "Sets the last entry that a group has read."),
                Help.Row("stream", "5.0.0", "stream"),
            ],
        },
        new("XACK key group id [id ...]",
            -4, Keys.At(1, RW | Update), Write | Fast, "stream", "5.0.0", Acknowledge, "Acknowledges entries.")
            { Complexity = "O(1) for each message ID processed." },
        new("XPENDING key group [[IDLE min-idle-time] start end count [consumer]]",
            -3, Keys.At(1, RO | Access), ReadOnly, "stream", "5.0.0", Pending, "Shows entries that were delivered and not acknowledged.")
        {
            Complexity = "O(N) with N being the number of elements returned. O(M), where M is the total number of entries " +
                "scanned, when used with the IDLE filter. " +
                "The summary takes O(N) time with N being the number of consumers.",
            Tips = CommandTips.Nondeterministic,
        },
    ];

    // ---- groups

    private static void Create(ref CommandContext c)
    {
        bool make = false;
        long read = StreamGroup.UnknownRead;
        for (int i = 5; i < c.Args.Count && !c.Failed; i++)
        {
            if (c.Is(i, "MKSTREAM"u8)) make = true;
            else read = EntriesRead(ref c, ref i);
        }
        if (c.Failed || !c.TryFind(2, ValueType.Stream, write: true, out Entry entry)) return;
        if (!entry.Exists && !make) FailWithoutKey(ref c);
        StreamId last = c.Failed ? default : GroupId(ref c, entry, orEnd: false);
        if (!c.Failed && c.Args.Count > 8) c.FailSubcommand();
        if (c.Failed) return;
        if (!entry.Exists)
        {
            entry = StreamValue.Create(entry.Keyspace, c.Args[2], entry.Hash);
            // The new key also fails transactions that watch it. Redis publishes the event of the group only.
            c.AlsoModified(2, NotifyFlags.None, "xgroup-create");
        }
        else if (StreamGroup.TryGet(entry, c.Args[3], out _))
        {
            c.Fail("BUSYGROUP Consumer Group name already exists");
            return;
        }
        StreamGroup.Add(entry, c.Args[3], last, read);
        c.Changed();
        c.Notify(2, NotifyFlags.Stream, "xgroup-create");
        c.Reply.Ok();
    }

    private static void SetId(ref CommandContext c)
    {
        long read = StreamGroup.UnknownRead;
        for (int i = 5; i < c.Args.Count && !c.Failed; i++) read = EntriesRead(ref c, ref i);
        if (c.Failed || !c.TryFind(2, ValueType.Stream, write: true, out Entry entry) || !TryGroup(ref c, entry, out StreamGroup group)) return;
        if (c.Args.Count is not (5 or 7)) c.FailSubcommand();
        StreamId last = c.Failed ? default : GroupId(ref c, entry, orEnd: true);
        if (c.Failed) return;
        (group.Last, group.EntriesRead) = (last, read);
        c.Changed();
        c.Notify(2, NotifyFlags.Stream, "xgroup-setid");
        c.Reply.Ok();
    }

    private static void Destroy(ref CommandContext c)
    {
        if (!c.TryFind(2, ValueType.Stream, write: true, out Entry entry)) return;
        if (!entry.Exists)
        {
            FailWithoutKey(ref c);
            return;
        }
        bool found = StreamGroup.TryGet(entry, c.Args[3], out StreamGroup group);
        if (found)
        {
            StreamGroup.Remove(entry, group);
            // Clients that wait for the group wake up and get an error.
            c.Modified(2, NotifyFlags.Stream, "xgroup-destroy");
        }
        c.Reply.Integer(found ? 1 : 0);
    }

    private static void CreateConsumer(ref CommandContext c)
    {
        if (!c.TryFind(2, ValueType.Stream, write: true, out Entry entry) || !TryGroup(ref c, entry, out StreamGroup group)) return;
        bool isNew = !group.TryGetConsumer(c.Args[4], out _);
        if (isNew)
        {
            group.AddConsumer(c.Args[4], c.Now);
            c.Changed();
            c.Notify(2, NotifyFlags.Stream, "xgroup-createconsumer");
        }
        c.Reply.Integer(isNew ? 1 : 0);
    }

    private static void DeleteConsumer(ref CommandContext c)
    {
        if (!c.TryFind(2, ValueType.Stream, write: true, out Entry entry) || !TryGroup(ref c, entry, out StreamGroup group)) return;
        long pending = 0;
        if (group.TryGetConsumer(c.Args[4], out StreamConsumer consumer))
        {
            pending = consumer.PendingCount;
            if (c.MoveToWorker(pending)) return;
            group.RemoveConsumer(consumer);
            c.Changed();
            c.Notify(2, NotifyFlags.Stream, "xgroup-delconsumer");
        }
        c.Reply.Integer(pending);
    }

    /// <summary>Finds the group that a subcommand names. If there is none, it sets an error and returns false.</summary>
    private static bool TryGroup(ref CommandContext c, in Entry entry, out StreamGroup group)
    {
        group = default;
        if (!entry.Exists) return FailWithoutKey(ref c);
        return StreamGroup.TryGet(entry, c.Args[3], out group) || c.Fail(NoGroup(ref c, 2, 3));
    }

    public static string NoGroup(ref CommandContext c, int key, int group) =>
        $"NOGROUP No such consumer group '{c.Echo(group)}' for key name '{c.Echo(key)}'";

    private static bool FailWithoutKey(ref CommandContext c) => c.Fail(
        "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to " +
            "create an empty stream automatically.");

    private static long EntriesRead(ref CommandContext c, ref int argument)
    {
        if (!c.Is(argument, "ENTRIESREAD"u8) || argument + 1 == c.Args.Count)
        {
            c.FailSubcommand();
            return 0;
        }
        long read = c.Int64(++argument);
        if (!c.Failed && read < 0 && read != StreamGroup.UnknownRead) c.Fail("ERR value for ENTRIESREAD must be positive or -1");
        return read;
    }

    private static StreamId GroupId(ref CommandContext c, in Entry entry, bool orEnd)
    {
        if (StreamIds.IsWord(c.Args[4], '$')) return entry.Exists ? StreamValue.State(entry).Last : StreamId.Min;
        return orEnd ? c.StreamIdOrEnd(4) : c.StreamId(4);
    }

    // ---- pending entries

    private static void Acknowledge(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Stream, write: true, out Entry entry)) return;
        long acknowledged = 0;
        if (entry.Exists && StreamGroup.TryGet(entry, c.Args[2], out StreamGroup group))
        {
            for (int i = 3; i < c.Args.Count && !c.Failed; i++) c.StreamId(i);
            for (int i = 3; i < c.Args.Count && !c.Failed; i++)
                if (group.RemovePending(c.StreamId(i))) acknowledged++;
        }
        if (c.Failed) return;
        if (acknowledged > 0) c.Changed();
        c.Reply.Integer(acknowledged);
    }

    private static void Pending(ref CommandContext c)
    {
        bool summary = c.Args.Count == 3;
        var query = new PendingQuery();
        if (!summary && !query.TryRead(ref c)) return;
        if (!c.TryFind(1, ValueType.Stream, write: false, out Entry entry)) return;
        if (!entry.Exists || !StreamGroup.TryGet(entry, c.Args[2], out StreamGroup group))
            c.Fail($"NOGROUP No such key '{c.Echo(1)}' or consumer group '{c.Echo(2)}'");
        else if (summary) Summary(ref c, group);
        else query.Run(ref c, group);
    }

    private static void Summary(ref CommandContext c, StreamGroup group)
    {
        c.Reply.ArrayHeader(4);
        c.Reply.Integer(group.PendingCount);
        if (!group.TryNextPending(StreamId.Min, out PendingEntry first) || !group.TryLastPending(out PendingEntry last))
        {
            c.Reply.Null();
            c.Reply.Null();
            c.Reply.NullArray();
            return;
        }
        c.Reply.StreamId(first.Id);
        c.Reply.StreamId(last.Id);
        DeferredReply consumers = c.Reply.BeginDeferred();
        long count = 0;
        for (long i = 0; i < group.ConsumerCount; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            if (consumer.PendingCount == 0) continue;
            c.Reply.ArrayHeader(2);
            c.Reply.Bulk(consumer.Name);
            c.Reply.BulkInteger(consumer.PendingCount);
            count++;
        }
        c.Reply.EndArray(consumers, count);
    }

    /// <summary>The arguments of XPENDING with a range.</summary>
    private ref struct PendingQuery
    {
        private StreamId _from, _to;
        private long _count, _idle;
        private int _consumer;

        public bool TryRead(ref CommandContext c)
        {
            if (c.Args.Count is < 6 or > 9) return c.FailSyntax();
            int at = 3;
            if (c.Is(3, "IDLE"u8))
            {
                _idle = c.Int64(4);
                if (!c.Failed && c.Args.Count < 8) c.FailSyntax();
                at += 2;
            }
            if (c.Failed) return false;
            _count = Math.Max(0, c.Int64(at + 2));
            if (!c.Failed) _from = c.LowerStreamBound(at);
            if (!c.Failed) _to = c.UpperStreamBound(at + 1);
            if (at + 3 < c.Args.Count) _consumer = at + 3;
            return !c.Failed;
        }

        public readonly void Run(ref CommandContext c, StreamGroup group)
        {
            StreamConsumer consumer = default;
            if (_consumer > 0 && !group.TryGetConsumer(c.Args[_consumer], out consumer))
            {
                c.Reply.EmptyArray();
                return;
            }
            long most = consumer.Exists ? consumer.PendingCount : group.PendingCount;
            if (c.MoveToWorker(_idle > 0 ? most : Math.Min(_count, most))) return;
            DeferredReply array = c.Reply.BeginDeferred();
            long replied = 0;
            StreamId next = _from;
            bool more = true;
            while (more && replied < _count && TryNext(group, consumer, next, out PendingEntry pending) && pending.Id <= _to)
            {
                more = pending.Id.TryNext(out next);
                if (_idle > 0 && c.Now - pending.Delivered < _idle) continue;
                c.Reply.ArrayHeader(4);
                c.Reply.StreamId(pending.Id);
                c.Reply.Bulk(pending.HasConsumer ? group.ConsumerOf(pending).Name : default);
                c.Reply.Integer(pending.HasConsumer ? Math.Max(0, c.Now - pending.Delivered) : -1);
                c.Reply.Integer(pending.Deliveries);
                replied++;
            }
            c.Reply.EndArray(array, replied);
        }

        private static bool TryNext(StreamGroup group, StreamConsumer consumer, StreamId from, out PendingEntry pending)
        {
            if (!consumer.Exists) return group.TryNextPending(from, out pending);
            pending = default;
            return consumer.TryNextPending(from, out StreamId id) && group.TryGetPending(id, out pending);
        }
    }
}
