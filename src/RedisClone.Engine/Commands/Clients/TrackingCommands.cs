using System.Text;
using RedisClone.Engine.Caching;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands.Clients;

/// <summary>The subcommands of CLIENT for client-side caching.</summary>
internal static class TrackingCommands
{
    private const CommandFlags Own = NoScript | Loading | Stale;
    private const string OtherMode = " before disabling tracking for this client, and then re-enabling it with a different mode.";

    public static readonly CommandRow[] Subcommands =
    [
        new("TRACKING <ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
            -3, Keys.None, Own, "connection", "6.0.0", Tracking,
            "Sends invalidations to this connection, or to another, when keys that it read change.")
            { Complexity = "O(1). Some options may introduce additional complexity." },
        new("CACHING <YES | NO>",
            3, Keys.None, Own, "connection", "6.0.0", CachingCommand, "Tracks the keys of the next command, or does not."),
        new("GETREDIR",
            2, Keys.None, Own, "connection", "6.0.0", GetRedirect,
            "Returns the ID of the client that receives the invalidations of this connection."),
        new("TRACKINGINFO",
            2, Keys.None, Own, "connection", "6.2.0", TrackingInfo, "Returns the tracking state of this connection."),
    ];

    private static void Tracking(ref CommandContext c)
    {
        TrackingModes modes = TrackingModes.None;
        long redirect = 0;
        var prefixes = new List<byte[]>();
        for (int i = 3; i < c.Args.Count && !c.Failed; i++)
        {
            bool more = i + 1 < c.Args.Count;
            if (c.Is(i, "redirect"u8) && more) redirect = ReadRedirect(ref c, ++i, redirect);
            else if (c.Is(i, "bcast"u8)) modes |= TrackingModes.Broadcast;
            else if (c.Is(i, "optin"u8)) modes |= TrackingModes.OptIn;
            else if (c.Is(i, "optout"u8)) modes |= TrackingModes.OptOut;
            else if (c.Is(i, "noloop"u8)) modes |= TrackingModes.NoLoop;
            else if (c.Is(i, "prefix"u8) && more) prefixes.Add(c.Args[++i].ToArray());
            else c.FailSyntax();
        }
        if (c.Failed) return;
        if (c.Is(2, "off"u8)) c.Clients.Invalidations.Disable(c.Session);
        else if (!c.Is(2, "on"u8)) c.FailSyntax();
        else if (IsConsistent(ref c, modes, prefixes)) Enable(ref c, modes, redirect, prefixes);
        if (!c.Failed) c.Reply.Ok();
    }

    private static long ReadRedirect(ref CommandContext c, int argument, long before)
    {
        if (before != 0) c.Fail("ERR A client can only redirect to a single other client");
        long id = c.Int64(argument);
        if (!c.Failed && c.Clients.Sessions.Find(id) is null) c.Fail("ERR The client ID you want redirect to does not exist");
        return id;
    }

    /// <summary>Whether the options are consistent with each other and with the present mode of the client.</summary>
    private static bool IsConsistent(ref CommandContext c, TrackingModes modes, List<byte[]> prefixes)
    {
        const TrackingModes options = TrackingModes.OptIn | TrackingModes.OptOut;
        bool broadcasts = (modes & TrackingModes.Broadcast) != 0;
        ClientTracking? before = c.Session.Tracking;
        if (!broadcasts && prefixes.Count > 0) return c.Fail("ERR PREFIX option requires BCAST mode to be enabled");
        if (before is not null && before.Broadcasts != broadcasts) return c.Fail("ERR You can't switch BCAST mode on/off" + OtherMode);
        if (broadcasts && (modes & options) != 0) return c.Fail("ERR OPTIN and OPTOUT are not compatible with BCAST");
        if ((modes & options) == options) return c.Fail("ERR You can't specify both OPTIN mode and OPTOUT mode");
        if (before is not null && (modes & options) != 0 && (before.Modes & options) is var old and not TrackingModes.None && old != (modes & options))
            return c.Fail("ERR You can't switch OPTIN/OPTOUT mode" + OtherMode);
        if ((before?.Prefixes.Length ?? 0) + prefixes.Count > Limits.TrackingPrefixes)
            return c.Fail($"ERR a client can track at most {Limits.TrackingPrefixes} prefixes");
        return !Overlap(ref c, before?.Prefixes ?? [], prefixes);
    }

