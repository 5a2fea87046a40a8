using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Durability;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>BACKUP: a consistent copy of all data, made while the server runs.</summary>
internal static class BackupCommands
{
    private const CommandFlags Administration = CommandFlags.Admin | NoScript | Long;

    public static readonly CommandRow[] Rows =
    [
        new("BACKUP", -2, Keys.None, None, "server", "8.10.0", null, "Commands about backups of all data.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("START",
                    2, Keys.None, Administration | AllShards, "server", "8.10.0", Start,
                    "Starts a backup in the directory of backupdirname."),
                new("SEAL",
                    2, Keys.None, Administration, "server", "8.10.0", Seal,
                    "Completes the backup; its files do not change any more."),
                new("STATUS", 2, Keys.None, Administration, "server", "8.10.0", Status, "Returns the state of the backup."),
                new("LIST",
                    2, Keys.None, Administration, "server", "8.10.0", List,
                    "Lists the files of the backup that do not change any more."),
                new("ABORT", 2, Keys.None, Administration, "server", "8.10.0", Abort, "Cancels a backup that is not sealed."),
                new("CLEANUP",
                    2, Keys.None, Administration, "server", "8.10.0", CleanUp,
                    "Removes the files of a backup that is sealed or failed."),
                Help.Row("server", "8.10.0"),
            ],
        },
    ];

    private static void Start(ref CommandContext c) => Answer(ref c, c.Server.Backups.Start(c.Session.InTransaction));

    private static void Seal(ref CommandContext c) => Answer(ref c, c.Server.Backups.Seal());

    private static void Abort(ref CommandContext c) => Answer(ref c, c.Server.Backups.Abort());

    private static void CleanUp(ref CommandContext c) => Answer(ref c, c.Server.Backups.CleanUp());

    private static void Answer(ref CommandContext c, string? problem)
    {
        if (problem is not null) c.Fail(Errors.Spell(problem));
        else c.Reply.Ok();
    }

    private static void Status(ref CommandContext c)
    {
        Backups backups = c.Server.Backups;
        c.Reply.MapHeader(4);
        Field(ref c, "state", Backups.Text(backups.State));
        Field(ref c, "error", backups.Error);
        c.Reply.Bulk("start_time"u8);
        c.Reply.Integer(backups.StartedAt);
        c.Reply.Bulk("end_time"u8);
        c.Reply.Integer(backups.SealedAt);
    }

    private static void Field(ref CommandContext c, string name, string value)
    {
        c.Reply.Bulk(Encoding.ASCII.GetBytes(name));
        c.Reply.Bulk(Encoding.UTF8.GetBytes(value));
    }

    private static void List(ref CommandContext c)
    {
        List<string> files = c.Server.Backups.Files();
        c.Reply.ArrayHeader(files.Count);
        foreach (string file in files) c.Reply.Bulk(Encoding.UTF8.GetBytes(file));
    }
}
