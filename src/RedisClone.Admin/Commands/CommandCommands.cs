using System.Text;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>COMMAND: descriptions of the rows of the command table.</summary>
internal static class CommandCommands
{
    private const CommandFlags Flags = Loading | Stale;

    /// <summary>The work of a description of one command, in elements that a command visits.</summary>
    private const int WorkPerRow = 16;

    private const string PerName = "O(N) where N is the number of commands to look up";
    private const string PerArgument = "O(N) where N is the number of arguments to the command";
    private const string PerCommand = "O(N) where N is the total number of Redis commands";

    public static readonly CommandRow[] Rows =
    [
        new("COMMAND", -1, Keys.None, Flags, "server", "2.8.13", All, "Describes all commands, or some.")
        {
            Complexity = PerCommand, Tips = CommandTips.NondeterministicOrder, Categories = ["connection"],
            Subcommands =
            [
                Sub("COUNT", 2, "2.8.13", Count, "Returns the number of commands."),
                Sub("INFO [command-name [command-name ...]]",
                    -2, "2.8.13", Info, "Describes commands: arguments, flags, keys.", PerName, CommandTips.NondeterministicOrder),
                Sub("DOCS [command-name [command-name ...]]", -2, "7.0.0", Docs, "Explains commands.", PerName, CommandTips.NondeterministicOrder),
                Sub("LIST [FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
                    -2, "7.0.0", List, "Lists all commands, or those of a category, or those that match a pattern.",
                    PerCommand, CommandTips.NondeterministicOrder),
                Sub("GETKEYS command [arg [arg ...]]", -3, "2.8.13", GetKeys, "Finds the keys in a whole command.", PerArgument, isSecret: IsNestedArgument),
                Sub("GETKEYSANDFLAGS command [arg [arg ...]]",
                    -3, "7.0.0", GetKeysAndFlags, "Finds the keys in a whole command, with what the command does with each.",
                    PerArgument, isSecret: IsNestedArgument),
                Help.Row("server", "5.0.0", "connection"),
            ],
        },
    ];

    private static CommandRow Sub(
        string name, int arity, string since, CommandHandler handler, string summary, string complexity = "O(1)", string[]? tips = null,
        SecretArgument? isSecret = null) =>
        new(name, arity, Keys.None, Flags, "server", since, handler, summary)
        {
            Complexity = complexity, Tips = tips ?? [], Categories = ["connection"], IsSecret = isSecret,
        };

    /// <summary>An argument of the command in question may be a password.</summary>
    private static bool IsNestedArgument(in Request request, int index) => index > 2;

    private static void All(ref CommandContext c)
    {
        c.Reply.ArrayHeader(c.Server.Commands.Rows.Length);
        foreach (CommandRow row in c.Server.Commands.Rows) CommandDescription.Info(c.Reply, row);
    }

    private static void Count(ref CommandContext c) => c.Reply.Integer(c.Server.Commands.Rows.Length);

    private static void Info(ref CommandContext c)
    {
        if (c.Args.Count == 2)
        {
            All(ref c);
            return;
        }
        if (c.MoveToWorker((long)c.Args.Count * WorkPerRow)) return;
        c.Reply.ArrayHeader(c.Args.Count - 2);
        for (int i = 2; i < c.Args.Count; i++) CommandDescription.Info(c.Reply, c.Server.Commands.FindFull(c.Args[i]));
    }

    private static void Docs(ref CommandContext c)
    {
        if (c.MoveToWorker((long)c.Args.Count * WorkPerRow)) return;
        var rows = new List<CommandRow>();
        if (c.Args.Count == 2) rows.AddRange(c.Server.Commands.Rows);
        for (int i = 2; i < c.Args.Count; i++)
            if (c.Server.Commands.FindFull(c.Args[i]) is { } row) rows.Add(row);
        c.Reply.MapHeader(rows.Count);
        foreach (CommandRow row in rows)
        {
            c.Reply.BulkString(row.FullName);
            CommandDescription.Docs(c.Reply, row);
        }
    }

    private static void List(ref CommandContext c)
    {
        Func<CommandRow, bool> matches = static _ => true;
        if (c.Args.Count == 5 && c.Is(2, "filterby"u8))
        {
            byte[] wanted = c.Args[4].ToArray();
            if (c.Is(3, "aclcat"u8)) matches = row => CommandCategories.Of(row).Any(category => Ascii.EqualsIgnoreCase(wanted, category));
            else if (c.Is(3, "pattern"u8)) matches = row => Glob.Matches(wanted, Encoding.ASCII.GetBytes(row.FullName), ignoreCase: true);
            else if (c.Is(3, "module"u8)) matches = static _ => false;
            else c.FailSyntax();
        }
        else if (c.Args.Count != 2)
        {
            c.FailSyntax();
        }
        if (c.Failed) return;
        CommandRow[] rows = [.. c.Server.Commands.All.Where(matches)];
        c.Reply.ArrayHeader(rows.Length);
        foreach (CommandRow row in rows) c.Reply.BulkString(row.FullName);
    }

    private static void GetKeys(ref CommandContext c) => ReplyKeys(ref c, withFlags: false);

    private static void GetKeysAndFlags(ref CommandContext c) => ReplyKeys(ref c, withFlags: true);

    private static void ReplyKeys(ref CommandContext c, bool withFlags)
    {
        Request request = c.Args.From(2);
        CommandRow? row = c.Server.Commands.Resolve(request);
        if (row is null || row.Handler is null) c.Fail("ERR Invalid command specified");
        else if (!row.NamesKeys) c.Fail("ERR The command has no key arguments");
        else if (!row.ArityFits(request.Count)) c.Fail("ERR Invalid number of arguments specified for command");
        if (c.Failed) return;

        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        bool valid = row!.CollectKeys(request, ref positions);
        if ((!valid || positions.Count == 0) && !row.Has(NoMandatoryKeys)) c.Fail("ERR Invalid arguments specified for command");
        if (!c.Failed)
        {
            int count = valid ? positions.Count : 0;
            c.Reply.ArrayHeader(count);
            for (int i = 0; i < count; i++) ReplyKey(ref c, row, request, positions[i], positions.FlagsOf(i), withFlags);
        }
        positions.Dispose();
    }

    private static void ReplyKey(ref CommandContext c, CommandRow row, in Request request, int position, KeyFlags flags, bool withFlags)
    {
        if (withFlags) c.Reply.ArrayHeader(2);
        c.Reply.Bulk(request[position]);
        if (!withFlags) return;
        CommandDescription.KeyFlagWords(c.Reply, row.FlagsOfKey(request, position, flags));
    }
}
