using System.Buffers;
using System.Collections.Concurrent;
using System.Net;
using System.Text;
using System.Text.Json;
using Microsoft.AspNetCore.Http;
using RedisClone.Engine;
using RedisClone.Engine.Acl;
using RedisClone.Server.Net;
using RedisClone.Transport.InMemory;

namespace RedisClone.Server.Studio;

/// <summary>The browsers that are signed in, by the secret in their cookie.</summary>
internal sealed class StudioSessions(ServerCore server, MemoryTransport transport)
{
    private readonly ConcurrentDictionary<string, StudioSession> _byKey = new(StringComparer.Ordinal);
    private readonly SemaphoreSlim _signIns = new(StudioLimits.SignIns);

    /// <summary>The valid session of a request, or null.</summary>
    public StudioSession? Of(HttpContext context)
    {
        if (context.Request.Cookies[CookieOf(context)] is not { } key || !_byKey.TryGetValue(key, out StudioSession? session)) return null;
        // A session without a password is for this machine. Its cookie is of no use elsewhere, nor once there is a password.
        if (session.IsValid && (!session.IsAutomatic || StudioAccess.IsLocal(context) && !server.Access.Users.MustAuthenticate))
        {
            session.Use();
            return session;
        }
        End(session);
        return null;
    }

    /// <summary>Signs in as a user. Returns null and a reason if the server refuses it.</summary>
    public async Task<(StudioSession? Session, string Refusal)> SignInAsync(HttpContext context, string name, string password)
    {
        await _signIns.WaitAsync(context.RequestAborted);
        try
        {
            context.Features.Get<ConnectionPlaces.Place>()?.BeginAnswer();
            byte[] user = Encoding.UTF8.GetBytes(name), secret = Encoding.UTF8.GetBytes(password);
            User? known = server.Access.Users.Find(user);
            Permissions? permissions = known?.Permissions;
            // From elsewhere, a user without a password would be open to everyone.
            if (permissions is { NoPassword: true } && !StudioAccess.IsLocal(context)) return (null, "this user has no password");
            (StudioSession? session, string refusal) = await OpenAsync(context, known, permissions, ["AUTH"u8.ToArray(), user, secret], isAutomatic: false);
            if (session is null) await Task.Delay(StudioLimits.WrongPasswordDelay, context.RequestAborted);
            return (session, refusal);
        }
        finally
        {
            _signIns.Release();
        }
    }

    /// <summary>
    /// Opens a session of the default user, which needs no password. Unlike PING, HELLO is served while data is loaded, while a script
    /// runs, and on a full disk.
    /// </summary>
    public Task<(StudioSession? Session, string Refusal)> OpenAsync(HttpContext context)
    {
        User user = server.Access.Users.Default;
        return OpenAsync(context, user, user.Permissions, ["HELLO"u8.ToArray(), "3"u8.ToArray()], isAutomatic: true);
    }

    /// <summary>Ends a session: its cookie is worth nothing from now on.</summary>
    public void End(StudioSession session)
    {
        _byKey.TryRemove(session.Key, out _);
        session.Dispose();
    }

    /// <summary>Browsers send a cookie to all ports of a name, so each server has a name of its own for it.</summary>
    public static string CookieOf(HttpContext context) => $"studio-{context.Connection.LocalPort}";

    private async Task<(StudioSession? Session, string Refusal)> OpenAsync(
        HttpContext context, User? user, Permissions? permissions, byte[][] first, bool isAutomatic)
    {
        StudioLink screens = Connect(context), console = Connect(context);
        if (await RefusalAsync(screens, first, "studio") is not { } refusal) refusal = await RefusalAsync(console, first, "studio-console") ?? "";
        if (refusal.Length > 0 || user is null || permissions is null)
        {
            screens.Dispose();
            console.Dispose();
            return (null, refusal.Length > 0 ? refusal : "the user is unknown");
        }
        var session = new StudioSession(user, permissions, isAutomatic, screens, console);
        Tidy();
        _byKey[session.Key] = session;
        return (session, "");
    }

    private StudioLink Connect(HttpContext context) => new(
        transport, StudioAccess.SenderOf(context),
        new IPEndPoint(context.Connection.LocalIpAddress ?? IPAddress.None, context.Connection.LocalPort));

    /// <summary>Runs the first commands of a connection. Returns the error of the first one, or null.</summary>
    private static async Task<string?> RefusalAsync(StudioLink link, byte[][] first, string name)
    {
        try
        {
            if (await ErrorOfAsync(link, first) is { } error) return error;
            // A user without the right to HELLO gets the replies of the older protocol.
            await ErrorOfAsync(link, ["HELLO"u8.ToArray(), "3"u8.ToArray(), "SETNAME"u8.ToArray(), Encoding.ASCII.GetBytes(name)]);
            return null;
        }
        catch (IOException failure)
        {
            return failure.Message;
        }
    }

    private static async Task<string?> ErrorOfAsync(StudioLink link, byte[][] command)
    {
        var reply = new ArrayBufferWriter<byte>();
        await using var json = new Utf8JsonWriter(reply);
        json.WriteStartArray();
        using StudioBudget.Share memory = new StudioBudget(StudioLimits.ReplyBytes).Begin();
        await link.RunAsync([(command, null)], json, memory, default);
        json.WriteEndArray();
        await json.FlushAsync();
        using JsonDocument document = JsonDocument.Parse(reply.WrittenMemory);
        return document.RootElement[0] is { ValueKind: JsonValueKind.Object } answer && answer.TryGetProperty("x", out JsonElement error)
            ? error.GetString() : null;
    }

    /// <summary>Ends what is not valid any more and, if there are too many sessions, the one that was used least recently.</summary>
    private void Tidy()
    {
        foreach (StudioSession session in _byKey.Values)
            if (!session.IsValid) End(session);
        while (_byKey.Count >= StudioLimits.Sessions && _byKey.Values.MinBy(static session => session.UsedAt) is { } oldest) End(oldest);
    }
}
