using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace RedisClone.Server.Net.Listening;

/// <summary>An address to listen on, and its name in the parameter. An optional address may be missing on the machine.</summary>
internal readonly record struct TcpAddress(string Name, IPEndPoint EndPoint, bool IsOptional)
{
    /// <summary>Redis's message for an address that the server cannot listen on.</summary>
    public static string Failure(string name, int port, string reason) =>
        string.Create(CultureInfo.InvariantCulture, $"Warning: Could not create server TCP listening socket {name}:{port}: {reason}");
}

/// <summary>Resolves the names of the parameter bind.</summary>
internal static class TcpAddresses
{
    /// <summary>Returns null and a reason if a name cannot be resolved.</summary>
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
                addresses.AddRange(found.Select(address => new TcpAddress(name, new IPEndPoint(address, Math.Max(port, 0)), optional)));
            }
            else if (!optional)
            {
                problem = TcpAddress.Failure(name, port, "Name or service not known");
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
        catch (Exception failure) when (failure is SocketException or ArgumentException)
        {
            // A name of more than 255 characters is an invalid argument.
            return [];
        }
    }
}
