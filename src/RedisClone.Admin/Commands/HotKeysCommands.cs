using RedisClone.Engine.Commands;
using RedisClone.Engine.Metrics;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>HOTKEYS: records for a time which keys use the most processor time and network bytes.</summary>
internal static class HotKeysCommands
{
    private const int LastSlot = 16383;
    private const CommandFlags Flags = CommandFlags.Admin | NoScript;

    public static readonly CommandRow[] Rows =
    [
        new("HOTKEYS", -2, Keys.None, None, "server", "8.6.0", null, "Commands that find hot keys.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("START METRICS count [CPU] [NET] [COUNT k] [DURATION duration] [SAMPLE ratio]",
                    -2, Keys.None, Flags, "server", "8.6.0", Start, "Starts to record hot keys.") { Tips = CommandTips.AllNodes },
                new("STOP",
                    2, Keys.None, Flags, "server", "8.6.0", Stop, "Stops to record hot keys and keeps the result.")
                    { Tips = CommandTips.AllNodes },
                new("GET", 2, Keys.None, Flags, "server", "8.6.0", Get, "Returns the keys that cost most.")
                    { Complexity = "O(K) where K is the number of hotkeys returned.", Tips = CommandTips.EachShard },
                new("RESET",
                    2, Keys.None, Flags, "server", "8.6.0", Reset, "Removes the result.") { Tips = CommandTips.AllNodes },
                Help.Row("server", "8.6.0"),
            ],
        },
    ];

    private static void Start(ref CommandContext c)
    {
        if (c.Server.HotKeys.Last(c.Now) is { } last && c.Server.HotKeys.Active == last) c.Fail("ERR hotkey tracking session already in progress");
        else if (c.Args.Count < 4 || !c.Is(2, "METRICS"u8)) c.Fail("ERR METRICS parameter is required");
        if (c.Failed || TryMetrics(ref c, out int next) is not { } metrics || TryOptions(ref c, metrics, next) is not { } options) return;
        if (c.Server.HotKeys.TryStart(options, c.Now)) c.Reply.Ok();
        else c.Fail("ERR hotkey tracking session already in progress");
    }

    private static HotKeyMetrics? TryMetrics(ref CommandContext c, out int next)
    {
        long count = c.Int64(3, 1, 2, "ERR METRICS count must be > 0 and <= 2");
        HotKeyMetrics metrics = HotKeyMetrics.None;
        for (next = 4; next < c.Args.Count && next < 4 + count && !c.Failed; next++)
        {
            HotKeyMetrics metric = c.Is(next, "CPU"u8) ? HotKeyMetrics.Cpu : c.Is(next, "NET"u8) ? HotKeyMetrics.Net : HotKeyMetrics.None;
            if ((metrics & metric) != 0) c.Fail($"ERR METRICS {(metric == HotKeyMetrics.Cpu ? "CPU" : "NET")} defined more than once!");
            metrics |= metric;
        }
        if (!c.Failed && next != 4 + count) c.Fail("ERR METRICS count does not match number of metric types provided");
        if (!c.Failed && metrics == HotKeyMetrics.None) c.Fail("ERR METRICS no valid metrics passed. Supported: CPU|NET");
        return c.Failed ? null : metrics;
    }

    private static HotKeyOptions? TryOptions(ref CommandContext c, HotKeyMetrics metrics, int next)
    {
        var options = new HotKeyOptions(metrics);
        for (int i = next; i < c.Args.Count && !c.Failed; i += 2)
        {
            if (i + 1 == c.Args.Count) c.FailSyntax();
            else if (c.Is(i, "COUNT"u8)) options = options with { Count = (int)c.Int64(i + 1, 1, 64, "ERR COUNT must be between 1 and 64") };
            else if (c.Is(i, "DURATION"u8))
                options = options with
                {
                    DurationMilliseconds = 1000 * c.Int64(i + 1, 1, 1_000_000, "ERR DURATION must be between 1 and 1000000")
                };
            else if (c.Is(i, "SAMPLE"u8)) options = options with { SampleRatio = (int)c.Int64(i + 1, 1, int.MaxValue, "ERR SAMPLE ratio must be positive") };
            else if (c.Is(i, "SLOTS"u8)) c.Fail("ERR SLOTS parameter cannot be used in non-cluster mode");
            else c.FailSyntax();
        }
        return c.Failed ? null : options;
    }

    private static void Stop(ref CommandContext c)
    {
        if (c.Server.HotKeys.Stop(c.Now)) c.Reply.Ok();
        else c.Reply.Null();
    }

    private static void Reset(ref CommandContext c)
    {
        if (c.Server.HotKeys.Reset(c.Now)) c.Reply.Ok();
        else c.Fail("ERR hotkey tracking session in progress, stop tracking first");
    }

    private static void Get(ref CommandContext c)
    {
        if (c.Server.HotKeys.Last(c.Now) is not { } session)
        {
            c.Reply.Null();
            return;
        }
        HotKeyReport report = session.Read(c.Now);
        bool cpu = (session.Options.Metrics & HotKeyMetrics.Cpu) != 0, net = (session.Options.Metrics & HotKeyMetrics.Net) != 0;
        ReplyWriter reply = c.Reply;
        reply.ArrayHeader(1);
        reply.MapHeader(7 + (cpu ? 3 : 0) + (net ? 2 : 0));
        Number(reply, "tracking-active"u8, report.IsActive ? 1 : 0);
        Number(reply, "sample-ratio"u8, session.Options.SampleRatio);
        reply.Bulk("selected-slots"u8);
        reply.ArrayHeader(1);
        reply.ArrayHeader(2);
        reply.Integer(0);
        reply.Integer(LastSlot);
        Number(reply, "all-commands-all-slots-us"u8, report.Microseconds);
        Number(reply, "net-bytes-all-commands-all-slots"u8, report.Bytes);
        Number(reply, "collection-start-time-unix-ms"u8, session.StartedAt);
        Number(reply, "collection-duration-ms"u8, report.DurationMilliseconds);
        if (cpu)
        {
            Number(reply, "total-cpu-time-user-ms"u8, (long)report.User.TotalMilliseconds);
            Number(reply, "total-cpu-time-sys-ms"u8, (long)report.System.TotalMilliseconds);
        }
        if (net) Number(reply, "total-net-bytes"u8, report.TrackedBytes);
        if (cpu) Keyed(reply, "by-cpu-time-us"u8, report.ByTime);
        if (net) Keyed(reply, "by-net-bytes"u8, report.ByBytes);
    }

    private static void Number(ReplyWriter reply, ReadOnlySpan<byte> name, long value)
    {
        reply.Bulk(name);
        reply.Integer(value);
    }

    private static void Keyed(ReplyWriter reply, ReadOnlySpan<byte> name, (byte[] Key, long Value)[] keys)
    {
        reply.Bulk(name);
        reply.ArrayHeader(2 * keys.Length);
        foreach ((byte[] key, long value) in keys)
        {
            reply.Bulk(key);
            reply.Integer(value);
        }
    }
}
