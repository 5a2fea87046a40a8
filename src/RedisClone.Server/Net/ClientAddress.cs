using System.Globalization;
using System.Net;
using System.Net.Sockets;

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

    /// <summary>Whether a client is on this machine: loopback or unix socket.</summary>
    public static bool IsLocal(EndPoint? endPoint) => endPoint is not IPEndPoint ip || IPAddress.IsLoopback(Plain(ip.Address));

    private static IPAddress Plain(IPAddress address) => address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
}
