using System.Globalization;
using System.Net;
using System.Net.Sockets;
using RedisClone.Transport.InMemory;

namespace RedisClone.Server.Net;

/// <summary>Addresses of clients as CLIENT LIST shows them.</summary>
internal static class ClientAddress
{
    /// <summary>ip:port, [ip]:port, or the socket's path and :0.</summary>
    public static string Text(EndPoint? endPoint, string unixSocket) => endPoint switch
    {
        IPEndPoint { AddressFamily: AddressFamily.InterNetworkV6 } ip when !ip.Address.IsIPv4MappedToIPv6 => $"[{ip.Address}]:{ip.Port.ToString(CultureInfo.InvariantCulture)}",
        IPEndPoint ip => $"{ip.Address.MapToIPv4()}:{ip.Port.ToString(CultureInfo.InvariantCulture)}",
        UnixDomainSocketEndPoint => unixSocket + ":0",
        _ => "?:0",
    };

    /// <summary>
    /// Whether a client is on this machine: by loopback, a unix socket, or within this process. A socket says so by what it
    /// listens on. Of the peer's address nothing may be known, when it was gone before it was asked for: then it is not local.
    /// </summary>
    public static bool IsLocal(EndPoint? remote, EndPoint? local) =>
        local is UnixDomainSocketEndPoint or MemoryEndPoint || remote is IPEndPoint ip && IPAddress.IsLoopback(Plain(ip.Address));

    private static IPAddress Plain(IPAddress address) => address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
}
