using System.Text;

namespace RedisClone.Server.Admin;

/// <summary>
/// The command line in redis-server's form: [file] [--name value ...] [-]. Options become configuration lines that are read
/// after the file. A word that begins with -- is a parameter name, except directly after a name without a value.
/// </summary>
internal sealed record CommandLine(string? ConfigFile, bool ReadsStandardInput, string OptionLines)
{
    /// <summary>The text to print and the exit code, or null if the server should run.</summary>
    public (string Text, int ExitCode)? Answer { get; private init; }

    public static CommandLine Parse(IReadOnlyList<string> args)
    {
        // Container commands written for the Redis image begin with the program's name or its path.
        if (args is [var program, ..] && (program == "redis-server" || (Path.IsPathRooted(program) && Path.GetFileName(program) == "redis-server"))) args = [.. args.Skip(1)];
        if (Immediate(args) is { } answer) return new CommandLine(null, false, "") { Answer = answer };

        int next = 0;
        string? file = null;
        if (args.Count > 0 && !args[0].StartsWith('-')) file = Path.GetFullPath(args[next++]);

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

    private static (string Text, int ExitCode)? Immediate(IReadOnlyList<string> args)
    {
        if (args.Contains("--sentinel", StringComparer.Ordinal))
            return ("This server has no Sentinel mode; use redis-sentinel.\n", 1);
        return args.Count == 0 ? null : args[0] switch
        {
            "-v" or "--version" => ($"Redis server v={ServerVersion.Redis} sha={ServerVersion.Commit ?? "00000000"}:0 malloc=pages bits=64 " +
                                    $"build=RedisClone-{ServerVersion.Own}\n", 0),
            "-h" or "--help" => (ProgramName.In(Usage), 1),
            "--test-memory" => ("This server does not test memory; use a tool such as memtester.\n", 1),
            "--check-system" => ("This server does not check the system; its start-up log shows the warnings.\n", 1),
            _ => null,
        };
    }

    private const string Usage =
        $"""
        Usage: RedisClone.Server [/path/to/redis.conf] [options] [-]
               RedisClone.Server - (read the configuration from standard input)
               RedisClone.Server -v or --version
               RedisClone.Server -h or --help
        {ReferencePages.Usage}{HealthCheck.Usage}{OfflineCommands.Usage}
        An option is a parameter of redis.conf: --name value ...
        The environment can also set a parameter: REDISCLONE_NAME=value, or REDISCLONE_NAME_FILE=file with the value;
        dashes become underscores. The command line overrides the environment, which overrides the file.

        Examples:
               RedisClone.Server --port 7777
               RedisClone.Server /etc/redis/6379.conf --loglevel verbose
               RedisClone.Server --maxmemory auto --maxmemory-policy allkeys-lru
               REDISCLONE_REQUIREPASS_FILE=/run/secrets/redis RedisClone.Server --appendonly yes
               echo 'maxmemory 128mb' | RedisClone.Server -

        """;
}
