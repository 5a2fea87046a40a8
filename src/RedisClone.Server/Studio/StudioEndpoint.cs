using System.Buffers;
using System.Text.Json;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Engine;
using RedisClone.Server.Net;

namespace RedisClone.Server.Studio;

/// <summary>
/// The HTTP port: the files of the studio, the calls of its page, and the metrics for those that may read them. The page is the same
/// for everyone; each call needs a session.
/// </summary>
internal sealed class StudioEndpoint(ServerCore server, StudioSessions sessions, StudioCalls calls)
{
    /// <summary>The path of the page's calls.</summary>
    public const string Calls = "/studio/api";

    private const string Root = "/studio/";
    private const string Json = "application/json";

    /// <summary>The cookie is for the metrics too.</summary>
    private const string CookiePath = "/";

    /// <summary>
    /// The page may load only its own files, and may set no markup: its scripts can only create elements and set their text.
    /// </summary>
    private const string Policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

    private readonly StudioAccess _access = new(server);
    private readonly StudioBudget _bodies = new(StudioLimits.AllBodyBytes), _replies = new(StudioLimits.AllReplyBytes);

    /// <summary>Marks the connections of the HTTP port.</summary>
    public static ConnectionDelegate Mark(ConnectionDelegate next) => connection =>
    {
        connection.Features.Set(StudioMark.Instance);
        return next(connection);
    };

    /// <summary>Whether a request came to the HTTP port.</summary>
    public static bool IsFor(HttpContext context) => context.Features.Get<StudioMark>() is not null;

    public async Task AnswerAsync(HttpContext context, MetricsEndpoint metrics)
    {
        SetHeaders(context.Response);
        PathString path = context.Request.Path;
        bool isMetrics = path == "/metrics" || path.StartsWithSegments("/health", StringComparison.Ordinal);
        if (isMetrics && server.Config.HttpOpenMetrics) await metrics.AnswerAsync(context);
        else if (_access.Refusal(context) is { } refusal) await FailAsync(context, StatusCodes.Status403Forbidden, refusal);
        else if (isMetrics && MayReadMetrics(context)) await metrics.AnswerAsync(context);
        else if (isMetrics) await FailAsync(context, StatusCodes.Status401Unauthorized, "sign in first, or use metrics-port");
        else if (path.StartsWithSegments(Calls, StringComparison.Ordinal, out PathString call)) await CallAsync(context, call.Value ?? "");
        else await SendFileAsync(context, path.Value ?? "");
    }

    private bool MayReadMetrics(HttpContext context) =>
        _access.NeedsNoPassword(context) || sessions.Of(context) is { } session && StudioRights.MayRun(server, session.User, "info");

    private static void SetHeaders(HttpResponse response)
    {
        IHeaderDictionary headers = response.Headers;
        headers.ContentSecurityPolicy = Policy;
        headers.XContentTypeOptions = "nosniff";
        headers["Referrer-Policy"] = "no-referrer";
        headers["Cross-Origin-Opener-Policy"] = "same-origin";
        headers["Cross-Origin-Resource-Policy"] = "same-origin";
        headers.CacheControl = "no-store";
    }

    private static async Task SendFileAsync(HttpContext context, string path)
    {
        HttpRequest request = context.Request;
        if (path is "/" or "/studio")
        {
            context.Response.Redirect(Root);
            return;
        }
        string name = path.StartsWith(Root, StringComparison.Ordinal) ? path[Root.Length..] : "/";
        if (StudioFiles.Find(name.Length == 0 ? "index.html" : name) is not { } file)
        {
            await FailAsync(context, StatusCodes.Status404NotFound, "there are /studio/, /metrics, /health/live and /health/ready");
            return;
        }
        if (!HttpMethods.IsGet(request.Method) && !HttpMethods.IsHead(request.Method))
        {
            await FailAsync(context, StatusCodes.Status405MethodNotAllowed, "only GET and HEAD");
            return;
        }
        context.Response.Headers.CacheControl = "no-cache";
        context.Response.Headers.ETag = file.Tag;
        if (request.Headers.IfNoneMatch == file.Tag)
        {
            context.Response.StatusCode = StatusCodes.Status304NotModified;
            return;
        }
        context.Response.ContentType = file.Type;
        context.Response.ContentLength = file.Bytes.Length;
        if (HttpMethods.IsGet(request.Method)) await context.Response.Body.WriteAsync(file.Bytes, context.RequestAborted);
    }

