using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>XINFO: the state of a stream, its groups and their consumers.</summary>
internal static class StreamInfo
{
    public static readonly CommandRow[] Rows =
    [
        new("XINFO", -2, Keys.None, CommandFlags.None, "stream", "5.0.0", null, "Commands that show streams.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("CONSUMERS key group",
                    4, Keys.At(2, RO | Access), ReadOnly, "stream", "5.0.0", Consumers, "Shows the consumers of a group.")
                    { Tips = CommandTips.Nondeterministic },
                new("GROUPS key",
                    3, Keys.At(2, RO | Access), ReadOnly, "stream", "5.0.0", Groups, "Shows the groups of a stream."),
                new("STREAM key [FULL [COUNT count]]",
                    -3, Keys.At(2, RO | Access), ReadOnly, "stream", "5.0.0", Stream, "Shows a stream."),
                Help.Row("stream", "5.0.0", "stream"),
            ],
        },
    ];

    private static void Consumers(ref CommandContext c)
    {
        Entry entry = c.FindForRead(2);
        if (!IsStream(ref c, entry)) return;
        if (!StreamGroup.TryGet(entry, c.Args[3], out StreamGroup group))
        {
            c.Fail(StreamGroupCommands.NoGroup(ref c, 2, 3));
            return;
        }
        if (c.MoveToWorker(group.ConsumerCount)) return;
        c.Reply.ArrayHeader(group.ConsumerCount);
        for (long i = 0; i < group.ConsumerCount; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            c.Reply.MapHeader(4);
            c.Reply.Bulk("name"u8);
            c.Reply.Bulk(consumer.Name);
            Integer(ref c, "pending"u8, consumer.PendingCount);
            Integer(ref c, "idle"u8, Math.Max(0, c.Now - consumer.Seen));
            Integer(ref c, "inactive"u8, consumer.Active < 0 ? consumer.Active : Math.Max(0, c.Now - consumer.Active));
        }
    }

    private static void Groups(ref CommandContext c)
    {
        Entry entry = c.FindForRead(2);
        if (!IsStream(ref c, entry)) return;
        long groups = StreamGroup.Count(entry);
        if (c.MoveToWorker(groups)) return;
        StreamCounts counts = StreamCounts.Of(entry);
        c.Reply.ArrayHeader(groups);
        for (long i = 0; i < groups; i++)
        {
            StreamGroup group = StreamGroup.At(entry, i);
            c.Reply.MapHeader(6);
            c.Reply.Bulk("name"u8);
            c.Reply.Bulk(group.Name);
            Integer(ref c, "consumers"u8, group.ConsumerCount);
            Integer(ref c, "pending"u8, group.PendingCount);
            Progress(ref c, group, counts);
        }
    }

    private static void Progress(ref CommandContext c, StreamGroup group, in StreamCounts counts)
    {
        Id(ref c, "last-delivered-id"u8, group.Last);
        c.Reply.Bulk("entries-read"u8);
        IntegerOrNull(ref c, group.EntriesRead == StreamGroup.UnknownRead ? null : group.EntriesRead);
        c.Reply.Bulk("lag"u8);
        IntegerOrNull(ref c, counts.Lag(group));
    }

    private static void Stream(ref CommandContext c)
    {
        Entry entry = c.FindForRead(2);
        if (!IsStream(ref c, entry)) return;
        bool full = c.Args.Count > 3;
        long count = 10;
        if (full && (c.Args.Count is not (4 or 6) || !c.Is(3, "FULL"u8) || c.Args.Count == 6 && !c.Is(4, "COUNT"u8)))
            c.FailSubcommand();
        else if (c.Args.Count == 6 && c.Int64(5) is >= 0 and var given) count = given;
        if (c.Failed) return;
        // In XINFO STREAM, COUNT 0 means no limit.
        if (count == 0) count = long.MaxValue;
        if (full && c.MoveToWorker(Math.Min(count, StreamValue.Count(entry)) + StreamGroup.Count(entry))) return;
        StreamCounts counts = StreamCounts.Of(entry);
        StreamProducers producers = StreamProducers.Of(entry);
        c.Reply.MapHeader((full ? 9 : 10) + (producers.Exist ? 6 : 0));
        Integer(ref c, "length"u8, counts.Count);
        Integer(ref c, "radix-tree-keys"u8, StreamValue.Blocks(entry));
        Integer(ref c, "radix-tree-nodes"u8, StreamValue.Blocks(entry) + 1);
        Id(ref c, "last-generated-id"u8, counts.State.Last);
        Id(ref c, "max-deleted-entry-id"u8, counts.State.HighestDeleted);
        Integer(ref c, "entries-added"u8, (long)counts.State.Added);
        Id(ref c, "recorded-first-entry-id"u8, counts.First);
        if (producers.Exist) Producers(ref c, producers);
        if (full) Full(ref c, entry, counts, count);
        else Ends(ref c, entry);
    }

    private static void Producers(ref CommandContext c, StreamProducers producers)
    {
        Integer(ref c, "idmp-duration"u8, producers.Seconds);
        Integer(ref c, "idmp-maxsize"u8, producers.Most);
        Integer(ref c, "pids-tracked"u8, producers.Count);
        Integer(ref c, "iids-tracked"u8, producers.Messages);
        Integer(ref c, "iids-added"u8, producers.Added);
        Integer(ref c, "iids-duplicates"u8, producers.Duplicates);
    }

    private static void Ends(ref CommandContext c, in Entry entry)
    {
        Integer(ref c, "groups"u8, StreamGroup.Count(entry));
        c.Reply.Bulk("first-entry"u8);
        EntryOrNull(c.Reply, StreamValue.Entries(entry));
        c.Reply.Bulk("last-entry"u8);
        EntryOrNull(c.Reply, StreamValue.Entries(entry, StreamId.Min, StreamId.Max, backwards: true));
    }

    private static void EntryOrNull(ReplyWriter reply, StreamEntries entries)
    {
        if (entries.MoveNext()) reply.StreamEntry(entries.Current);
        else reply.Null();
    }

    private static void Full(ref CommandContext c, in Entry entry, in StreamCounts counts, long count)
    {
        c.Reply.Bulk("entries"u8);
        StreamCommands.Reply(c.Reply, entry, StreamId.Min, StreamId.Max, count);
        c.Reply.Bulk("groups"u8);
        long groups = StreamGroup.Count(entry);
        c.Reply.ArrayHeader(groups);
        for (long i = 0; i < groups; i++)
        {
            StreamGroup group = StreamGroup.At(entry, i);
            c.Reply.MapHeader(8);
            c.Reply.Bulk("name"u8);
            c.Reply.Bulk(group.Name);
            Progress(ref c, group, counts);
            Integer(ref c, "pel-count"u8, group.PendingCount);
            Integer(ref c, "nacked-count"u8, group.ReturnedCount);
            PendingOfGroup(ref c, group, count);
            c.Reply.Bulk("consumers"u8);
            c.Reply.ArrayHeader(group.ConsumerCount);
            for (long j = 0; j < group.ConsumerCount; j++) Consumer(ref c, group, group.ConsumerAt(j), count);
        }
    }

    private static void PendingOfGroup(ref CommandContext c, StreamGroup group, long count)
    {
        c.Reply.Bulk("pending"u8);
        DeferredReply array = c.Reply.BeginDeferred();
        long replied = 0;
        StreamId next = StreamId.Min;
        for (bool more = true; more && replied < count && group.TryNextPending(next, out PendingEntry pending); replied++)
        {
            c.Reply.ArrayHeader(4);
            c.Reply.StreamId(pending.Id);
            c.Reply.Bulk(pending.HasConsumer ? group.ConsumerOf(pending).Name : default);
            c.Reply.Integer(pending.Delivered);
            c.Reply.Integer(pending.Deliveries);
            more = pending.Id.TryNext(out next);
        }
        c.Reply.EndArray(array, replied);
    }

    private static void Consumer(ref CommandContext c, StreamGroup group, StreamConsumer consumer, long count)
    {
        c.Reply.MapHeader(5);
        c.Reply.Bulk("name"u8);
        c.Reply.Bulk(consumer.Name);
        Integer(ref c, "seen-time"u8, consumer.Seen);
        Integer(ref c, "active-time"u8, consumer.Active);
        Integer(ref c, "pel-count"u8, consumer.PendingCount);
        c.Reply.Bulk("pending"u8);
        DeferredReply array = c.Reply.BeginDeferred();
        long replied = 0;
        StreamId next = StreamId.Min;
        for (bool more = true; more && replied < count && consumer.TryNextPending(next, out StreamId id); replied++)
        {
            group.TryGetPending(id, out PendingEntry pending);
            c.Reply.ArrayHeader(3);
            c.Reply.StreamId(id);
            c.Reply.Integer(pending.Delivered);
            c.Reply.Integer(pending.Deliveries);
            more = id.TryNext(out next);
        }
        c.Reply.EndArray(array, replied);
    }

    private static bool IsStream(ref CommandContext c, in Entry entry) =>
        entry.Exists ? c.Expect(entry, ValueType.Stream) : c.Fail(Errors.NoSuchKey);

    private static void Integer(ref CommandContext c, ReadOnlySpan<byte> name, long value)
    {
        c.Reply.Bulk(name);
        c.Reply.Integer(value);
    }

    private static void Id(ref CommandContext c, ReadOnlySpan<byte> name, StreamId id)
    {
        c.Reply.Bulk(name);
        c.Reply.StreamId(id);
    }

    private static void IntegerOrNull(ref CommandContext c, long? value)
    {
        if (value is { } known) c.Reply.Integer(known);
        else c.Reply.Null();
    }
}
