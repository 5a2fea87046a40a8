using System.Text;
using RedisClone.Configuration;
using RedisClone.Server.Programs;

namespace RedisClone.Server.Tests.Config;

public sealed class ConfigLoadTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("redisclone-config-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void WithoutArgumentsTheConfigurationHasTheDefaults()
    {
        var load = Load([]);
        Assert.Equal(6379, load.Config!.Port);
        Assert.Null(load.Config.ConfigFile);
        Assert.Equal(new ConfigTable(ServerConfig.Defaults).Get("*"), new ConfigTable(load.Config).Get("*"));
    }

    [Fact]
    public void AFileIsReadWithQuotesCommentsAndIncludes()
    {
        var file = Write("redis.conf",
            "# comment\n\n  PORT 7000\r\nrequirepass \"a b\\x21\\n\"\ninclude conf.d/*.conf\ninclude none/*.conf\n" +
            "save 900 1\nsave 300 10\nclient-output-buffer-limit replica 1mb 2mb 3\nrename-command FLUSHDB \"\"\nuser alice on >pw ~*\n" +
            $"unixsocket {_directory}/s\nlua-replicate-commands yes\nhash-max-ziplist-entries 20\ndir {_directory}\n", includesAt: _directory);
        Write("conf.d/b.conf", "timeout 2\n");
        Write("conf.d/a.conf", "timeout 1\nmaxmemory 1gb");
        Write("conf.d/.hidden.conf", "timeout 3");

        var config = Loaded([file]);
        Assert.Equal(7000, config.Port);
        Assert.Equal("a b!\n", config.RequirePass);
        Assert.Equal(2, config.Timeout);
        Assert.Equal(1L << 30, config.MaxMemorySetting);
        Assert.Equal([new SavePoint(900, 1), new SavePoint(300, 10)], config.SavePoints);
        Assert.Equal(new OutputBufferLimit(1 << 20, 2 << 20, 3), config.ClientOutputBufferLimits[(int)ClientClass.Replica]);
        Assert.Equal(["rename-command", "FLUSHDB", ""], config.RenamedCommands.Single().Words);
        Assert.Equal(["user", "alice", "on", ">pw", "~*"], config.Users.Single().Words);
        Assert.Equal(20, config.HashMaxListpackEntries);
        Assert.Equal(_directory, config.Dir);
        Assert.Equal(Path.Combine(_directory, "dump.rdb"), config.PathOf(config.DbFilename));
        Assert.Equal(file, config.ConfigFile);
    }

    /// <summary>A password is its bytes; as text, these would become others.</summary>
    [Fact]
    public void AValueThatIsNoTextIsRefused()
    {
        Assert.Contains("valid UTF-8", Load([Write("redis.conf", "requirepass \"\\xff\"\n")]).Error, StringComparison.Ordinal);
        string secret = Path.Combine(_directory, "secret");
        File.WriteAllBytes(secret, [0xff, 0xfe]);
        Assert.Contains("valid UTF-8", Load([], "", ("REDISCLONE_REQUIREPASS_FILE", secret)).Error, StringComparison.Ordinal);
    }

    [Fact]
    public void AnUnsupportedValueCanBeOverriddenByALaterLine()
    {
        string file = Write("redis.conf", "daemonize yes\nport 1\n");
        Assert.NotNull(Load([file, "--daemonize", "no"]).Config);
        ConfigLoad refused = Load([file, "--port", "7"]);
        Assert.Null(refused.Config);
        Assert.Contains("at line 1\n>>> 'daemonize yes'\n'daemonize' is not supported", refused.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("port 1 2", "wrong number of arguments")]
    [InlineData("port", "wrong number of arguments")]
    [InlineData("nosuch 1", "Bad directive or wrong number of arguments")]
    [InlineData("user", "Bad directive or wrong number of arguments")]
    [InlineData("requirepass \"x", "Unbalanced quotes in configuration line")]
    [InlineData("maxmemory-policy lru", "argument(s) must be one of the following: volatile-lru, *")]
    [InlineData("replicaof 127.0.0.1 abc", "Invalid master port")]
    [InlineData("daemonize yes", "'daemonize' is not supported by this server, only its default 'no' is accepted")]
    [InlineData("loadmodule x.so", "'loadmodule' is not supported: this server loads no native modules")]
    [InlineData("sentinel monitor m 127.0.0.1 6379 2", "sentinel directive while not in sentinel mode")]
    [InlineData("mod.x", "Module config specified without value")]
    [InlineData("mod.x 1", "Module Configuration detected without loadmodule directive or no ApplyConfig call: aborting")]
    [InlineData("unixsocketperm 8", "argument couldn't be parsed as an octal number")]
    [InlineData("unixsocketperm 1000", "argument must be between 0 and 777 inclusive")]
    [InlineData("shards 3", "argument must be a power of two, or 0 to choose one")]
    [InlineData("appendfilename \"\"", "appendfilename can't be empty")]
    [InlineData("dir /no/such/place", "No such file or directory")]
    [InlineData("logfile /no/such/place/log", "")]
    public void ErrorsHaveTheTextOfRedis(string line, string reason)
    {
        var load = Load([Write("redis.conf", $"timeout 1\n{line}\n")]);
        Assert.Null(load.Config);
        var expected = line.StartsWith("logfile", StringComparison.Ordinal)
            ? "\n*** FATAL CONFIG FILE ERROR (Redis 7.4.1) ***\nCan't open the log file: No such file or directory\n"
            : $"\n*** FATAL CONFIG FILE ERROR (Redis 7.4.1) ***\nReading the configuration file, at line 2\n>>> '{line}'\n{reason}\n";
        if (reason.EndsWith('*'))
            Assert.StartsWith(expected[..^2], load.Error);
        else
            Assert.Equal(expected, load.Error);
    }

    [Fact]
    public void AnUnreadableFileIsRefused()
    {
        Assert.Equal("Fatal error, can't open config file '/no/such.conf': No such file or directory\n", Load(["/no/such.conf"]).Error);
        var self = Path.Combine(_directory, "self.conf");
        Assert.Contains("include each other", Load([Write("self.conf", $"include {self}\n")]).Error);
        Assert.Contains("can't open config file '/no/such.conf'", Load([Write("other.conf", "include /no/such.conf\n")]).Error);
    }

    [Fact]
    public void TheLastLineWinsAndFirstSaveReplaces()
    {
        var file = Write("redis.conf", "save 900 1\nport 1\nport 2\n");
        Assert.Equal(2, Loaded([file]).Port);
        Assert.Equal([new SavePoint(900, 1), new SavePoint(100, 100)], Loaded([file, "--save", "100", "100"]).SavePoints);
        Assert.Equal([new SavePoint(900, 1), new SavePoint(100, 100), new SavePoint(5, 6)], Loaded([file, "--save", "100 100 5 6"]).SavePoints);
        Assert.Empty(Loaded([file, "--save", ""]).SavePoints);
        Assert.Equal([new SavePoint(7, 8)], Loaded([file], ("REDISCLONE_SAVE", "7 8")).SavePoints);
        Assert.Equal([new SavePoint(7, 8), new SavePoint(1, 2)], Loaded([file, "--save", "1", "2"], ("REDISCLONE_SAVE", "7 8")).SavePoints);
    }

    [Theory]
    [InlineData(new[] { "--invalid" }, "*\n>>> 'invalid'\nBad directive or wrong number of arguments\n")]
    [InlineData(new[] { "--port" }, "*at line 2\n>>> 'port'\nwrong number of arguments\n")]
    [InlineData(new[] { "--port", "6380", "--loglevel" }, "*at line 3\n>>> 'loglevel'\nwrong number of arguments\n")]
    [InlineData(new[] { "--port", "6379", "6380" }, "*'port \"6379\" \"6380\"'\nwrong number of arguments\n")]
    [InlineData(new[] { "--port", "--loglevel", "verbose" }, "*'port \"--loglevel\" \"verbose\"'\nwrong number of arguments\n")]
    [InlineData(new[] { "--port", "--bla", "--loglevel", "verbose" }, "*'port \"--bla\"'\nargument couldn't be parsed into an integer\n")]
    [InlineData(new[] { "--logfile", "--my--log", "--loglevel", "--bla" }, "*'loglevel \"--bla\"'\nargument(s) must be one of the following: *")]
    [InlineData(new[] { "--shutdown-on-sigint" }, "*'shutdown-on-sigint'\nargument(s) must be one of the following: *")]
    [InlineData(new[] { "--shutdown-on-sigint", "now force", "--shutdown-on-sigterm" }, "*'shutdown-on-sigterm'\nargument(s) must be *")]
    [InlineData(new[] { "--replicaof", "--127.0.0.1", "abc" }, "*'replicaof \"--127.0.0.1\" \"abc\"'\nInvalid master port\n")]
    [InlineData(new[] { "--replicaof", "--127.0.0.1", "--abc" }, "*'replicaof \"--127.0.0.1\"'\nwrong number of arguments\n")]
    public void AnInvalidCommandLineIsExplained(string[] args, string pattern)
    {
        var load = Load(args);
        Assert.Null(load.Config);
        Assert.True(ConfigText.MatchesGlob(pattern.Replace("[", "\\["), load.Error, ignoreCase: false), load.Error);
    }

    [Theory]
    [InlineData(new[] { "--port", "7000", "--requirepass", "x" }, "port=7000 requirepass=x")]
    [InlineData(new[] { "--maxmemory 700mb", "--maxmemory-policy volatile-lru" }, "maxmemory=734003200 maxmemory-policy=volatile-lru")]
    [InlineData(new[] { "--maxmemory '700mb'", "--loglevel 'verbose'" }, "maxmemory=734003200 loglevel=verbose")]
    [InlineData(new[] { "--proc-title-template", "--my--title", "--loglevel", "verbose" }, "proc-title-template=--my--title loglevel=verbose")]
    [InlineData(new[] { "--proc-title-template --my--title", "--loglevel verbose" }, "proc-title-template=--my--title loglevel=verbose")]
    [InlineData(new[] { "--save", "--loglevel", "verbose" }, "save= loglevel=verbose")]
    [InlineData(new[] { "--loglevel", "verbose", "--save" }, "save= loglevel=verbose")]
    [InlineData(new[] { "--save", "", "--loglevel", "verbose" }, "save= loglevel=verbose")]
    [InlineData(new[] { "--proc-title-template", "--save", "--save", "", "--loglevel", "verbose" }, "proc-title-template=--save save=")]
    [InlineData(new[] { "--shutdown-on-sigint", "nosave", "force", "now", "--timeout", "5" }, "timeout=5")]
    [InlineData(new[] { "--requirepass", "pä\"s s" }, "requirepass=pä\"s_s")]
    [InlineData(new[] { "--bind", "127.0.0.1", "--io-loops", "2", "--shards", "64", "--transport", "sockets" }, "io-loops=2 transport=sockets")]
    public void CommandLinesAreParsedAsInRedis(string[] args, string values)
    {
        var table = new ConfigTable(Loaded(args));
        foreach (var pair in values.Split(' ').Select(pair => pair.Split('=')))
            Assert.Equal(pair[1].Replace('_', ' '), table.Get(pair[0]).Single().Value);
    }

    [Fact]
    public void WordsAfterTheFileAreLines()
    {
        var config = Loaded([Write("redis.conf", "port 1"), "loglevel", "verbose", "--timeout", "5"]);
        Assert.Equal((ServerLogLevel.Verbose, 5, 1), (config.LogLevel, config.Timeout, config.Port));
    }

    [Fact]
    public void StandardInputIsReadAfterTheFile()
    {
        var file = Write("redis.conf", "port 1\ntimeout 1\n");
        Assert.Equal(2, Load(["-"], "port 2").Config!.Port);
        var config = Load([file, "--timeout", "3", "-"], "port 2\ntimeout 2").Config!;
        Assert.Equal((2, 3), (config.Port, config.Timeout));
    }

    [Fact]
    public void TheEnvironmentIsReadBetweenFileAndCommandLine()
    {
        var file = Write("redis.conf", "port 1\ntimeout 1\nmaxmemory 1\n");
        var config = Loaded([file, "--timeout", "3"], ("REDISCLONE_PORT", "2"), ("REDISCLONE_TIMEOUT", "2"), ("REDISCLONE_MAXMEMORY_POLICY", "allkeys-lru"));
        Assert.Equal((2, 3, 1L, MaxMemoryPolicy.AllKeysLru), (config.Port, config.Timeout, config.MaxMemorySetting, config.MaxMemoryPolicy));
    }

    [Fact]
    public void SecretsCanBeInFiles()
    {
        var secret = Write("secret", "pä ss\r\n");
        Assert.Equal("pä ss", Loaded([], ("REDISCLONE_REQUIREPASS_FILE", secret)).RequirePass);
        Assert.Contains("Reading the environment variable REDISCLONE_REQUIREPASS_FILE\nFatal error, can't open config file '/no/such': No such file",
            Load([], "", ("REDISCLONE_REQUIREPASS_FILE", "/no/such")).Error);
        Assert.Contains("only one of them can be meant",
            Load([], "", ("REDISCLONE_REQUIREPASS_FILE", secret), ("REDISCLONE_REQUIREPASS", "x")).Error);
    }

    [Theory]
    [InlineData("", "is empty")]
    [InlineData("\n", "is empty")]
    [InlineData("\r\n", "is empty")]
    [InlineData("one\n\n", "has more than one line")]
    [InlineData("one\r\ntwo", "has more than one line")]
    public void ASecretIsTheOnlyLineOfItsFile(string text, string problem)
    {
        var secret = Write("secret", text);
        Assert.EndsWith($"Reading the environment variable REDISCLONE_REQUIREPASS_FILE\nthe file '{secret}' {problem}\n",
            Load([], "", ("REDISCLONE_REQUIREPASS_FILE", secret)).Error, StringComparison.Ordinal);
    }

    [Fact]
    public void AnInvalidVariableIsNamedWithoutItsValue()
    {
        var load = Load([], "", ("REDISCLONE_PORT", "tcp://10.0.0.1:6379"));
        Assert.Equal("\n*** FATAL CONFIG FILE ERROR (Redis 7.4.1) ***\nReading the environment variable REDISCLONE_PORT\n" +
                     "argument couldn't be parsed into an integer\n", load.Error);
        Assert.Contains("REDISCLONE_PROT", Assert.Single(Load([], "", ("REDISCLONE_PROT", "1"), ("PORT", "1")).Warnings));
    }

    [Theory]
    [InlineData(new[] { "x.conf", "--sentinel" }, "^This server has no Sentinel mode")]
    [InlineData(new[] { "--test-memory", "100" }, "^This server does not test memory")]
    [InlineData(new[] { "--check-system" }, "^This server does not check the system")]
    [InlineData(new[] { "--help" }, "^Usage: ")]
    [InlineData(new[] { "redis-server", "--help" }, "^Usage: ")]
    public void AnUnsupportedOptionIsExplainedAsAnError(string[] args, string pattern)
    {
        using StringWriter output = new(), error = new();
        Assert.Equal(1, ProgramOptions.TryRun(args, output, error));
        Assert.Matches(pattern, error.ToString());
        Assert.Empty(output.ToString());
    }

    [Fact]
    public void TheVersionIsPrinted()
    {
        using StringWriter output = new(), error = new();
        Assert.Equal(0, ProgramOptions.TryRun(["--version"], output, error));
        Assert.Matches("^Redis server v=7\\.4\\.1 sha=\\w+:0 malloc=pages bits=64 build=RedisClone-[0-9.]+\n$", output.ToString());
        Assert.Null(ProgramOptions.TryRun(["--port", "7000"], output, error));
    }

    private string Write(string name, string text, string? includesAt = null)
    {
        var path = Path.Combine(_directory, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, includesAt is null ? text : text.Replace("include ", $"include {includesAt}/"));
        return path;
    }

    private static ServerConfig Loaded(string[] args, params (string Name, string Value)[] environment)
    {
        var load = Load(args, "", environment);
        Assert.True(load.Config is not null, load.Error);
        return load.Config;
    }

    private static ConfigLoad Load(string[] args, string input = "", params (string Name, string Value)[] environment) =>
        ServerConfig.Load(args, environment.ToDictionary(pair => pair.Name, pair => pair.Value), () => new MemoryStream(Encoding.UTF8.GetBytes(input)));
}