    private async Task CallAsync(HttpContext context, string call)
    {
        HttpRequest request = context.Request;
        if (!HttpMethods.IsPost(request.Method))
        {
            await FailAsync(context, StatusCodes.Status405MethodNotAllowed, "only POST");
            return;
        }
        // A form of another site cannot send this type.
        if (request.ContentType?.Split(';')[0].Trim() != Json)
        {
            await FailAsync(context, StatusCodes.Status415UnsupportedMediaType, "only application/json");
            return;
        }
        // Before a browser has signed in, only the short body of a sign-in is read.
        bool signsIn = call == "/session";
        StudioSession? session = signsIn ? null : sessions.Of(context);
        if (session is null && !signsIn)
        {
            await FailAsync(context, StatusCodes.Status401Unauthorized, "not signed in");
            return;
        }
        context.Features.Get<IHttpMaxRequestBodySizeFeature>()!.MaxRequestBodySize = signsIn ? StudioLimits.SignInBytes : StudioLimits.BodyBytes;
        context.Response.Headers.Connection = default;
        // A sign-in has a short body. One of unknown length may become as long as any.
        long length = signsIn ? 0 : Math.Min(request.ContentLength ?? StudioLimits.BodyBytes, StudioLimits.BodyBytes);
        using StudioBudget.Share memory = _bodies.Begin();
        try
        {
            if (!memory.TryTake(length))
            {
                MetricsEndpoint.CloseWithUnreadBody(context);
                await FailAsync(context, StatusCodes.Status503ServiceUnavailable,
                    "the bodies of other calls take all memory that the studio may use; try again");
                return;
            }
            // While its body arrives, which a client can delay, the connection may lose its place to another one.
            ConnectionPlaces.Place? place = context.Features.Get<ConnectionPlaces.Place>();
            place?.EndAnswer();
            using JsonDocument body = await JsonDocument.ParseAsync(request.Body, new JsonDocumentOptions { MaxDepth = 8 }, context.RequestAborted);
            // A sign-in waits too, for its turn.
            if (!signsIn) place?.BeginAnswer();
            if (session is null) await SignInAsync(context, body.RootElement);
            else if (call == "/logout") await SignOutAsync(context, session);
            else await RunAsync(context, session, call, body.RootElement);
        }
        catch (BadHttpRequestException failure)
        {
            MetricsEndpoint.CloseWithUnreadBody(context);
            await FailAsync(context, failure.StatusCode, failure.Message);
        }
        catch (Exception failure) when (failure is JsonException or InvalidOperationException or FormatException or KeyNotFoundException)
        {
            await FailAsync(context, StatusCodes.Status400BadRequest, "the body of the request is not what the call expects");
        }
        catch (OperationCanceledException failure)
            when ((failure.InnerException ?? failure) is ConnectionAbortedException || context.RequestAborted.IsCancellationRequested)
        {
            // The browser has gone, or its connection has lost its place.
        }
        catch (IOException failure)
        {
            await FailAsync(context, StatusCodes.Status502BadGateway, failure.Message);
        }
    }

    private async Task RunAsync(HttpContext context, StudioSession session, string call, JsonElement body)
    {
        if (call == "/support-bundle")
        {
            await SendBundleAsync(context, session);
            return;
        }
        var answer = new ArrayBufferWriter<byte>(4096);
        await using var json = new Utf8JsonWriter(answer);
        using StudioBudget.Share memory = _replies.Begin();
        string? refusal = await calls.RunAsync(session, call, body, json, memory, context.RequestAborted);
        if (refusal is not null)
        {
            await FailAsync(context, refusal.Length == 0 ? StatusCodes.Status404NotFound : StatusCodes.Status403Forbidden,
                refusal.Length == 0 ? "there is no such call" : refusal);
            return;
        }
        await json.FlushAsync(context.RequestAborted);
        await SendJsonAsync(context, StatusCodes.Status200OK, answer.WrittenMemory);
    }

