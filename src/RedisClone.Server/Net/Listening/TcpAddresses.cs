using System.Net;
using System.Net.Sockets;

namespace RedisClone.Server.Net.Listening;

/// <summary>An address to listen on; one that is optional may be missing on the machine.</summary>
internal readonly record struct TcpAddress(IPEndPoint EndPoint, bool IsOptional);

/// <summary>What the parameter bind means.</summary>
internal static class TcpAddresses
{
    /// <summary>Null and a reason where a name means nothing.</summary>
    public static List<TcpAddress>? Resolve(IEnumerable<string> bind, int port, out string problem)
    {
        problem = "";
        var addresses = new List<TcpAddress>();
        if (port == 0) return addresses;
        foreach (string text in bind)
        {
            bool optional = text.StartsWith('-');
            string name = optional ? text[1..] : text;
            if (name.Length == 0) continue;
            if (TryResolve(name) is { Length: > 0 } found)
            {
                addresses.AddRange(found.Select(address => new TcpAddress(new IPEndPoint(address, Math.Max(port, 0)), optional)));
            }
            else if (!optional)
            {
                problem = $"Could not create server TCP listening socket {name}:{port}: Name or service not known";
                return null;
            }
        }
        return addresses;
    }

    private static IPAddress[] TryResolve(string name)
    {
        if (name == "*") return [IPAddress.Any];
        if (name == "::*") return Socket.OSSupportsIPv6 ? [IPAddress.IPv6Any] : [];
        if (IPAddress.TryParse(name, out IPAddress? address)) return [address];
        try
        {
            return Dns.GetHostAddresses(name);
        }
        catch (SocketException)
        {
            return [];
        }
    }
}
