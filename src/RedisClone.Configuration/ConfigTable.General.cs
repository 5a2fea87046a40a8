namespace RedisClone.Configuration;

/// <summary>The parameters for the process: log, signals, supervision.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] General() =>
    [
        Int("databases", 16, 1, int.MaxValue, static c => ref c.Databases,
            "Number of databases that SELECT can reach.", flags: Immutable),
        Choice("loglevel", ServerLogLevel.Notice, ConfigChoices.LogLevel, static c => ref c.LogLevel,
            "The lowest level that is logged."),
        Choice("log-format", LogFormat.Text, ConfigChoices.LogFormat, static c => ref c.LogFormat,
            "Format of the log: lines as Redis writes them, or JSON objects with time, level, pid, message and fields."),
        Text("logfile", "", static c => ref c.LogFile, "File to log to; empty is standard output.", flags: Immutable),
        Bool("hide-user-data-from-log", false,
            "Keep keys and values out of the log; the log of this server never contains them.", flags: TunesNothing),
        Bool("daemonize", false,
            "Run in the background. Use a service manager, or & in a shell.", flags: Immutable | Unsupported),
        Choice("supervised", SupervisedMode.No, ConfigChoices.Supervised, static c => ref c.Supervised,
            "Tell systemd when the server is ready (auto: if systemd asks for it).", Immutable, ParameterChecks.Supervised),
        Text("pidfile", null, static c => ref c.PidFile,
            "File with the process ID, from the time when the data is loaded until the shutdown.", flags: Immutable),
        Bool("always-show-logo", false,
            "Show the start-up banner also when the log is not a terminal; this server has no banner.", flags: Immutable | TunesNothing),
        Bool("set-proc-title", true, "Show address and mode in the process list.", flags: Immutable | TunesNothing),
        Text("proc-title-template",
            "{title} {listen-addr} {server-mode}", "Template of the title in the process list.", flags: TunesNothing, check: ParameterChecks.TitleTemplate),
        Int("hz", 10, 0, int.MaxValue, static c => ref c.Hz,
            "Rounds of background work a second; limited to 1 to 500.", special: ClampedHz),
        Bool("dynamic-hz", true,
            "Run more of these rounds if there are many clients; here each round covers all clients.", flags: TunesNothing),
        Int("shutdown-timeout", 10, 0, int.MaxValue, static c => ref c.ShutdownTimeout,
            "Seconds that a shutdown waits for replicas to catch up."),
        new ShutdownParameter("shutdown-on-sigint", static c => ref c.ShutdownOnSigint, "The shutdown on SIGINT, with the options of SHUTDOWN."),
        new ShutdownParameter("shutdown-on-sigterm", static c => ref c.ShutdownOnSigterm, "The shutdown on SIGTERM, with the options of SHUTDOWN."),
        Choice("oom-score-adj", OomScoreMode.No, ConfigChoices.OomScoreAdj, static c => ref c.OomScoreAdj,
            "Adjust the score by which Linux kills processes when memory runs out."),
        new OomValuesParameter("oom-score-adj-values", [0, 200, 800], static c => ref c.OomScoreAdjValues,
            "The adjustments: as a master, as a replica, and in a child process (unused here)."),
        Bool("syslog-enabled", false, "Log to the system log.", flags: Immutable | Unsupported),
        Text("syslog-ident", "redis", "Name of the server in the system log.", flags: Immutable | TunesNothing),
        Choice("syslog-facility", "local0",
            ["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"],
            "Facility in the system log.", Immutable | TunesNothing),
        Bool("crash-log-enabled", true, "Log a report of a crash; here the runtime writes it.", flags: TunesNothing),
        Bool("crash-memcheck-enabled", true, "Test the memory after a crash.", flags: TunesNothing),
        Bool("use-exit-on-panic", false, "Exit instead of abort after a failed assertion.", flags: Hidden | TunesNothing),
        Bool("disable-thp", true,
            "Turn transparent huge pages off because of fork; this server does not fork. See huge-pages.", flags: Immutable | TunesNothing),
        Text("ignore-warnings", "", "Warnings about the machine to ignore at start; this server has none.", flags: TunesNothing),
        Text("locale-collate", "", "Locale of comparisons; SORT ALPHA and Lua compare bytes here.", flags: TunesNothing),
    ];

    /// <summary>Accepts any rate, as Redis does, and clamps it to the valid range.</summary>
    private static long? ClampedHz(string text) =>
        ConfigText.TryParseInteger(text, out long hz) && hz is >= 0 and <= int.MaxValue ? Math.Clamp(hz, 1, 500) : null;
}