    /// <summary>Whether two prefixes overlap. With both, a client would receive two invalidations for the same key.</summary>
    private static bool Overlap(ref CommandContext c, byte[][] existing, List<byte[]> prefixes)
    {
        for (int i = 0; i < prefixes.Count && !c.Failed; i++)
        {
            foreach (byte[] other in existing)
                if (Overlap(prefixes[i], other)) Refuse(ref c, prefixes[i], "an existing", other);
            for (int j = i + 1; j < prefixes.Count && !c.Failed; j++)
                if (Overlap(prefixes[i], prefixes[j])) Refuse(ref c, prefixes[i], "another provided", prefixes[j]);
        }
        return c.Failed;
    }

    private static bool Overlap(ReadOnlySpan<byte> first, ReadOnlySpan<byte> second) => first.StartsWith(second) || second.StartsWith(first);

    private static void Refuse(ref CommandContext c, byte[] prefix, string which, byte[] other) => c.Fail(
        $"ERR Prefix '{Errors.Echo(prefix)}' overlaps with {which} prefix '{Errors.Echo(other)}'. Prefixes for a single client must not overlap.");

    private static void Enable(ref CommandContext c, TrackingModes modes, long redirect, List<byte[]> prefixes)
    {
        byte[][] all = [];
        if ((modes & TrackingModes.Broadcast) != 0)
        {
            all = [.. c.Session.Tracking?.Prefixes ?? [], .. prefixes];
            // Without a prefix, the client tracks all keys.
            if (prefixes.Count == 0 && !all.Any(prefix => prefix.Length == 0)) all = [.. all, []];
        }
        c.Clients.Invalidations.Enable(c.Session, new ClientTracking(c.Session, modes, redirect, all));
    }

    private static void CachingCommand(ref CommandContext c)
    {
        if (c.Session.Tracking is not { } tracking) c.Fail("ERR CLIENT CACHING can be called only when the client is in " +
            "tracking mode with OPTIN or OPTOUT mode enabled");
        else if (c.Is(2, "yes"u8)) Give(ref c, tracking, TrackingModes.OptIn, "YES", "OPTIN");
        else if (c.Is(2, "no"u8)) Give(ref c, tracking, TrackingModes.OptOut, "NO", "OPTOUT");
        else c.FailSyntax();
    }

    private static void Give(ref CommandContext c, ClientTracking tracking, TrackingModes mode, string word, string modeName)
    {
        if ((tracking.Modes & mode) == 0)
        {
            c.Fail($"ERR CLIENT CACHING {word} is only valid when tracking is enabled in {modeName} mode.");
            return;
        }
        tracking.CachingGiven = true;
        c.Reply.Ok();
    }

    private static void GetRedirect(ref CommandContext c) => c.Reply.Integer(c.Session.Tracking?.Redirect ?? -1);

    private static void TrackingInfo(ref CommandContext c)
    {
        ClientTracking? tracking = c.Session.Tracking;
        c.Reply.MapHeader(3);
        c.Reply.Bulk("flags"u8);
        string[] flags = [.. FlagsOf(tracking)];
        c.Reply.SetHeader(flags.Length);
        foreach (string flag in flags) c.Reply.BulkString(flag);
        c.Reply.Bulk("redirect"u8);
        c.Reply.Integer(tracking?.Redirect ?? -1);
        c.Reply.Bulk("prefixes"u8);
        byte[][] prefixes = [.. (tracking?.Prefixes ?? []).OrderBy(Encoding.Latin1.GetString, StringComparer.Ordinal)];
        c.Reply.ArrayHeader(prefixes.Length);
        foreach (byte[] prefix in prefixes) c.Reply.Bulk(prefix);
    }

    private static IEnumerable<string> FlagsOf(ClientTracking? tracking)
    {
        yield return tracking is null ? "off" : "on";
        if (tracking is null) yield break;
        if (tracking.Broadcasts) yield return "bcast";
        if ((tracking.Modes & TrackingModes.OptIn) != 0) yield return "optin";
        if ((tracking.Modes & TrackingModes.OptIn) != 0 && tracking.CachingGiven) yield return "caching-yes";
        if ((tracking.Modes & TrackingModes.OptOut) != 0) yield return "optout";
        if ((tracking.Modes & TrackingModes.OptOut) != 0 && tracking.CachingGiven) yield return "caching-no";
        if ((tracking.Modes & TrackingModes.NoLoop) != 0) yield return "noloop";
        if (tracking.RedirectBroken) yield return "broken_redirect";
    }
}
