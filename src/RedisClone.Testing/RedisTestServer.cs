using System.Globalization;
using System.IO.Pipelines;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Embedding;

namespace RedisClone.Testing;

/// <summary>
/// A server for one test, or for one class of tests: empty, in this process, alone on a free port of the loopback interface or in memory. It keeps
/// nothing on the disk unless it is given a directory, and goes when it is disposed.
/// </summary>
public sealed class RedisTestServer : IAsyncDisposable, IDisposable
{
    private readonly RedisCloneServer _server;

    private RedisTestServer(RedisCloneServer server) => _server = server;

    /// <summary>The port; 0 in memory.</summary>
    public int Port => _server.Port;

    /// <summary>Host and port, as client libraries take them.</summary>
    public string ConnectionString => string.Create(CultureInfo.InvariantCulture, $"127.0.0.1:{Port}");

    /// <summary>Starts a server on a free port.</summary>
    public static Task<RedisTestServer> StartAsync(Action<RedisCloneOptions>? configure = null, ILoggerFactory? log = null) => StartAsync(0, configure, log);

    /// <summary>Starts a server without any socket: <see cref="Connect"/> and <see cref="ConnectStream"/> are the ways to it.</summary>
    public static Task<RedisTestServer> StartInMemoryAsync(Action<RedisCloneOptions>? configure = null, ILoggerFactory? log = null) => StartAsync(null, configure, log);

    /// <inheritdoc cref="RedisCloneServer.Connect"/>
    public IDuplexPipe Connect() => _server.Connect();

    /// <inheritdoc cref="RedisCloneServer.ConnectStream"/>
    public Stream ConnectStream() => _server.ConnectStream();

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => _server.DisposeAsync();

    /// <inheritdoc/>
    public void Dispose() => _server.Dispose();

    private static async Task<RedisTestServer> StartAsync(int? port, Action<RedisCloneOptions>? configure, ILoggerFactory? log)
    {
        var options = new RedisCloneOptions { Port = port };
        // A test has few clients; many servers run beside each other.
        options["io-loops"] = "1";
        options["shards"] = "16";
        options["enable-debug-command"] = "yes";
        configure?.Invoke(options);
        var server = new RedisCloneServer(options, log);
        try
        {
            await server.StartAsync();
            return new RedisTestServer(server);
        }
        catch
        {
            await server.DisposeAsync();
            throw;
        }
    }
}
