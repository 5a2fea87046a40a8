using static RedisClone.Server.Commands.CommandFlags;

namespace RedisClone.Server.Commands;

/// <summary>What makes data durable when told to: the dump file, the rewrite of the journal.</summary>
internal static class SnapshotCommands
{
    private const CommandFlags Administration = NoAsyncLoading | CommandFlags.Admin | NoScript;

    public static readonly CommandRow[] Rows =
    [
        new("SAVE", 1, Keys.None, Administration | NoMulti | AllShards | Long, "server", "1.0.0", Save, "Saves all data to disk; everybody waits.")
            { Complexity = "O(N) where N is the total number of keys in all databases" },
        new("BGSAVE [SCHEDULE]", -1, Keys.None, Administration, "server", "1.0.0", BackgroundSave, "Saves all data to disk in the background."),
        new("LASTSAVE", 1, Keys.None, Loading | Stale | Fast, "server", "1.0.0", LastSave, "Tells when data was saved last.")
            { Categories = ["admin", "dangerous"], Tips = CommandTips.Nondeterministic },
        new("BGREWRITEAOF", 1, Keys.None, Administration, "server", "1.0.0", Rewrite, "Rewrites the journal as a snapshot and what follows."),
    ];

    private static void Save(ref CommandContext c)
    {
        if (c.Server.Snapshots.Save() is { } failure) c.Fail("ERR " + failure);
        else c.Reply.Ok();
    }

    /// <summary>A snapshot of one moment takes every shard for as long as it is written: that is SAVE, and is not called by another name.</summary>
    private static void BackgroundSave(ref CommandContext c)
    {
        if (c.Args.Count > 2 || c.Args.Count == 2 && !c.Is(1, "schedule"u8)) c.FailSyntax();
        else c.Fail("ERR this version cannot save in the background, use SAVE");
    }

    private static void LastSave(ref CommandContext c) => c.Reply.Integer(c.Server.Snapshots.LastSave / 1000);

    private static void Rewrite(ref CommandContext c)
    {
        if (c.Server.Snapshots.StartRewrite() is { } refusal) c.Fail(refusal);
        else c.Reply.SimpleString("Background append only file rewriting started"u8);
    }
}
