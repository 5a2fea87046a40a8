using System.Runtime;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedisClone.Admin.History;
using RedisClone.Admin.Log;
using RedisClone.Server.Support;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Disk;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Server.Embedding;
using RedisClone.Server.Lifetime;
using RedisClone.Server.Net;
using RedisClone.Server.Net.Bus;
using RedisClone.Server.Net.Listening;
using RedisClone.Server.Net.Tls;
using RedisClone.Server.Studio;
using RedisClone.Storage.Memory;
using RedisClone.Transport.EventLoop;
using RedisClone.Transport.InMemory;
using RedisClone.Transport.Sockets;

namespace RedisClone.Server;

/// <summary>Composition root: builds a host from a configuration.</summary>
internal static class Hosting
{
    /// <summary>
    /// Builds a server that owns its process: it adds the log, signal handling, the pid file and the garbage service.
    /// </summary>
    public static WebApplication Build(ServerConfig config, IDisk? disk = null, RedisLog? log = null)
    {
        WebApplicationBuilder builder = Parts(config, disk ?? RealDisk.Instance);
        log ??= new RedisLog(config);
        builder.Logging.AddProvider(log);
        builder.Services.AddSingleton<ProcessPresence>();
        builder.Services.AddHostedService(services => services.GetRequiredService<ProcessPresence>());
        builder.Services.AddHostedService<Garbage>();
        builder.Services.AddHostedService<HistoryTimer>();
        builder.Services.AddHostedService(services => Progress(services, log));
        if (HeapLimit.IsSmall) GCSettings.LatencyMode = GCLatencyMode.Batch;
        builder.Services.AddSingleton<IHostLifetime, SignalLifetime>();
        return Complete(builder);
    }

    /// <summary>
    /// Builds a server that is embedded in another process: it logs to the host's log and leaves signals to the host.
    /// </summary>
    public static WebApplication Embed(ServerConfig config, ILoggerFactory log)
    {
        WebApplicationBuilder builder = Parts(config, RealDisk.Instance);
        builder.Logging.AddProvider(new HostLog(log));
        builder.Services.AddSingleton<IHostLifetime, GuestLifetime>();
        if (config.HttpPort > 0) builder.Services.AddHostedService<HistoryTimer>();
        builder.Services.AddHostedService(static services => Progress(services, terminal: null));
        return Complete(builder);
    }

    private static ProgressReports Progress(IServiceProvider services, RedisLog? terminal)
    {
        ServerCore server = services.GetRequiredService<ServerCore>();
        return new ProgressReports(server, server.Log, terminal);
    }

    private static WebApplication Complete(WebApplicationBuilder builder)
    {
        WebApplication host = builder.Build();
        ServerCore server = host.Services.GetRequiredService<ServerCore>();
        server.Role.Connector = new PrimaryConnector(server.Config);
        if (server.Cluster is { } cluster) cluster.Bus.Connector = new BusConnector(new PrimaryConnector(server.Config), server.Config);
        if (server.Config.Transport != TransportKind.Sockets && EventLoopListenerFactory.IsSupported)
        {
            server.MultiplexingApi = "epoll";
            EventLoopListenerFactory? loops = host.Services.GetServices<IConnectionListenerFactory>().OfType<EventLoopListenerFactory>().FirstOrDefault();
            if (loops is not null) server.Loops = () => EventLoopListenerFactory.IsSupported ? loops.Counters : [];
        }
        server.SupportBundle = host.Services.GetRequiredService<SupportBundle>().Make;
        var metrics = new MetricsEndpoint(server);
        StudioEndpoint studio = host.Services.GetRequiredService<StudioEndpoint>();
        host.Run(new HttpRequests(server, metrics, studio).AnswerAsync);
        return host;
    }

