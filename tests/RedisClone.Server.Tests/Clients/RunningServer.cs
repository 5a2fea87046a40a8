using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Journal.Disk;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Tests.Clients;

/// <summary>The complete server in this process, on its own port, on either transport.</summary>
internal sealed class RunningServer : IAsyncDisposable
{
    private readonly WebApplication _app;

    private RunningServer(WebApplication app, int port)
    {
        _app = app;
        Port = port;
        Core = app.Services.GetRequiredService<ServerCore>();
    }

    public int Port { get; }

    public ServerCore Core { get; }

    public static Task<RunningServer> StartAsync(TransportKind transport, Action<ServerConfig>? configure = null) =>
        StartAsync(new ServerConfig(), transport, configure);

    /// <summary>Starts a server. It loads the data of the directory if <paramref name="disk"/> is given.</summary>
    public static async Task<RunningServer> StartAsync(
        ServerConfig config, TransportKind transport, Action<ServerConfig>? configure = null, IDisk? disk = null)
    {
        config.Port = Ports.Free();
        config.Bind = ["127.0.0.1"];
        config.Transport = (RedisClone.Configuration.TransportKind)transport;
        config.Shards = 4;
        config.IoLoops = 2;
        config.LogLevel = ServerLogLevel.Nothing;
        config.EnableDebugCommand = ProtectedAction.Yes;
        configure?.Invoke(config);
        WebApplication app = Hosting.Build(config, disk);
        var core = app.Services.GetRequiredService<ServerCore>();
        Assert.Null(disk is null ? core.Access.LoadAtStart() : core.Prepare() ?? core.LoadData());
        await app.StartAsync();
        return new RunningServer(app, config.Port);
    }

    /// <summary>Moves quiet connections to random event loops.</summary>
    public void Shuffle(Random random)
    {
        if (!OperatingSystem.IsLinux()) return;
        IEnumerable<IConnectionListenerFactory> transports = _app.Services.GetServices<IConnectionListenerFactory>();
        foreach (EventLoopListenerFactory loops in transports.OfType<EventLoopListenerFactory>()) loops.Shuffle(random);
    }

    public TestClient Connect(int? port = null) => new(new IPEndPoint(IPAddress.Loopback, port ?? Port));

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
        Core.Journal?.Dispose();
    }
}
