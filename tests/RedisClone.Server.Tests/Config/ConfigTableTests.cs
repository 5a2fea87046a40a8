using RedisClone.Configuration;
using RedisClone.Engine.Commands;

namespace RedisClone.Server.Tests.Config;

public class ConfigTableTests
{
    private readonly ServerConfig _config = new();
    private readonly ConfigTable _table;

    public ConfigTableTests() => _table = new ConfigTable(_config);

    public static TheoryData<string, string, string> RedisRows()
    {
        var rows = new TheoryData<string, string, string>();
        foreach (var (name, value, flags) in RedisParameters.All)
            rows.Add(name, value, flags);
        return rows;
    }

    [Theory]
    [MemberData(nameof(RedisRows))]
    public void EveryParameterOfRedisExistsWithItsDefaultAndItsFlags(string name, string value, string flags)
    {
        var parameter = ConfigTable.Find(name);
        Assert.NotNull(parameter);
        if (name != "dir")
            Assert.Equal(value, parameter.GetText(_config));
        Assert.Equal(flags.Contains('I'), parameter.Has(ParameterFlags.Immutable));
        Assert.Equal(flags.Contains('P'), parameter.Has(ParameterFlags.Protected));
        Assert.Equal(flags.Contains('S'), parameter.Has(ParameterFlags.Secret));
        Assert.False(parameter.Has(ParameterFlags.Hidden));
    }

    /// <summary>A change may wait for an event loop, which runs CONFIG GET meanwhile.</summary>
    [Fact]
    public void ValuesAreReadDuringAChange()
    {
        bool isRead = false;
        _table.OnChanged("maxclients", () =>
        {
            isRead = Task.Run(() => _table.Get("maxclients")).Wait(TimeSpan.FromSeconds(30));
            return null;
        });
        Assert.Null(_table.Set([new("maxclients", "77")]));
        Assert.True(isRead);
    }

    [Fact]
    public void AChangeThatThrowsIsUndone()
    {
        int calls = 0;
        _table.OnChanged("maxclients", () => ++calls == 1 ? throw new InvalidOperationException() : null);
        uint before = _config.MaxClients;
        Assert.Throws<InvalidOperationException>(() => _table.Set([new("timeout", "9"), new("maxclients", "77")]));
        Assert.Equal(before, _config.MaxClients);
        Assert.Equal("0", _table.Get("timeout")[0].Value);
        Assert.Equal(2, calls);
    }

    [Fact]
    public void RowsAreWellFormed()
    {
        foreach (var parameter in ConfigTable.Parameters)
        {
            Assert.Equal(parameter.Name.ToLowerInvariant(), parameter.Name);
            Assert.True(parameter.Doc.EndsWith('.'), parameter.Name);
            Assert.DoesNotContain('|', parameter.Doc);
            Assert.False(parameter.Has(ParameterFlags.TunesNothing) && parameter.Has(ParameterFlags.Unsupported), parameter.Name);
            Assert.True(parameter.IsDefault(_config));
        }
        Assert.Equal(ConfigTable.Parameters.Count, ConfigTable.Parameters.Select(parameter => parameter.Name).Distinct().Count());
    }

    [Fact]
    public void SetAcceptsTheValuesThatGetReturns()
    {
        var before = _table.Get("*");
        foreach (var pair in before.Where(pair => !ConfigTable.Find(pair.Key)!.Has(ParameterFlags.Immutable | ParameterFlags.Protected)))
            Assert.Null(_table.Set([pair]));
        Assert.Equal(before, _table.Get("*"));
    }

    [Fact]
    public void GetReturnsEachNameOnceAndKnowsAliases()
    {
        var names = _table.Get("maxmemory", "maxmemory*", "bind", "*of").ConvertAll(pair => pair.Key);
        Assert.Equal(names.Distinct(), names);
        Assert.Equal("maxmemory", names[0]);
        Assert.All(["maxmemory-samples", "maxmemory-clients", "bind", "slaveof", "replicaof"], name => Assert.Contains(name, names));
    }

    [Fact]
    public void GetIgnoresCaseAndShowsHiddenParametersOnlyByName()
    {
        Assert.Equal([new("MAXMEMORY", "0")], _table.Get("MAXMEMORY"));
        Assert.Contains(new("maxmemory", "0"), _table.Get("MAXM*"));
        Assert.DoesNotContain(_table.Get("key-load*"), pair => pair.Key == "key-load-delay");
        Assert.Single(_table.Get("key-load-delay"));
        Assert.Empty(_table.Get("nosuch", "no*such"));
    }

