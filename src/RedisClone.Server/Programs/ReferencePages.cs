using System.Text;
using RedisClone.Admin.Commands;
using RedisClone.Configuration;
using RedisClone.Engine.Commands;

namespace RedisClone.Server.Programs;

/// <summary>
/// Generates the pages of docs/ that come from the server's tables. A page is printed, or replaces a file when it is complete.
/// </summary>
internal static class ReferencePages
{
    private const int Done = 0, Failed = 1;

    public const string Usage =
        """
               RedisClone.Server --write-config-reference [FILE] (write docs/configuration.md; without FILE, print it)
               RedisClone.Server --write-command-reference [FILE] (write docs/commands.md; without FILE, print it)

        """;

    /// <summary>
    /// Writes the page that the arguments request. Returns the exit code, or null for the arguments of a server.
    /// </summary>
    public static int? TryRun(IReadOnlyList<string> args, TextWriter output)
    {
        Func<string>? page = args.Count == 0 ? null : args[0] switch
        {
            "--write-config-reference" => ConfigReference.ToMarkdown,
            "--write-command-reference" => static () => CommandReference.ToMarkdown(new CommandTable(CommandFamilies.All)),
            _ => null,
        };
        if (page is null) return null;
        switch (args)
        {
            case [_]:
                output.Write(page());
                return Done;
            case [_, var file]:
                if (ReplacedFile.Write(Path.GetFullPath(file), () => Encoding.UTF8.GetBytes(page())) is not { } problem) return Done;
                output.WriteLine($"{file}: {problem}");
                return Failed;
            default:
                output.Write(ProgramName.In("Usage:\n" + Usage));
                return Failed;
        }
    }
}
