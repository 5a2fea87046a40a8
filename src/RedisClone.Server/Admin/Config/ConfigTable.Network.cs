namespace RedisClone.Server.Admin;

/// <summary>Where and how clients connect.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Network() =>
    [
        new BindParameter("bind", ["*", "-::*"], static c => ref c.Bind, "Addresses to listen on; one that begins with - may be missing on the machine."),
        Int("port", 6379, 0, 65535, static c => ref c.Port, "TCP port; 0 listens on none."),
        Bool("protected-mode", true, static c => ref c.ProtectedMode, "Serve other machines only if the default user has a password."),
        Int("tcp-backlog", 511, 0, int.MaxValue, static c => ref c.TcpBacklog, "Connections that may wait to be accepted; the kernel has its own limit too.", flags: Immutable),
        Int("tcp-keepalive", 300, 0, int.MaxValue, static c => ref c.TcpKeepAlive, "Seconds of silence after which TCP asks whether a client is still there; 0 never asks."),
        Int("timeout", 0, 0, int.MaxValue, static c => ref c.Timeout, "Seconds after which an idle client is disconnected; 0 never."),
        Text("unixsocket", null, static c => ref c.UnixSocket, "Path of a Unix socket to listen on.", flags: Immutable),
        Octal("unixsocketperm", 0, 511, static c => ref c.UnixSocketPerm, "Octal permissions of the Unix socket, in force before it accepts; 0 leaves them to the umask.", Immutable),
        UInt("maxclients", 10000, 1, uint.MaxValue, static c => ref c.MaxClients, "Connections served at the same time; further ones get an error and are closed."),
        Choice("transport", TransportKind.Auto, ConfigChoices.Transport, static c => ref c.Transport, "How bytes move: this server's event loops (Linux), or the framework's sockets; auto takes the better one of the platform.", Immutable | Hidden),
        Int("metrics-port", 0, 0, 65535, static c => ref c.MetricsPort, "TCP port of /metrics for Prometheus and of /health/live and /health/ready, on the addresses of bind, without a password; 0 listens on none.", flags: Hidden),
        Text("bind-source-addr", null, "Local address of outgoing connections, such as that of a replica.", flags: TunesNothing),
        Long("socket-mark-id", 0, 0, "Mark of the listening sockets, for the routing of the system.", Immutable | Unsupported),
        Int("max-new-connections-per-cycle", 10, 1, 1000, "Connections accepted in a row before clients get their turn.", flags: TunesNothing),
        Int("max-new-tls-connections-per-cycle", 1, 1, 1000, "The same for TLS connections.", flags: TunesNothing),
    ];
}