    /// <summary>Answers with the zip that the command SUPPORT-BUNDLE returns.</summary>
    private async Task SendBundleAsync(HttpContext context, StudioSession session)
    {
        const string right = "support-bundle";
        if (!StudioRights.MayRun(server, session.User, right))
            await FailAsync(context, StatusCodes.Status403Forbidden, $"the user {session.User.Text} may not run {right}");
        else if (await Task.Run(server.SupportBundle) is not { } bundle)
            await FailAsync(context, StatusCodes.Status409Conflict, "a support bundle is being made already");
        else
        {
            context.Response.ContentType = "application/zip";
            context.Response.ContentLength = bundle.Length;
            await context.Response.Body.WriteAsync(bundle, context.RequestAborted);
        }
    }

    /// <summary>Answers with the session of the browser, or opens one.</summary>
    private async Task SignInAsync(HttpContext context, JsonElement body)
    {
        StudioSession? session;
        string refusal = "";
        if (body.TryGetProperty("user", out JsonElement user))
        {
            string name = StudioCalls.TextOf(user), password = StudioCalls.TextOf(body.GetProperty("password"));
            if (sessions.Of(context) is { } before) sessions.End(before);
            (session, refusal) = await sessions.SignInAsync(context, name, password);
        }
        else
        {
            session = sessions.Of(context);
            if (session is null && _access.NeedsNoPassword(context)) (session, refusal) = await sessions.OpenAsync(context);
        }
        if (session is null)
        {
            await FailAsync(context, StatusCodes.Status401Unauthorized, refusal);
            return;
        }
        context.Response.Cookies.Append(StudioSessions.CookieOf(context), session.Key,
            new CookieOptions { HttpOnly = true, SameSite = SameSiteMode.Strict, Secure = context.Request.IsHttps, Path = CookiePath });
        var answer = new ArrayBufferWriter<byte>();
        await using var json = new Utf8JsonWriter(answer);
        json.WriteStartObject();
        json.WriteString("user", session.User.Text);
        json.WriteBoolean("automatic", session.IsAutomatic);
        json.WriteNumber("databases", server.Cluster is null ? server.Config.Databases : 1);
        json.WriteEndObject();
        await json.FlushAsync(context.RequestAborted);
        await SendJsonAsync(context, StatusCodes.Status200OK, answer.WrittenMemory);
    }

    private async Task SignOutAsync(HttpContext context, StudioSession session)
    {
        sessions.End(session);
        context.Response.Cookies.Delete(StudioSessions.CookieOf(context), new CookieOptions { Path = CookiePath });
        await SendJsonAsync(context, StatusCodes.Status200OK, "{}"u8.ToArray());
    }

    private static async Task FailAsync(HttpContext context, int status, string why)
    {
        if (context.Response.HasStarted) return;
        var answer = new ArrayBufferWriter<byte>();
        await using var json = new Utf8JsonWriter(answer);
        json.WriteStartObject();
        json.WriteString("error", why);
        json.WriteEndObject();
        await json.FlushAsync(context.RequestAborted);
        await SendJsonAsync(context, status, answer.WrittenMemory);
    }

    private static async Task SendJsonAsync(HttpContext context, int status, ReadOnlyMemory<byte> body)
    {
        context.Response.StatusCode = status;
        context.Response.ContentType = Json;
        context.Response.ContentLength = body.Length;
        if (!HttpMethods.IsHead(context.Request.Method)) await context.Response.Body.WriteAsync(body, context.RequestAborted);
    }

    private sealed class StudioMark
    {
        public static readonly StudioMark Instance = new();
    }
}
