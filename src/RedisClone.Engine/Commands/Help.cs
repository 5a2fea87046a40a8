using System.Text;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands;

/// <summary>
/// The HELP subcommand of every container. It is generated from the rows of the other subcommands, so that it is complete.
/// </summary>
internal static class Help
{
    public static CommandRow Row(string group, string since, params string[] categories) =>
        new("HELP", 2, Keys.None, Loading | Stale, group, since, Reply, "Lists the subcommands.") { Categories = categories };

    /// <summary>Writes the help of a command whose first argument is a word without a row of its own.</summary>
    public static void Reply(ref CommandContext c, string container, IEnumerable<(string Word, string Syntax, string Summary)> entries)
    {
        var lines = new List<string> { $"{container.ToUpperInvariant()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" };
        foreach ((string word, string syntax, string summary) in entries.Append(("HELP", "", "Print this help.")))
        {
            lines.Add(syntax.Length > 0 ? $"{word} {syntax}" : word);
            lines.Add("    " + summary);
        }
        c.Reply.ArrayHeader(lines.Count);
        foreach (string line in lines) c.Reply.SimpleString(Encoding.UTF8.GetBytes(line));
    }

    private static void Reply(ref CommandContext c)
    {
        CommandRow container = c.Row.Parent!;
        Reply(ref c, container.Name,
            container.Subcommands.Where(row => row.Name != "help").Select(row => (row.Name.ToUpperInvariant(), row.Syntax, row.Summary)));
    }
}
