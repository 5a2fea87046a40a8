using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Metrics;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>LATENCY: slow events, and the latency histograms of commands.</summary>
internal static class LatencyCommands
{
    private const CommandFlags Flags = CommandFlags.Admin | NoScript | Loading | Stale;
    private static readonly string[] Tips = ["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"];

    public static readonly CommandRow[] Rows =
    [
        new("LATENCY", -2, Keys.None, None, "server", "2.8.13", null, "Commands about latency.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("DOCTOR",
                    2, Keys.None, Flags, "server", "2.8.13", Doctor, "Explains what was slow and what helps.") { Tips = Tips },
                new("GRAPH event",
                    3, Keys.None, Flags, "server", "2.8.13", Graph, "Draws a graph of the spikes of an event.") { Tips = Tips },
                new("HISTOGRAM [command [command ...]]",
                    -2, Keys.None, Flags, "server", "7.0.0", Histogram,
                    "Returns cumulative histograms of the latency of commands.")
                    { Complexity = "O(N) where N is the number of commands with latency information being retrieved.", Tips = Tips },
                new("HISTORY event",
                    3, Keys.None, Flags, "server", "2.8.13", History,
                    "Lists the spikes of an event: time in seconds and milliseconds.") { Tips = Tips },
                new("LATEST",
                    2, Keys.None, Flags, "server", "2.8.13", Latest,
                    "Returns the last spike of each event: name, time in seconds, milliseconds, and the longest spike.")
                    { Tips = Tips },
                new("RESET [event [event ...]]",
                    -2, Keys.None, Flags, "server", "2.8.13", Reset, "Removes the spikes of some or all events.")
                    { Tips = ["request_policy:all_nodes", "response_policy:agg_sum"] },
                Help.Row("server", "2.8.13"),
            ],
        },
    ];

    private static void Doctor(ref CommandContext c) =>
        c.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(LatencyDoctor.Examine(c.Server, c.Now / 1000)));

    private static void Graph(ref CommandContext c)
    {
        if (c.Server.Latency.Read(c.Text(2)) is { } record) c.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(LatencyGraph.Draw(record, c.Now / 1000)));
        else c.Fail($"ERR No samples available for event '{c.Echo(2)}'");
    }

    private static void History(ref CommandContext c)
    {
        LatencySeries.Sample[] samples = c.Server.Latency.Read(c.Text(2))?.Samples ?? [];
        c.Reply.ArrayHeader(samples.Length);
        foreach (LatencySeries.Sample sample in samples)
        {
            c.Reply.ArrayHeader(2);
            c.Reply.Integer(sample.Second);
            c.Reply.Integer(sample.Milliseconds);
        }
    }

    private static void Latest(ref CommandContext c)
    {
        LatencyRecord[] records = c.Server.Latency.Read();
        c.Reply.ArrayHeader(records.Length);
        foreach (LatencyRecord record in records)
        {
            c.Reply.ArrayHeader(4);
            c.Reply.BulkString(record.Name);
            c.Reply.Integer(record.Samples[^1].Second);
            c.Reply.Integer(record.Samples[^1].Milliseconds);
            c.Reply.Integer(record.Worst);
        }
    }

    private static void Reset(ref CommandContext c)
    {
        int forgotten = c.Args.Count == 2 ? c.Server.Latency.Reset() : 0;
        for (int i = 2; i < c.Args.Count; i++) forgotten += c.Server.Latency.Reset(c.Text(i));
        c.Reply.Integer(forgotten);
    }

    private static void Histogram(ref CommandContext c)
    {
        var rows = new List<CommandRow>();
        if (c.Args.Count == 2) rows.AddRange(c.Server.Commands.All);
        for (int i = 2; i < c.Args.Count; i++)
        {
            if (c.Server.Commands.FindFull(c.Args[i]) is not { } row) continue;
            rows.Add(row);
            rows.AddRange(row.Subcommands);
        }
        DeferredReply map = c.Reply.BeginDeferred();
        int commands = 0;
        foreach (CommandRow row in rows)
        {
            if (c.Server.Statistics.LatencyOf(row.Id) is not { } histogram) continue;
            commands++;
            c.Reply.BulkString(row.FullName);
            ReplyHistogram(c.Reply, histogram);
        }
        c.Reply.EndMap(map, commands);
    }

    /// <summary>
    /// Replies with cumulative counts of calls by microseconds. It omits steps that have the same count as the step before.
    /// </summary>
    private static void ReplyHistogram(ReplyWriter reply, LatencyHistogram histogram)
    {
        long total = histogram.Count, before = 0;
        reply.MapHeader(2);
        reply.Bulk("calls"u8);
        reply.Integer(total);
        reply.Bulk("histogram_usec"u8);
        DeferredReply map = reply.BeginDeferred();
        int steps = 0;
        foreach ((long microseconds, long count) in histogram.Shown())
        {
            if (count == before) continue;
            reply.Integer(microseconds);
            reply.Integer(count);
            before = count;
            steps++;
        }
        reply.EndMap(map, steps);
    }
}
