using System.Net;
using Microsoft.AspNetCore.Http;
using RedisClone.Engine;
using RedisClone.Server.Net;

namespace RedisClone.Server.Studio;

/// <summary>
/// Decides whether a request may reach the studio at all, before it is asked for its session: the name of the server that it was
/// sent to, the site that sent it, and whether its connection is encrypted.
/// </summary>
internal sealed class StudioAccess(ServerCore server)
{
    private static readonly string[] HeadersOfProxies = ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"];

    /// <summary>Returns the reason why a request is refused, or null.</summary>
    public string? Refusal(HttpContext context)
    {
        HttpRequest request = context.Request;
        HostString asked = HostOf(request);
        // A name that resolves to this address is not enough: a page of another site can have such a name (DNS rebinding).
        if (!IsOurName(asked.Host)) return "this name is not one of the server's; http-hosts names them";
        if (!request.IsHttps && !IsLocal(context) && !server.Config.HttpAllowPlain)
            return "without TLS, the studio answers on this machine only; http-tls turns TLS on, and http-allow-plain yes permits to go without";
        if (IsOfOtherSite(request, asked)) return "the request comes from another site";
        return null;
    }

    /// <summary>
    /// Whether the request comes from this machine. A proxy on this machine may forward the request of another one, and says so.
    /// </summary>
    public static bool IsLocal(HttpContext context) =>
        context.Connection.RemoteIpAddress is { } address && IPAddress.IsLoopback(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address)
            && !IsForwarded(context);

    /// <summary>The address of the sender: the browser, or the proxy before it.</summary>
    public static IPEndPoint SenderOf(HttpContext context)
    {
        IPAddress address = context.Connection.RemoteIpAddress ?? IPAddress.None;
        return IsForwarded(context) ? new ProxyEndPoint(address, context.Connection.RemotePort) : new IPEndPoint(address, context.Connection.RemotePort);
    }

    private static bool IsForwarded(HttpContext context) => Array.Exists(HeadersOfProxies, context.Request.Headers.ContainsKey);

    /// <summary>Whether this request may have a session of the default user without signing in.</summary>
    public bool NeedsNoPassword(HttpContext context) => IsLocal(context) && !server.Access.Users.MustAuthenticate;

    /// <summary>The header as it was sent. HttpRequest.Host decodes international names, and throws if it cannot.</summary>
    private static HostString HostOf(HttpRequest request) => new(request.Headers.Host.ToString());

    /// <summary>No other site can have an address of this server as its name.</summary>
    private bool IsOurName(string host)
    {
        string name = host.TrimStart('[').TrimEnd(']');
        return name.Equals("localhost", StringComparison.OrdinalIgnoreCase) || IPAddress.TryParse(name, out _)
            || Array.Exists(server.Config.HttpHosts, ours => ours.Equals(name, StringComparison.OrdinalIgnoreCase));
    }

    /// <summary>
    /// A browser sends the origin of every request that can change something. A request of another site may only open the page itself.
    /// </summary>
    private static bool IsOfOtherSite(HttpRequest request, HostString asked)
    {
        if (request.Headers.Origin is [{ } origin, ..])
            return !string.Equals(origin, $"{request.Scheme}://{asked}", StringComparison.OrdinalIgnoreCase);
        if (!request.Path.StartsWithSegments(StudioEndpoint.Calls, StringComparison.Ordinal)) return false;
        string site = request.Headers["Sec-Fetch-Site"].ToString();
        return site.Length > 0 && site is not ("same-origin" or "none");
    }
}
