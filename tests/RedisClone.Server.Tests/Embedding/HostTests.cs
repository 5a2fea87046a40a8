using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Embedding;

namespace RedisClone.Server.Tests.Embedding;

/// <summary>A server in the host of another application.</summary>
public sealed class HostTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-embedded-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task TheServerStartsAndStopsWithItsHost()
    {
        using IHost host = await StartHostAsync();
        int port = host.Services.GetRequiredService<RedisCloneServer>().Port;
        using (Stream client = Talk.Dial(port))
        {
            await client.ExpectAsync("PING", "+PONG\r\n");
            string text = $"{port}";
            await client.ExpectAsync("CONFIG GET port", $"*2\r\n$4\r\nport\r\n${text.Length}\r\n{text}\r\n");
            await host.StopAsync();
            await client.ExpectEndAsync();
        }
        Assert.Throws<SocketException>(() => Talk.Dial(port));
    }

    [Fact]
    public async Task AWebApplicationKeepsItsOwnListeners()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Services.AddRedisClone(o => o.Port = 0);
        await using WebApplication app = builder.Build();
        app.MapGet("/", () => "page");
        await app.StartAsync();
        using var browser = new HttpClient();
        string address = Assert.Single(app.Urls);
        Assert.Equal("page", await browser.GetStringAsync(new Uri(address)));
        using Stream client = Talk.Dial(app.Services.GetRequiredService<RedisCloneServer>().Port);
        await client.ExpectAsync("PING", "+PONG\r\n");
        await app.StopAsync();
    }

    [Fact]
    public async Task SeveralServersInAProcessShareNothing()
    {
        HostApplicationBuilder builder = Host.CreateApplicationBuilder();
        builder.Logging.ClearProviders();
        builder.Services.AddRedisClone(o => o.Port = null);
        builder.Services.AddKeyedRedisClone("cache", o => (o.Port, o["maxmemory"]) = (0, "10mb"));
        builder.Services.AddKeyedRedisClone("queue", o => (o.Port, o.Password) = (0, "secret"));
        using IHost host = builder.Build();
        await host.StartAsync();
        var cache = host.Services.GetRequiredKeyedService<RedisCloneServer>("cache");
        var queue = host.Services.GetRequiredKeyedService<RedisCloneServer>("queue");
        Assert.NotEqual(cache.Port, queue.Port);
        Assert.Equal(0, host.Services.GetRequiredService<RedisCloneServer>().Port);
        using Stream first = Talk.Dial(cache.Port), second = Talk.Dial(queue.Port);
        await first.ExpectAsync("SET key first", "+OK\r\n");
        await first.ExpectAsync("CONFIG GET maxmemory", "*2\r\n$9\r\nmaxmemory\r\n$8\r\n10485760\r\n");
        await second.ExpectAsync("AUTH secret", "+OK\r\n");
        await second.ExpectAsync("EXISTS key", ":0\r\n");
        await host.StopAsync();
    }

    [Theory]
    [InlineData("auto")]
    [InlineData("sockets")]
    public async Task AllAddressesUseTheFreePort(string transport)
    {
        await using var server = new RedisCloneServer(new RedisCloneOptions { Port = 0, Bind = "127.0.0.1 127.0.0.2", ["transport"] = transport });
        await server.StartAsync();
        foreach (string address in (string[])["127.0.0.1", "127.0.0.2"])
        {
            using Stream client = Talk.Dial(new IPEndPoint(IPAddress.Parse(address), server.Port), ProtocolType.Tcp);
            await client.ExpectAsync("PING", "+PONG\r\n");
        }
    }

    [Fact]
    public async Task TheServerLogsToItsHost()
    {
        var log = new CollectedLog();
        using var logs = LoggerFactory.Create(builder => builder.SetMinimumLevel(LogLevel.Trace).AddProvider(log));
        await using (var server = new RedisCloneServer(new RedisCloneOptions { Port = 0 }, logs)) await server.StartAsync();
        Assert.Contains(log.Lines, line => line.Text.StartsWith("Ready to accept connections", StringComparison.Ordinal));
        Assert.All(log.Lines, line => Assert.StartsWith("RedisClone.", line.Category, StringComparison.Ordinal));
    }

    [Fact]
    public async Task ShutdownStopsTheServerAndNotItsHost()
    {
        using IHost host = await StartHostAsync();
        var server = host.Services.GetRequiredService<RedisCloneServer>();
        using Stream client = Talk.Dial(server.Port);
        await client.ExpectAsync("SHUTDOWN", "");
        await client.ExpectEndAsync();
        await server.Ended.WaitAsync(Talk.Patience);
        Assert.False(host.Services.GetRequiredService<IHostApplicationLifetime>().ApplicationStopping.IsCancellationRequested);
        await host.StopAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task TheDataOfADirectoryIsLoadedAgain(bool appendOnly)
    {
        var options = new RedisCloneOptions { Port = null, Directory = Path.Combine(_folder, "data"), AppendOnly = appendOnly };
        for (int round = 0; round < 3; round++)
        {
            await using var server = new RedisCloneServer(options);
            await server.StartAsync();
            using Stream client = server.ConnectStream();
            await client.ExpectAsync("INCR rounds", $":{round + 1}\r\n");
        }
        Assert.NotEmpty(Directory.EnumerateFileSystemEntries(options.Directory));
    }

    [Fact]
    public async Task AUnixSocketIsRemovedWithTheServer()
    {
        string path = Path.Combine(_folder, "socket");
        await using (var server = new RedisCloneServer(new RedisCloneOptions { Port = null, UnixSocket = path }))
        {
            await server.StartAsync();
            using Stream client = Talk.Dial(new UnixDomainSocketEndPoint(path));
            await client.ExpectAsync("PING", "+PONG\r\n");
        }
        Assert.False(File.Exists(path));
    }

    [Fact]
    public void OptionsBindFromConfiguration()
    {
        IConfiguration configuration = new ConfigurationBuilder().AddInMemoryCollection(new Dictionary<string, string?>
        {
            ["RedisClone:Port"] = "0",
            ["RedisClone:Parameters:maxmemory-policy"] = "allkeys-lru",
        }).Build();
        var options = new RedisCloneOptions();
        configuration.GetSection("RedisClone").Bind(options);
        Assert.Equal(0, options.Port);
        Assert.Equal("allkeys-lru", options["maxmemory-policy"]);
    }

    [Fact]
    public void InvalidOptionsAreRefusedAtOnce()
    {
        var wrong = new RedisCloneOptions { ["maxmemory-policy"] = "sometimes" };
        Assert.Contains("maxmemory-policy", Assert.Throws<ArgumentException>(() => new RedisCloneServer(wrong)).Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentException>(() => new RedisCloneServer(new RedisCloneOptions { ["no-such-parameter"] = "1" }));
        Assert.Throws<ArgumentException>(() => new RedisCloneServer(new RedisCloneOptions { AppendOnly = true }));
    }

    [Fact]
    public void AnInvalidOptionIsNamed()
    {
        string file = Path.Combine(_folder, "file");
        File.WriteAllText(file, "");
        AssertRefused("Bind", new RedisCloneOptions { Bind = "" });
        AssertRefused("Bind", new RedisCloneOptions { Bind = null! });
        AssertRefused("UnixSocket", new RedisCloneOptions { UnixSocket = "" });
        AssertRefused("ConfigFile", new RedisCloneOptions { ConfigFile = "" });
        AssertRefused("MaxMemory", new RedisCloneOptions { MaxMemory = -1 });
        AssertRefused("loglevel", new RedisCloneOptions { ["loglevel"] = null! });
        foreach (string directory in (string[])["", file, Path.Combine(file, "below")])
            AssertRefused("Directory", new RedisCloneOptions { Directory = directory });
        foreach (string name in (string[])["-", "--help"])
            AssertRefused($"can't open config file '{Path.GetFullPath(name)}'", new RedisCloneOptions { ConfigFile = name });
    }

    private static void AssertRefused(string part, RedisCloneOptions options) =>
        Assert.Contains(part, Assert.Throws<ArgumentException>(() => new RedisCloneServer(options)).Message, StringComparison.Ordinal);

    [Fact]
    public async Task APortInUseIsReported()
    {
        await using var first = new RedisCloneServer(new RedisCloneOptions { Port = 0 });
        await first.StartAsync();
        await using var second = new RedisCloneServer(new RedisCloneOptions { Port = first.Port });
        InvalidOperationException fault = await Assert.ThrowsAsync<InvalidOperationException>(() => second.StartAsync());
        Assert.Contains($"{first.Port}", fault.Message, StringComparison.Ordinal);
    }

    private sealed class CollectedLog : ILoggerProvider
    {
        public ConcurrentQueue<(string Category, string Text)> Lines { get; } = [];

        public ILogger CreateLogger(string categoryName) => new Logger(this, categoryName);

        public void Dispose()
        {
        }

        private sealed class Logger(CollectedLog owner, string category) : ILogger
        {
            public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

            public bool IsEnabled(LogLevel logLevel) => true;

            public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
                owner.Lines.Enqueue((category, formatter(state, exception)));
        }
    }

    private static async Task<IHost> StartHostAsync()
    {
        HostApplicationBuilder builder = Host.CreateApplicationBuilder();
        builder.Logging.ClearProviders();
        builder.Services.AddRedisClone(o => o.Port = 0);
        IHost host = builder.Build();
        await host.StartAsync();
        return host;
    }
}
