using RedisClone.Configuration;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>XNACK: a consumer returns pending entries, and other consumers can claim them at once.</summary>
internal static class StreamReturns
{
    public static readonly CommandRow[] Rows =
    [
        new("XNACK key group <SILENT | FAIL | FATAL> IDS numids id [id ...] [RETRYCOUNT count] [FORCE]",
            -7, Keys.At(1, RW | Update), Write | Fast | NeedsRoom, "stream", "8.8.0", Return, "Returns pending entries to the group, so " +
                "that they can be claimed at once.")
            { Complexity = "O(1) for each message ID processed." },
    ];

    private enum Mode
    {
        /// <summary>The last delivery is not counted.</summary>
        Silent,

        /// <summary>The last delivery is counted.</summary>
        Fail,

        /// <summary>The delivery count becomes the greatest one, which tells consumers not to try again.</summary>
        Fatal,
    }

    private static void Return(ref CommandContext c)
    {
        Mode? mode = c.Is(3, "SILENT"u8) ? Mode.Silent : c.Is(3, "FAIL"u8) ? Mode.Fail : c.Is(3, "FATAL"u8) ? Mode.Fatal : null;
        if (mode is null) c.Fail("ERR mode must be SILENT, FAIL, or FATAL");
        int first = 0, count = 0;
        long deliveries = -1;
        bool force = false;
        for (int i = 4; i < c.Args.Count && !c.Failed; i++)
        {
            bool hasMore = i + 1 < c.Args.Count;
            if (c.Is(i, "FORCE"u8)) force = true;
            else if (hasMore && c.Is(i, "RETRYCOUNT"u8)) deliveries = Deliveries(ref c, ++i);
            else if (hasMore && first == 0 && c.Is(i, "IDS"u8)) (first, count) = ReadIds(ref c, ref i);
            else c.Fail($"ERR Unrecognized XNACK option '{c.Echo(i)}'");
        }
        if (!c.Failed && first == 0) c.Fail("ERR syntax error, expected IDS keyword");
        if (c.Failed || !c.TryFind(1, ValueType.Stream, write: true, out Entry entry)) return;
        if (!entry.Exists || !StreamGroup.TryGet(entry, c.Args[2], out StreamGroup group))
        {
            c.Fail($"NOGROUP No such key '{c.Echo(1)}' or consumer group '{c.Echo(2)}'");
            return;
        }
        long returned = 0;
        for (int i = first; i < first + count; i++)
        {
            StreamId id = c.StreamId(i);
            bool isPending = group.TryGetPending(id, out PendingEntry pending);
            if (!isPending && !(force && (c.Session.IsBase || StreamValue.Contains(entry, id)))) continue;
            group.Return(id, deliveries >= 0 ? deliveries : Counted(mode!.Value, isPending ? pending.Deliveries : 0));
            returned++;
        }
        // The event wakes clients that wait to claim entries.
        if (returned > 0) c.Modified(1, NotifyFlags.Stream, "xnack");
        c.Reply.Integer(returned);
    }

    private static long Counted(Mode mode, long deliveries) => mode switch
    {
        Mode.Silent => Math.Max(0, deliveries - 1),
        Mode.Fail => deliveries,
        _ => long.MaxValue,
    };

    private static long Deliveries(ref CommandContext c, int argument)
    {
        long count = c.Int64(argument);
        if (!c.Failed && count < 0) c.Fail("ERR Invalid RETRYCOUNT value, must be >= 0");
        return count;
    }

    private static (int First, int Count) ReadIds(ref CommandContext c, ref int argument)
    {
        int first = argument + 2;
        long told = c.Int64(argument + 1, 1, long.MaxValue, "ERR numids must be a positive integer");
        if (!c.Failed && told > c.Args.Count - first) c.Fail("ERR number of IDs doesn't match numids");
        if (c.Failed) return default;
        for (argument = first; argument < first + told && !c.Failed; argument++) c.StreamId(argument);
        argument--;
        return (first, (int)told);
    }
}
