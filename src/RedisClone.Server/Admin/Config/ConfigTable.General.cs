namespace RedisClone.Server.Admin;

/// <summary>The process: log, signals, supervision.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] General() =>
    [
        Int("databases", 16, 1, int.MaxValue, static c => ref c.Databases, "Number of databases that SELECT can reach.", flags: Immutable),
        Choice("loglevel", ServerLogLevel.Notice, ConfigChoices.LogLevel, static c => ref c.LogLevel, "The least important level that is logged."),
        Choice("log-format", LogFormat.Text, ConfigChoices.LogFormat, static c => ref c.LogFormat, "How a line of the log looks: as Redis writes it, or a JSON object of time, level, pid, message and fields."),
        Text("logfile", "", static c => ref c.LogFile, "File to log to; empty is standard output.", flags: Immutable),
        Bool("hide-user-data-from-log", false, "Keep keys and values out of the log; here they never get there.", flags: TunesNothing),
        Bool("daemonize", false, "Go to the background. Use a service manager, or & in a shell.", flags: Immutable | Unsupported),
        Choice("supervised", SupervisedMode.No, ConfigChoices.Supervised, static c => ref c.Supervised, "Tell systemd when the server is ready (auto: if systemd asks for it).", Immutable, ParameterChecks.Supervised),
        Text("pidfile", null, static c => ref c.PidFile, "File to write the process id to once the data is loaded, until the server ends.", flags: Immutable),
        Bool("always-show-logo", false, "Show the start-up banner when not logging to a terminal, too; there is none here.", flags: Immutable | TunesNothing),
        Bool("set-proc-title", true, "Show address and mode in the process list.", flags: Immutable | TunesNothing),
        Text("proc-title-template", "{title} {listen-addr} {server-mode}", "How the title in the process list is made up.", flags: TunesNothing, check: ParameterChecks.TitleTemplate),
        Int("hz", 10, 0, int.MaxValue, static c => ref c.Hz, "Rounds of background work a second; brought into the range from 1 to 500.", special: ClampedHz),
        Bool("dynamic-hz", true, "More such rounds when there are many clients; here each round looks after all of them.", flags: TunesNothing),
        Int("shutdown-timeout", 10, 0, int.MaxValue, "Seconds that SHUTDOWN waits for replicas to catch up; here it does not wait for them.", flags: TunesNothing),
        new ShutdownParameter("shutdown-on-sigint", static c => ref c.ShutdownOnSigint, "What SIGINT does, in the words of SHUTDOWN."),
        new ShutdownParameter("shutdown-on-sigterm", static c => ref c.ShutdownOnSigterm, "What SIGTERM does, in the words of SHUTDOWN."),
        Choice("oom-score-adj", OomScoreMode.No, ConfigChoices.OomScoreAdj, static c => ref c.OomScoreAdj, "Whether to tell Linux which process to end first when memory runs out."),
        new OomValuesParameter("oom-score-adj-values", [0, 200, 800], static c => ref c.OomScoreAdjValues, "What to tell it: as a master, as a replica, and (never used here) in a child process."),
        Bool("syslog-enabled", false, "Log to the system log.", flags: Immutable | Unsupported),
        Text("syslog-ident", "redis", "Name of the server in the system log.", flags: Immutable | TunesNothing),
        Choice("syslog-facility", "local0", ["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"], "Facility in the system log.", Immutable | TunesNothing),
        Bool("crash-log-enabled", true, "Report of a crash; here the runtime writes it.", flags: TunesNothing),
        Bool("crash-memcheck-enabled", true, "Test of the memory after a crash.", flags: TunesNothing),
        Bool("use-exit-on-panic", false, "How to end after an assertion failed.", flags: Hidden | TunesNothing),
        Bool("disable-thp", true, "Keep transparent huge pages off, for the sake of fork; nothing forks here.", flags: Immutable | TunesNothing),
        Text("ignore-warnings", "", "Warnings about the machine that do not prevent a start; there are none here.", flags: TunesNothing),
        Text("locale-collate", "", "Locale of comparisons; SORT ALPHA and Lua compare bytes here.", flags: TunesNothing),
    ];

    /// <summary>Redis takes any rate, and brings it into the range that makes sense.</summary>
    private static long? ClampedHz(string text) =>
        ConfigText.TryParseInteger(text, out long hz) && hz is >= 0 and <= int.MaxValue ? Math.Clamp(hz, 1, 500) : null;
}
