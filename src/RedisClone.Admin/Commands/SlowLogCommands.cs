using RedisClone.Engine.Commands;
using RedisClone.Engine.Metrics;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>SLOWLOG: the slowest recent commands.</summary>
internal static class SlowLogCommands
{
    private const int DefaultCount = 10;
    private const CommandFlags Flags = CommandFlags.Admin | Loading | Stale;

    public static readonly CommandRow[] Rows =
    [
        new("SLOWLOG", -2, Keys.None, None, "server", "2.2.12", null, "Commands about the log of slow commands.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("GET [count]",
                    -2, Keys.None, Flags, "server", "2.2.12", Get,
                    "Returns entries, newest first: ID, time, microseconds, arguments, address and name of the client, number of arguments.")
                {
                    Complexity = "O(N) where N is the number of entries returned",
                    Tips = ["request_policy:all_nodes", "nondeterministic_output"],
                },
                new("LEN", 2, Keys.None, Flags, "server", "2.2.12", Length, "Counts the entries.")
                    { Tips = ["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"] },
                new("RESET", 2, Keys.None, Flags, "server", "2.2.12", Reset, "Removes all entries.")
                    { Complexity = "O(N) where N is the number of entries in the slowlog", Tips = CommandTips.AllNodes },
                Help.Row("server", "6.2.0"),
            ],
        },
    ];

    private static void Get(ref CommandContext c)
    {
        if (!c.HasAtMost(3)) return;
        long count = c.Args.Count == 3 ? c.Int64(2, -1, long.MaxValue, "ERR count should be greater than or equal to -1") : DefaultCount;
        if (c.Failed) return;
        SlowLogEntry[] entries = c.Server.SlowLog.Read(count < 0 ? long.MaxValue : count);
        c.Reply.ArrayHeader(entries.Length);
        foreach (SlowLogEntry entry in entries)
        {
            c.Reply.ArrayHeader(7);
            c.Reply.Integer(entry.Id);
            c.Reply.Integer(entry.UnixSeconds);
            c.Reply.Integer(entry.Microseconds);
            c.Reply.ArrayHeader(entry.Arguments.Length);
            foreach (byte[] argument in entry.Arguments) c.Reply.Bulk(argument);
            c.Reply.BulkString(entry.Peer);
            c.Reply.BulkString(entry.ClientName);
            c.Reply.Integer(entry.Count);
        }
    }

    private static void Length(ref CommandContext c) => c.Reply.Integer(c.Server.SlowLog.Count);

    private static void Reset(ref CommandContext c)
    {
        c.Server.SlowLog.Reset();
        c.Reply.Ok();
    }
}