    private static WebApplicationBuilder Parts(ServerConfig config, IDisk disk)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Logging.ClearProviders();
        // The web host's own log lines are of no use to an operator. ServerRun reports a failed start in one line.
        builder.Logging.SetMinimumLevel(LogLevel.Trace);
        builder.Logging.AddFilter("Microsoft.Extensions.Hosting.Internal.Host", LogLevel.Critical);
        builder.Logging.AddFilter(static (category, level) => level >= LogLevel.Error || category!.StartsWith("RedisClone", StringComparison.Ordinal));
        builder.Services.AddSingleton(config);
        builder.Services.AddSingleton(disk);
        builder.Services.AddSingleton<ConfigTable>();
        builder.Services.AddSingleton(_ => new CommandTable(CommandFamilies.All));
        builder.Services.AddSingleton<ServerCore>();
        builder.Services.AddSingleton<RedisConnectionHandler>();
        builder.Services.AddSingleton<BusConnectionHandler>();
        builder.Services.AddSingleton<FigureHistory>();
        builder.Services.AddSingleton<SupportBundle>();
        if (config.OtlpEndpoint.Length > 0) builder.Services.AddHostedService<OtlpExporter>();
        var tail = new LogTail(config);
        builder.Services.AddSingleton(tail);
        builder.Logging.AddProvider(tail);
        builder.Services.AddHostedService<Maintenance>();
        builder.Services.AddHostedService<ShutdownSteps>();
        builder.Services.Configure<HostOptions>(host => host.ShutdownTimeout = Limits.ShutdownPatience);
        builder.WebHost.UseKestrelCore();
        builder.Services.AddSingleton<TlsServer>();
        builder.Services.AddSingleton<TlsHandshakes>();
        builder.WebHost.ConfigureKestrel(kestrel => Listen(kestrel, config));
        builder.WebHost.UseSockets(sockets =>
        {
            // The thread that receives the bytes passes them to the connection handler without another dispatch.
            sockets.UnsafePreferInlineScheduling = true;
            sockets.WaitForDataBeforeAllocatingBuffer = false;
            sockets.Backlog = config.TcpBacklog;
            // What waits here does not count as memory of the clients, so it is little in a small heap.
            sockets.MaxReadBufferSize = HeapLimit.Part(Limits.SocketReadPart, sockets.MaxReadBufferSize ?? long.MaxValue);
            sockets.MaxWriteBufferSize = HeapLimit.Part(Limits.SocketWritePart, sockets.MaxWriteBufferSize ?? long.MaxValue);
            sockets.CreateBoundListenSocket = endPoint => ListenSocket.CreateBound(endPoint, UnixMode(config));
        });
        if (config.Transport != TransportKind.Sockets)
        {
            builder.Services.AddEventLoopTransport(loops =>
            {
                loops.LoopCount = config.IoLoopCount;
                loops.LoopsJoinByLoad = config.LoopsJoinByLoad;
                loops.Backlog = config.TcpBacklog;
                loops.KeepAliveSeconds = config.TcpKeepAlive;
                loops.UnixSocketMode = UnixMode(config);
                // Many clients send a whole pipeline before they read its first reply, so replies of any length wait for them, as with Redis.
                // They must not fill the memory, though, and one client must not take all of a small heap's part.
                loops.UnreadBytesOfAll = HeapBudget.OfProcess.Limit / 16;
                loops.UnreadBytes = HeapLimit.IsSmall ? loops.UnreadBytesOfAll / 4 : loops.UnreadBytesOfAll;
                loops.StopPatience = Limits.ShutdownPatience;
                loops.End = static (why, cause) => Fatal.End(why, cause);
            });
            builder.Services.AddOptions<EventLoopOptions>().Configure<ServerCore>(static (loops, server) =>
            {
                loops.Failed = (_, failure, work) => server.Failures.WorkFailed(work, failure);
                loops.TryOpen = () => server.ClientMemory.TryOpen(isLoop: true);
                loops.Closed = () => server.ClientMemory.Closed();
                loops.Refusal = Encoding.ASCII.GetBytes(RedisConnectionHandler.TooMany);
            });
        }
        builder.Services.AddSingleton<IMemoryPoolFactory<byte>, BlockPools>();
        builder.Services.AddSingleton<IConnectionListenerFactory, ListenerFactory>();
        builder.Services.AddSingleton<MemoryTransport>();
        builder.Services.AddSingleton<IConnectionListenerFactory>(services => services.GetRequiredService<MemoryTransport>());
        builder.Services.AddSingleton<StudioSessions>();
        builder.Services.AddSingleton<StudioCalls>();
        builder.Services.AddSingleton<StudioEndpoint>();
        builder.Logging.AddProvider(new ListenerWatch());
        HugePages.AreWanted = config.HugePages;
        RequestBuffers.LargestPooled = (int)HeapLimit.Part(Limits.PooledPart, int.MaxValue);
        return builder;
    }

    private static void Listen(KestrelServerOptions kestrel, ServerConfig config)
    {
        kestrel.AddServerHeader = false;
        kestrel.Listen(ClientPort.Plain, listen => listen.UseConnectionHandler<RedisConnectionHandler>());
        kestrel.Listen(ClientPort.Tls, listen =>
        {
            TlsHandshakes tls = kestrel.ApplicationServices.GetRequiredService<TlsHandshakes>();
            listen.Use(next => connection => tls.CountAsync(connection, next));
            tls.Use(listen, TlsPeers.Clients);
            listen.UseConnectionHandler<RedisConnectionHandler>();
        });
        kestrel.Listen(ClientPort.Bus, listen =>
        {
            if (config.TlsCluster) kestrel.ApplicationServices.GetRequiredService<TlsHandshakes>().Use(listen, TlsPeers.Nodes);
            listen.UseConnectionHandler<BusConnectionHandler>();
        });
        kestrel.Listen(ClientPort.Metrics, listen => MetricsEndpoint.Use(listen, Limits.MetricsConnections));
        kestrel.Listen(ClientPort.Http, listen =>
        {
            if (config.HttpTls) kestrel.ApplicationServices.GetRequiredService<TlsHandshakes>().Use(listen, TlsPeers.Browsers);
            MetricsEndpoint.Use(listen, StudioLimits.Connections);
            listen.Use(StudioEndpoint.Mark);
        });
        kestrel.Listen(MemoryEndPoint.Instance, listen => listen.UseConnectionHandler<RedisConnectionHandler>());
        if (config.UnixSocket.Length > 0)
            kestrel.Listen(new UnixPort(config.PathOf(config.UnixSocket)), listen => listen.UseConnectionHandler<RedisConnectionHandler>());
    }

    private static UnixFileMode? UnixMode(ServerConfig config) => config.UnixSocketPerm == 0 ? null : (UnixFileMode)config.UnixSocketPerm;
}
