using RedisClone.Engine.Commands;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>SUPPORT-BUNDLE: a zip with what the server knows about itself, without keys and values.</summary>
internal static class SupportCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("SUPPORT-BUNDLE",
            1, Keys.None, CommandFlags.Admin | NoScript | Loading | Stale | NoMulti | AllowBusy | Long | Blind | SkipSlowLog, "server", "7.4.1", MakeBundle,
            "Returns a zip with the figures, the configuration, the log and the threads of the server, without keys, values and passwords.")
            { Tips = CommandTips.Nondeterministic },
    ];

    private static void MakeBundle(ref CommandContext c)
    {
        if (c.Server.SupportBundle() is { } bundle) c.Reply.Bulk(bundle);
        else c.Fail("ERR a support bundle is being made already");
    }
}