    [Theory]
    [InlineData("slave-priority", "abc", "argument couldn't be parsed into an integer")]
    [InlineData("tcp-keepalive", "007", "argument couldn't be parsed into an integer")]
    [InlineData("timeout", "1.5", "argument couldn't be parsed into an integer")]
    [InlineData("timeout", "-1", "argument must be between 0 and 2147483647 inclusive")]
    [InlineData("repl-backlog-size", "0", "argument must be between 1 and 9223372036854775807 inclusive")]
    [InlineData("client-query-buffer-limit", "1", "argument must be between 1048576 and 9223372036854775807 inclusive")]
    [InlineData("maxmemory", "-1", "argument must be a memory value")]
    [InlineData("maxmemory", "1xb", "argument must be a memory value")]
    [InlineData("maxmemory", "9223372036854775807gb", "argument must be a memory value")]
    [InlineData("maxmemory-clients", "x", "argument must be a memory or percent value")]
    [InlineData("maxmemory-clients", "-5%", "argument must be a memory or percent value")]
    [InlineData("maxmemory-clients", "200%", "percentage argument must be less or equal to 100")]
    [InlineData("appendonly", "foo", "argument must be 'yes' or 'no'")]
    [InlineData("loglevel", "x", "argument(s) must be one of the following: debug, verbose, notice, warning, nothing")]
    [InlineData("save", "60", "Invalid save parameters")]
    [InlineData("save", "0 1", "Invalid save parameters")]
    [InlineData("latency-tracking-info-percentiles", "50 101", "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")]
    [InlineData("latency-tracking-info-percentiles", "50  60", "Invalid latency-tracking-info-percentiles parameters")]
    [InlineData("oom-score-adj-values", "1 2", "wrong number of arguments")]
    [InlineData("oom-score-adj-values", "1 2 2001", "Invalid oom-score-adj-values, elements must be between -2000 and 2000.")]
    [InlineData("client-output-buffer-limit", "normal 1", "Wrong number of arguments in buffer limit configuration.")]
    [InlineData("client-output-buffer-limit", "master 1 1 1", "Invalid client class specified in buffer limit configuration.")]
    [InlineData("client-output-buffer-limit", "normal 1 1 x", "Error in hard, soft or soft_seconds setting in buffer limit configuration.")]
    [InlineData("notify-keyspace-events", "KEZ", "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")]
    [InlineData("proc-title-template", "{foo}", "template format is invalid or contains unknown variables")]
    [InlineData("shutdown-on-sigint", "now save nosave", "shutdown options SAVE and NOSAVE can't be used simultaneously")]
    [InlineData("shutdown-on-sigint", "", "argument(s) must be one of the following: default, save, nosave, now, force")]
    [InlineData("bind", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", "Too many bind addresses specified.")]
    [InlineData("cluster-announce-hostname", "a_b", "Hostnames may only contain alphanumeric characters, hyphens or dots")]
    [InlineData("DAEMONIZE", "yes", "can't set immutable config")]
    [InlineData("dbfilename", "x", "can't set protected config")]
    [InlineData("activedefrag", "yes", "'activedefrag' is not supported by this server, only its default 'no' is accepted")]
    public void SetRefusesWithTheErrorsOfRedis(string name, string value, string reason)
    {
        var before = _table.Get("*");
        Assert.Equal($"ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}", _table.Set([new(name, value)]));
        Assert.Equal(before, _table.Get("*"));
    }

    [Theory]
    [InlineData("maxmemory", "", "0")]
    [InlineData("maxmemory", "100KB", "102400")]
    [InlineData("maxmemory", "5k", "5000")]
    [InlineData("maxmemory-clients", "5%", "5%")]
    [InlineData("maxmemory-clients", "1g", "1000000000")]
    [InlineData("hz", "0", "1")]
    [InlineData("hz", "1000", "500")]
    [InlineData("save", "", "")]
    [InlineData("save", "3000 5", "3000 5")]
    [InlineData("notify-keyspace-events", "ghKEA", "AKE")]
    [InlineData("notify-keyspace-events", "Kmxg$", "g$xKm")]
    [InlineData("shutdown-on-sigint", "now NOW save", "save now")]
    [InlineData("oom-score-adj", "relative", "yes")]
    [InlineData("latency-tracking-info-percentiles", "50 99.99 100", "50 99.99 100")]
    [InlineData("client-output-buffer-limit", "replica 1mb 0 0", "normal 0 0 0 slave 1048576 0 0 pubsub 33554432 8388608 60")]
    [InlineData("proc-title-template", "{{x {title}", "{{x {title}")]
    [InlineData("hash-max-ziplist-entries", "7", "7")]
    [InlineData("bind", "127.0.0.1 -::1", "127.0.0.1 -::1")]
    [InlineData("tls-port", "0", "0")]
    public void GetReturnsTheValueThatWasSet(string name, string value, string shown)
    {
        Assert.Null(_table.Set([new(name, value)]));
        Assert.Equal([new(name, shown)], _table.Get(name));
    }

    [Fact]
    public void ValuesAreStoredInTheFields()
    {
        Assert.Null(_table.Set([new("maxmemory", "100mb"), new("maxmemory-clients", "5%"), new("save", "60 1 10 100"), new("hash-max-ziplist-value", "1kb")]));
        Assert.Equal(100 << 20, _config.MaxMemorySetting);
        Assert.Equal(5 << 20, _config.MaxMemoryClientsBytes);
        Assert.Equal([new SavePoint(60, 1), new SavePoint(10, 100)], _config.SavePoints);
        Assert.Equal(1024, _config.HashMaxListpackValue);
    }

    [Fact]
    public void MaxmemoryAutoIsAShareOfTheMemoryOfTheMachine()
    {
        var config = new ServerConfig { HostMemory = 4096 };
        Assert.Null(new ConfigTable(config).Set([new("maxmemory", "AUTO")]));
        Assert.Equal(3072, config.MaxMemoryBytes);
    }

    [Fact]
    public void SetIsAllOrNothing()
    {
        _table.Set([new("maxmemory", "10000002")]);
        Assert.Equal(
            "ERR CONFIG SET failed (possibly related to argument 'maxmemory-clients') - percentage argument must be less or equal to 100",
            _table.Set([new("maxmemory", "10000001"), new("maxmemory-clients", "200%"), new("client-query-buffer-limit", "invalid")]));
        Assert.Equal(10000002, _config.MaxMemorySetting);
        Assert.Equal(0, _config.MaxMemoryClients);
    }

    [Fact]
    public void NamesAreCheckedBeforeAnythingIsSet()
    {
        Assert.Equal("ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'",
            _table.Set([new("maxmemory", "1"), new("nosuch", "1"), new("daemonize", "yes")]));
        Assert.Equal("ERR CONFIG SET failed (possibly related to argument 'maxmemory') - duplicate parameter",
            _table.Set([new("maxmemory", "1"), new("maxmemory", "2")]));
        Assert.Equal(0, _config.MaxMemorySetting);
    }

    [Fact]
    public void ProtectedParametersFollowEnableProtectedConfigs()
    {
        _config.EnableProtectedConfigs = ProtectedAction.Local;
        Assert.Null(_table.Set([new("dbfilename", "x.rdb")], isLocalClient: true));
        Assert.Contains("protected", _table.Set([new("dbfilename", "y.rdb")], isLocalClient: false));
        Assert.Equal("x.rdb", _config.DbFilename);
        Assert.EndsWith("dbfilename can't be a path, just a filename", _table.Set([new("dbfilename", "a/b")]));
        Assert.EndsWith("No such file or directory", _table.Set([new("dir", "/no/such/directory")]));
        Assert.EndsWith("No such file or directory", _table.Set([new("dir", "/tmp\0")]));
    }

    [Fact]
    public void SomeParametersCannotChangeDuringLoading()
    {
        Assert.Equal("LOADING Redis is loading the dataset in memory", _table.Set([new("appendonly", "yes")], whileLoading: Errors.Loading));
        Assert.Null(_table.Set([new("loglevel", "debug")], whileLoading: Errors.Loading));
    }

    [Fact]
    public void ChangesAreAppliedAfterAllValuesAreSet()
    {
        var seen = new List<string>();
        string? Apply()
        {
            seen.Add($"{_config.Port} {_config.MaxMemorySetting}");
            return null;
        }
        _table.OnChanged("port", Apply);
        _table.OnChanged("maxmemory", Apply);

        Assert.Null(_table.Set([new("port", "7000"), new("maxmemory", "5")]));
        Assert.Null(_table.Set([new("port", "7000")])); // the value is unchanged, so no change is applied
        Assert.Equal(["7000 5"], seen);
    }

    [Fact]
    public void AFailureToApplyRestoresAllValues()
    {
        var ports = new List<int>();
        var limits = new List<long>();
        _table.OnChanged("maxmemory", () => { limits.Add(_config.MaxMemorySetting); return null; });
        _table.OnChanged("port", () =>
        {
            ports.Add(_config.Port);
            return _config.Port == 7000 ? "Unable to listen on this port. Check server logs." : null;
        });

        Assert.Equal("ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server logs.",
            _table.Set([new("maxmemory", "5"), new("port", "7000"), new("timeout", "9")]));
        Assert.Equal([7000, 6379], ports);
        Assert.Equal([5, 0], limits);
        Assert.Equal(0, _config.Timeout);
    }

    [Fact]
    public void SecretsAreRecognizedByBothNames()
    {
        Assert.True(ConfigTable.IsSecret("REQUIREPASS"));
        Assert.False(ConfigTable.IsSecret("port"));
        Assert.True(ConfigTable.IsSecret("requirepas"));
    }
}
