using System.Net;
using System.Runtime.Versioning;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;
using RedisClone.Server.Net.Tls;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Net.Listening;

/// <summary>A port for clients. Its number and addresses may change while the server runs.</summary>
internal sealed class ClientPort(
    string name, string parameter, Func<ServerConfig, int> number, Func<ServerConfig, string[]> bind, string bindParameter = "bind") : EndPoint
{
    public static readonly ClientPort Plain = new("tcp", "port", static config => config.Port, static config => config.Bind);

    public static readonly ClientPort Tls = new("tls", "tls-port", static config => config.TlsPort, static config => config.Bind);

    public static readonly ClientPort Metrics = new("metrics", "metrics-port", static config => config.MetricsPort, static config => config.Bind);

    public static readonly ClientPort Http =
        new("http", "http-port", static config => config.HttpPort, static config => config.HttpBind, "http-bind");

    /// <summary>The bus of a cluster.</summary>
    public static readonly ClientPort Bus = new("cluster bus", "cluster-port", static config => config.BusPort, static config => config.Bind);

    /// <summary>The name of its parameter in CONFIG.</summary>
    public string Parameter => parameter;

    /// <summary>The name of the parameter with its addresses.</summary>
    public string BindParameter => bindParameter;

    /// <summary>Whether an event loop serves its connections, if there is one.</summary>
    public bool UsesEventLoop => this == Plain || this == Tls;

    public int NumberIn(ServerConfig config) => number(config);

    public string[] AddressesIn(ServerConfig config) => bind(config);

    /// <summary>Whether its connections are encrypted.</summary>
    public bool IsTlsIn(ServerConfig config) => this == Tls || this == Http && config.HttpTls || this == Bus && config.TlsCluster;

    /// <summary>The peers that connect to it with TLS.</summary>
    public TlsPeers Peers => this == Http ? TlsPeers.Browsers : this == Bus ? TlsPeers.Nodes : TlsPeers.Clients;

    public override string ToString() => name;
}

/// <summary>
/// Listens on the <see cref="ClientPort"/>s and the <see cref="UnixPort"/>. The ports for clients use the event loop, if there is
/// one. The ports for HTTP and the bus of a cluster use Kestrel's sockets, because Kestrel's HTTP is made for the pipes of these sockets.
/// </summary>
internal sealed class ListenerFactory(ServerConfig config, ConfigTable parameters, TlsServer tls, IServiceProvider services, ILogger<ListenerFactory> log)
    : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private const string NoAddress = "Failed to bind to specified addresses.";
    private const string NotListening = "Unable to listen on this port. Check server logs.";
    private const string NoTls = "Unable to update TLS configuration. Check server logs.";
    private static readonly ClientPort[] WithTls = [ClientPort.Tls, ClientPort.Http, ClientPort.Bus];
    private static readonly IPEndPoint Sample = new(IPAddress.Any, 0);

    private readonly List<TcpListeners> _all = [];

    public bool CanBind(EndPoint endpoint) => endpoint is ClientPort or UnixPort;

    public async ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        if (endpoint is UnixPort unix) return new UnixListener(await Transports().Last().BindAsync(unix.Socket, cancellationToken));
        var port = (ClientPort)endpoint;
        if (LoadTlsFor(port) is not null) throw new IOException("Failed to configure TLS. Check logs for more info.");
        var listeners = new TcpListeners(config, port, port.UsesEventLoop ? Transports().Last() : Transports().First(), log);
        if (await listeners.AdaptAsync() is not null)
        {
            await listeners.DisposeAsync();
            throw new IOException($"Failed listening on port {port.NumberIn(config)} ({port}), aborting.");
        }
        parameters.OnChanged(port.Parameter, () => LoadTlsFor(port) is not null ? NoTls : Adapts(listeners) ? null : NotListening);
        _all.Add(listeners);
        if (port == ClientPort.Http) parameters.OnChanged(port.BindParameter, () => Adapts(listeners) ? null : NoAddress);
        if (_all.Count > 1) return listeners;
        parameters.OnChanged("bind", () => _all.TrueForAll(Adapts) ? null : NoAddress);
        if (OperatingSystem.IsLinux()) parameters.OnChanged("tcp-keepalive", AdaptKeepAlive);
        foreach (string name in TlsServer.Parameters)
            parameters.OnChanged(name, () => Array.TrueForAll(WithTls, port => LoadTlsFor(port) is null) ? null : NoTls);
        return listeners;
    }

    /// <summary>CONFIG SET runs on a worker, so it may wait for sockets.</summary>
    private static bool Adapts(TcpListeners listeners) => listeners.AdaptAsync().GetAwaiter().GetResult() is null;

    [SupportedOSPlatform("linux")]
    private string? AdaptKeepAlive()
    {
        (Transports().Last() as EventLoopListenerFactory)?.SetKeepAlive(config.TcpKeepAlive);
        return null;
    }

    private string? LoadTlsFor(ClientPort port) => port.IsTlsIn(config) && port.NumberIn(config) > 0 ? tls.Load(port.Peers) : null;

    /// <summary>
    /// The transports that accept IP addresses: first Kestrel's sockets, last the one that Kestrel itself would choose.
    /// </summary>
    private IEnumerable<IConnectionListenerFactory> Transports() => services.GetServices<IConnectionListenerFactory>()
        .Where(factory => factory != this && (factory as IConnectionListenerFactorySelector)?.CanBind(Sample) != false);
}
