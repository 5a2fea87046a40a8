using System.Text;
using RedisClone.Engine.Commands;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>Commands that make data durable on request: the snapshot and the rewrite of the journal.</summary>
internal static class SnapshotCommands
{
    private const CommandFlags Administration = NoAsyncLoading | CommandFlags.Admin | NoScript | Blind;

    public static readonly CommandRow[] Rows =
    [
        new("SAVE",
            1, Keys.None, Administration | NoMulti | AllShards | Long, "server", "1.0.0", Save,
            "Saves a snapshot to disk; all clients wait.")
            { Complexity = "O(N) where N is the total number of keys in all databases" },
        new("BGSAVE [SCHEDULE]",
            -1, Keys.None, Administration | AllShards, "server", "1.0.0", BackgroundSave,
            "Saves a snapshot to disk while clients are served."),
        new("LASTSAVE",
            1, Keys.None, Loading | Stale | Fast, "server", "1.0.0", LastSave, "Returns the Unix time of the last snapshot.")
            { Categories = ["admin", "dangerous"], Tips = CommandTips.Nondeterministic },
        new("BGREWRITEAOF",
            1, Keys.None, Administration | AllShards, "server", "1.0.0", Rewrite,
            "Rewrites the journal (AOF) as a snapshot and a new increment."),
    ];

    private static void Save(ref CommandContext c)
    {
        if (c.Server.Snapshots.IsSaving) c.Fail("ERR Background save already in progress");
        else if (c.Server.Snapshots.Save() is { } failure) c.Fail("ERR " + Errors.Spell(failure));
        else c.Reply.Ok();
    }

    private static void BackgroundSave(ref CommandContext c)
    {
        bool schedule = c.Args.Count == 2 && c.Is(1, "schedule"u8);
        if (c.Args.Count > 1 && !schedule) c.FailSyntax();
        else if (!c.Server.Snapshots.TryStart(schedule, c.Session.InTransaction, out string answer)) c.Fail(answer);
        else c.Reply.SimpleString(Encoding.ASCII.GetBytes(answer));
    }

    private static void LastSave(ref CommandContext c) => c.Reply.Integer(c.Server.Snapshots.LastSave / 1000);

    private static void Rewrite(ref CommandContext c)
    {
        if (!c.Server.Rewrites.TryStart(c.Session.InTransaction, out string answer)) c.Fail(answer);
        else c.Reply.SimpleString(Encoding.ASCII.GetBytes(answer));
    }
}
