using System.Globalization;
using System.Text;

namespace RedisClone.Server.Commands;

/// <summary>docs/commands.md, made from the table of commands.</summary>
internal static class CommandReference
{
    private const string Head =
        """
        # Commands

        <!-- Generated from the rows in src/RedisClone.Server/Commands. Do not edit; instead:
             dotnet run --project src/RedisClone.Server -- --write-command-reference docs/commands.md -->

        Every command that is listed behaves as Redis's of the same name, up to version 8.10, but for those that say *Not here*: they answer with Redis's own
        error where it has one. *Since* is the version of Redis that brought the command. `COMMAND DOCS` answers from the same rows. Commands of Redis and of other servers
        that this one does not know stand at the end.

        """;

    private const string AbsentHead =
        """

        ## Not known

        To a client these are unknown commands, so that libraries can tell.

        | Commands | Of | Why |
        | --- | --- | --- |

        """;

    public static string ToMarkdown()
    {
        var text = new StringBuilder(Head.ReplaceLineEndings("\n"));
        foreach (IGrouping<string, CommandRow> group in new CommandTable(CommandFamilies.All).Rows.GroupBy(row => row.Group).OrderBy(group => group.Key, StringComparer.Ordinal))
        {
            text.Append("\n## ").Append(char.ToUpperInvariant(group.Key[0])).Append(group.Key.AsSpan(1)).Append("\n\n| Command | Since | What it does |\n| --- | --- | --- |\n");
            foreach (CommandRow row in group.OrderBy(row => row.Name, StringComparer.Ordinal))
            {
                if (row.Subcommands.Length == 0) Append(text, row);
                foreach (CommandRow subcommand in row.Subcommands) Append(text, subcommand);
            }
        }
        text.Append(AbsentHead.ReplaceLineEndings("\n"));
        foreach ((string names, string from, string why) in AbsentCommands.Rows)
            text.Append(CultureInfo.InvariantCulture, $"| {names} | {from} | {why} |\n");
        return text.ToString();
    }

    private static void Append(StringBuilder text, CommandRow row)
    {
        string usage = $"{row.FullName.Replace('|', ' ').ToUpperInvariant()} {row.Syntax}".TrimEnd().Replace("|", "\\|", StringComparison.Ordinal);
        string instead = row.ReplacedBy is { } better ? $" Deprecated: use {better}." : "";
        text.Append(CultureInfo.InvariantCulture, $"| `{usage}` | {row.Since} | {row.Summary}{instead} |\n");
    }
}
