using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using RedisClone.Admin.Prometheus;
using RedisClone.Engine;

namespace RedisClone.Server.Net;

/// <summary>The HTTP endpoint of the metrics port: the Prometheus page, and the liveness and readiness checks.</summary>
internal sealed class MetricsEndpoint(ServerCore server)
{
    public static void Use(ListenOptions listen, int connections)
    {
        listen.Protocols = HttpProtocols.Http1;
        listen.KestrelServerOptions.Limits.MaxRequestBodySize = 0;
        listen.KestrelServerOptions.Limits.MaxRequestLineSize = Limits.HttpLine;
        listen.KestrelServerOptions.Limits.MaxRequestHeadersTotalSize = Limits.HttpHeaders;
        listen.KestrelServerOptions.Limits.MaxRequestHeaderCount = Limits.HttpHeaderCount;
        // Idle connections must not block health checks.
        listen.KestrelServerOptions.Limits.KeepAliveTimeout = Limits.MetricsPatience;
        listen.KestrelServerOptions.Limits.RequestHeadersTimeout = Limits.MetricsPatience;
        listen.Use(new HttpPlaces(connections).Limit);
    }

    public async Task AnswerAsync(HttpContext context)
    {
        (int status, string text) = Answer(context.Request);
        context.Response.StatusCode = status;
        context.Response.ContentType = MetricsPage.ContentType;
        await context.Response.WriteAsync(text);
    }

    /// <summary>
    /// Tells the client that the connection ends with this answer, if the request has a body. Kestrel closes a connection with a
    /// body that is not read. Without the header, the client sends its next request on the same connection and loses it.
    /// </summary>
    public static void CloseWithUnreadBody(HttpContext context)
    {
        if (context.Features.Get<IHttpRequestBodyDetectionFeature>() is { CanHaveBody: true }) context.Response.Headers.Connection = "close";
    }

    private (int Status, string Text) Answer(HttpRequest request)
    {
        if (!HttpMethods.IsGet(request.Method) && !HttpMethods.IsHead(request.Method)) return (StatusCodes.Status405MethodNotAllowed, "only GET and HEAD\n");
        return request.Path.Value switch
        {
            "/metrics" => (StatusCodes.Status200OK, MetricsPage.Write(server)),
            "/health/live" => (StatusCodes.Status200OK, "alive\n"),
            "/health/ready" when server.Shutdown.HasBegun => (StatusCodes.Status503ServiceUnavailable, "ending\n"),
            "/health/ready" when server.Loading is not null => (StatusCodes.Status503ServiceUnavailable, "loading\n"),
            "/health/ready" when server.Role is { IsReplica: true, IsLinkUp: false } => (StatusCodes.Status503ServiceUnavailable, "without its master\n"),
            "/health/ready" when server.Cluster is { State.IsOk: false } => (StatusCodes.Status503ServiceUnavailable, "the cluster is down\n"),
            "/health/ready" => (StatusCodes.Status200OK, "ready\n"),
            _ => (StatusCodes.Status404NotFound, "there are /metrics, /health/live and /health/ready\n"),
        };
    }
}
