using System.Globalization;
using System.Text;
using RedisClone.Engine.Commands;

namespace RedisClone.Admin.Commands;

/// <summary>Generates docs/commands.md from the table of commands.</summary>
internal static class CommandReference
{
    private const string Head =
        """
        # Commands

        <!-- Generated from the rows in src/RedisClone.Engine/Commands and src/RedisClone.Admin/Commands. Do not edit; instead:
             dotnet run --project src/RedisClone.Server -- --write-command-reference docs/commands.md -->

        This page lists every command. A listed command behaves like Redis's command of the same name, up to version 8.10. A command marked *Not supported* answers with an
        error, in Redis's words where Redis has them. *Since* is the version of Redis that introduced the command. The server answers `COMMAND DOCS` from the same rows:

        ```sh
        redis-cli command docs getdel
        ```

        [Commands that the server does not know](#not-known) stand at the end.

        """;

    private const string AbsentHead =
        """

        ## Not known

        The server answers these commands with `ERR unknown command`, and a subcommand with `ERR unknown subcommand`, so that a client library can detect what is missing.

        | Commands | Of | Instead |
        | --- | --- | --- |

        """;

    public static string ToMarkdown(CommandTable commands)
    {
        var text = new StringBuilder(Head.ReplaceLineEndings("\n"));
        foreach (IGrouping<string, CommandRow> group in commands.Rows.GroupBy(row => row.Group).OrderBy(group => group.Key, StringComparer.Ordinal))
        {
            text.Append("\n## ").Append(char.ToUpperInvariant(group.Key[0])).Append(group.Key.AsSpan(1))
                .Append("\n\n| Command | Since | What it does |\n| --- | --- | --- |\n");
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
