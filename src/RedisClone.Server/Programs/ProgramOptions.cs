using RedisClone.Configuration;

namespace RedisClone.Server.Programs;

/// <summary>The options that print a text instead of starting a server.</summary>
internal static class ProgramOptions
{
    /// <summary>
    /// Prints the text that the arguments request. Returns the exit code, or null for the arguments of a server.
    /// </summary>
    public static int? TryRun(IReadOnlyList<string> args, TextWriter output, TextWriter error)
    {
        if (Answer(CommandLine.WithoutProgram(args)) is not var (text, exitCode)) return null;
        (exitCode == 0 ? output : error).Write(text);
        return exitCode;
    }

    private static (string Text, int ExitCode)? Answer(IReadOnlyList<string> args)
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
        {ReferencePages.Usage}{HealthCheck.Usage}{SupportProgram.Usage}{OfflineCommands.Usage}
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
