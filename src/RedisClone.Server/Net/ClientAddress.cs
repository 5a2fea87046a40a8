using System.Globalization;
using System.Net;
using System.Net.Sockets;
using RedisClone.Transport.InMemory;

namespace RedisClone.Server.Net;

/// <summary>The address of a proxy. The client behind it may be on another machine.</summary>
internal sealed class ProxyEndPoint(IPAddress address, int port) : IPEndPoint(address, port);

/// <summary>Addresses of clients as CLIENT LIST shows them.</summary>
internal static class ClientAddress
{
    /// <summary>ip:port, [ip]:port, or the socket's path and :0.</summary>
    public static string Text(EndPoint? endPoint, string unixSocket) => endPoint switch
    {
        IPEndPoint { AddressFamily: AddressFamily.InterNetworkV6 } ip when !ip.Address.IsIPv4MappedToIPv6 =>
            $"[{ip.Address}]:{ip.Port.ToString(CultureInfo.InvariantCulture)}",
        IPEndPoint ip => $"{ip.Address.MapToIPv4()}:{ip.Port.ToString(CultureInfo.InvariantCulture)}",
        UnixDomainSocketEndPoint => unixSocket + ":0",
        _ => "?:0",
    };

    /// <summary>
    /// Whether a client is on this machine: connected by loopback, by a unix socket, or from within this process. The address of
    /// the listening socket identifies a unix socket. If the peer's address is unknown because the peer has already gone, the
    /// client is not local.
    /// </summary>
    public static bool IsLocal(EndPoint? remote, EndPoint? local) =>
        local is UnixDomainSocketEndPoint or MemoryEndPoint || remote is IPEndPoint ip && IPAddress.IsLoopback(Plain(ip.Address));

    /// <summary>Whether a client may do what <c>local</c> permits in the configuration. One behind a proxy may not.</summary>
    public static bool IsTrusted(EndPoint? remote, EndPoint? local) => remote is not ProxyEndPoint && IsLocal(remote, local);

    private static IPAddress Plain(IPAddress address) => address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
}
