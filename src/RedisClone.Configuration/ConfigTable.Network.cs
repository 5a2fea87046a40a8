namespace RedisClone.Configuration;

/// <summary>The parameters for listeners and connections.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Network() =>
    [
        new BindParameter("bind", ["*", "-::*"], static c => ref c.Bind, "Addresses to listen on. The machine may lack an " +
            "address that begins with -."),
        Int("port", 6379, 0, 65535, static c => ref c.Port, "TCP port; 0 turns it off."),
        Bool("protected-mode", true, static c => ref c.ProtectedMode,
            "Refuse connections from other machines while the default user has no password."),
        Int("tcp-backlog", 511, 0, int.MaxValue, static c => ref c.TcpBacklog,
            "Length of the queue of connections that wait to be accepted; the kernel has a limit too.", flags: Immutable),
        Int("tcp-keepalive", 300, 0, int.MaxValue, static c => ref c.TcpKeepAlive,
            "Seconds of silence after which TCP probes a connection; 0 turns this off."),
        Int("timeout", 0, 0, int.MaxValue, static c => ref c.Timeout,
            "Seconds after which an idle client is disconnected; 0 turns this off."),
        Text("unixsocket", null, static c => ref c.UnixSocket, "Path of a Unix socket to listen on.", flags: Immutable),
        Octal("unixsocketperm", 0, 511, static c => ref c.UnixSocketPerm,
            "Octal permissions of the Unix socket, set before it accepts connections; 0 uses the umask.", Immutable),
        UInt("maxclients", 10000, 1, uint.MaxValue, static c => ref c.MaxClients,
            "Maximum number of connections; further connections get an error and are closed."),
        Choice("transport", TransportKind.Auto, ConfigChoices.Transport, static c => ref c.Transport,
            "The transport: the event loops of this server (Linux), or Kestrel's sockets; auto chooses the event loops on " +
                "Linux.", Immutable | Hidden),
        Int("metrics-port", 0, 0, 65535, static c => ref c.MetricsPort,
            "TCP port of /metrics for Prometheus and of /health/live and /health/ready, on the addresses of bind, without a " +
                "password; 0 turns it off.", flags: Hidden),
        Int("http-port", 0, 0, 65535, static c => ref c.HttpPort,
            "TCP port of the studio, a web page that shows what the server does; 0 turns it off.", flags: Hidden),
        new BindParameter("http-bind", ["127.0.0.1", "-::1"], static c => ref c.HttpBind,
            "Addresses of http-port. Elsewhere than on this machine, the studio asks for an ACL user and needs TLS.", ParameterFlags.Hidden),
        Bool("http-tls", false, static c => ref c.HttpTls, "Serve http-port with the certificate of tls-cert-file.", flags: Immutable | Hidden),
        Bool("http-allow-plain", false, static c => ref c.HttpAllowPlain,
            "Let other machines use the studio without TLS. Passwords can be read on the way then.", flags: Hidden),
        Bool("http-open-metrics", false, static c => ref c.HttpOpenMetrics,
            "Answer /metrics and /health on http-port without signing in.", flags: Hidden),
        new BindParameter("http-hosts", [], static c => ref c.HttpHosts,
            "Names under which browsers reach the studio, besides localhost and addresses.", ParameterFlags.Hidden),
        Text("bind-source-addr", null, static c => ref c.BindSourceAddress,
            "Local address of outgoing connections, such as the connection of a replica."),
        Long("socket-mark-id", 0, 0, "Mark of the listening sockets, for routing.", Immutable | Unsupported),
        Int("max-new-connections-per-cycle", 10, 1, 1000,
            "Connections accepted in a row before clients are served.", flags: TunesNothing),
        Int("max-new-tls-connections-per-cycle", 1, 1, 1000,
            "TLS connections accepted in a row before clients are served.", flags: TunesNothing),
    ];
}
