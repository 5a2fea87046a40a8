using System.Globalization;
using System.IO.Pipelines;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Embedding;

namespace RedisClone.Testing;

/// <summary>
/// An empty server for one test or one test class. It runs in the process of the test, on a free port of the loopback
/// interface or in memory. It writes nothing to the disk unless it is given a directory, and it stops when it is
/// disposed.
/// </summary>
public sealed class RedisTestServer : IAsyncDisposable, IDisposable
{
    private readonly RedisCloneServer _server;

    private RedisTestServer(RedisCloneServer server) => _server = server;

    /// <summary>The port, or 0 for a server in memory.</summary>
    public int Port => _server.Port;

    /// <summary>The host and port in the form that client libraries accept.</summary>
    public string ConnectionString => string.Create(CultureInfo.InvariantCulture, $"127.0.0.1:{Port}");

    /// <summary>Starts a server on a free port.</summary>
    public static Task<RedisTestServer> StartAsync(Action<RedisCloneOptions>? configure = null, ILoggerFactory? log = null) =>
        StartAsync(0, configure, log);

    /// <summary>
    /// Starts a server without a socket. <see cref="Connect"/> and <see cref="ConnectStream"/> open connections to it.
    /// </summary>
    public static Task<RedisTestServer> StartInMemoryAsync(
        Action<RedisCloneOptions>? configure = null, ILoggerFactory? log = null) =>
        StartAsync(null, configure, log);

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
        // A test has few clients, and many servers may run at the same time.
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
