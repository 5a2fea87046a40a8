using System.Text;

namespace RedisClone.Configuration;

/// <summary>
/// The command line in redis-server's form: [file] [--name value ...] [-]. Options become configuration lines that are read
/// after the file. A word that begins with -- is a parameter name, except directly after a name without a value.
/// </summary>
internal sealed record CommandLine(string? ConfigFile, bool ReadsStandardInput, string OptionLines)
{
    public static CommandLine Parse(IReadOnlyList<string> args)
    {
        args = WithoutProgram(args);
        int next = 0;
        string? file = null;
        if (args.Count > 0 && !args[0].StartsWith('-')) file = args[next++] is { Length: > 0 } path ? Path.GetFullPath(path) : "";

        bool standardInput = false;
        var lines = new StringBuilder();
        bool hasValue = true;
        for (; next < args.Count; next++)
        {
            string arg = args[next];
            bool isLast = next == args.Count - 1;
            if (arg == "-" && (next == 0 || isLast)) standardInput = true;
            else if (hasValue && arg.StartsWith("--", StringComparison.Ordinal))
            {
                if (lines.Length > 0) lines.Append('\n');
                lines.Append(ConfigText.ToLine(arg[2..])).Append(' ');
                hasValue = ConfigText.SplitWords(ConfigText.ToLine(arg))?.Length != 1; // both in one argument: "--port 7000"

                // A script that builds the arguments from an empty list intends an empty list of save points.
                bool isNameFollowing = !isLast && args[next + 1].StartsWith("--", StringComparison.Ordinal);
                if (!hasValue && arg.Equals("--save", StringComparison.OrdinalIgnoreCase) && (isLast || isNameFollowing))
                {
                    lines.Append("\"\"");
                    hasValue = true;
                }
            }
            else
            {
                lines.Append(ConfigText.Quote(arg)).Append(' ');
                hasValue = true;
            }
        }
        return new CommandLine(file, standardInput, lines.ToString());
    }

    /// <summary>
    /// The arguments without the program's name or its path, with which container commands for the Redis image begin.
    /// </summary>
    public static IReadOnlyList<string> WithoutProgram(IReadOnlyList<string> args)
    {
        bool isProgram = args is [var program, ..] &&
            (program == "redis-server" || (Path.IsPathRooted(program) && Path.GetFileName(program) == "redis-server"));
        return isProgram ? [.. args.Skip(1)] : args;
    }
}
