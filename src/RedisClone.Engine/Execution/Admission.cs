using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Engine.Execution;

/// <summary>
/// Decides, before a command is routed, whether the client may run it now. The checks and their order are Redis's.
/// </summary>
internal static class Admission
{
    private const int QuotedLength = 128;

    /// <summary>Commands whose replies may be long, or that may take memory.</summary>
    private const CommandFlags MayGrow = CommandFlags.ReadOnly | CommandFlags.DenyOom | CommandFlags.RunsScript;

    private const CommandFlags OnKeyspace = CommandFlags.Write | CommandFlags.ReadOnly | CommandFlags.MayReplicate;

    /// <summary>
    /// The refusal of DEBUG commands. DEBUG can damage the server, so it is off unless the configuration turns it on.
    /// </summary>
    private const string DebugDenied =
        "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local " +
        "connection, otherwise you need to set this option in the configuration file, and then restart the server.";

    /// <summary>Returns the error that refuses the command, or null.</summary>
    public static string? Refuse(ServerCore server, Session session, CommandRow? row, in Request request)
    {
        if (row is null) return UnknownCommand(request);
        if (row.Subcommands.Length > 0 && request.Count > 1) return Errors.UnknownSubcommand(Quote(request[1], QuotedLength), row.Name);
        if (!row.ArityFits(request.Count) || row.Handler is null) return Errors.WrongArity(row.FullName);
        if (row.Has(CommandFlags.Protected) && !ServerConfig.Allows(server.Config.EnableDebugCommand, session.IsLocal)) return DebugDenied;
        if (session.MustAuthenticate && !row.Has(CommandFlags.NoAuth)) return Errors.NoAuth;
        if (row.Has(CommandFlags.NoMulti) && session.Transaction is not null) return "ERR Command not allowed inside a transaction";
        if (!session.User.IsUnrestricted && server.Access.Refuse(session, row, request) is { } denial) return denial;
        string? refusal = RefuseInThisState(server, session, row, request);
        // In a cluster, a redirection comes before a refusal. The executor redirects commands that run now, while their shards are held.
        bool runsNow = refusal is null && (session.Transaction is null || row.Has(CommandFlags.NotQueued));
        return runsNow ? null : server.Cluster?.Redirection.RefuseInAdvance(session, row, request) ?? refusal;
    }

    /// <summary>Returns the error that refuses the command because of the state of the server or of the client, or null.</summary>
    private static string? RefuseInThisState(ServerCore server, Session session, CommandRow row, in Request request)
    {
        if (!row.OnlyReads && RefuseChange(server, session, row, request) is { } unchanged) return unchanged;
        if (session.Subscriptions > 0 && session.Reply.Version < 3 && !row.Has(CommandFlags.InSubscribedMode))
            return $"ERR Can't execute '{row.FullName}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context";
        if (server.Role.RefusesStaleData && (row.FlagsFor(request, session) & CommandFlags.Stale) == 0) return Errors.PrimaryIsDown;
        if (server.Loading is not null && (row.FlagsFor(request, session) & CommandFlags.Loading) == 0) return Errors.Loading;
        if (row.Has(MayGrow) && server.ClientMemory.IsCrowded) return Errors.AllocationFailed;
        if (row.Has(CommandFlags.NoAsyncLoading) && server.Role.LoadsBeside) return Errors.Loading;
        if (session.IsReplica && row.Has(OnKeyspace)) return "ERR Replica can't interact with the keyspace";
        return row.Has(CommandFlags.AllowBusy) || !server.Scripts.Runs.IsAnyBusy ? null : server.Scripts.Runs.Refuse(session, row, request);
    }

    /// <summary>Returns the error that refuses a command because it may change data, or null.</summary>
    private static string? RefuseChange(ServerCore server, Session session, CommandRow row, in Request request)
    {
        if (server.Eviction.RefusesGrowth && (row.FlagsFor(request, session) & CommandFlags.DenyOom) != 0 && server.Eviction.LacksRoom())
            return Errors.OutOfMemory;
        if (RefuseForDisk(server, session, row, request) is { } disk) return disk;
        // In a cluster, the executor first looks whether another node serves the keys.
        if (server.Role.IsReadOnly && server.Cluster is null && (row.FlagsFor(request, session) & CommandFlags.Write) != 0) return Errors.ReadOnlyReplica;
        if (LacksReplicas(server) && (row.FlagsFor(request, session) & CommandFlags.Write) != 0) return Errors.NoReplicas;
        return null;
    }

    /// <summary>Whether fewer replicas follow closely enough than min-replicas-to-write requires.</summary>
    public static bool LacksReplicas(ServerCore server) =>
        server.Config.WantsReplicas && !server.Role.IsReplica && server.Replicas.CountGood() < server.Config.MinReplicasToWrite;

    /// <summary>
    /// Refuses a write whose effect could not be made durable. PING returns the same error; on a replica only if the disk has failed, because
    /// Sentinel takes the error for the end of the server, and each copy of all data begins a new journal.
    /// </summary>
    private static string? RefuseForDisk(ServerCore server, Session session, CommandRow row, in Request request)
    {
        if (server.DiskRefusal is not { } refusal) return null;
        if (row.Name == "ping") return server.Role.IsReplica ? server.StreamRefusal : refusal;
        return (row.FlagsFor(request, session) & CommandFlags.Write) != 0 ? refusal : null;
    }

    private static string UnknownCommand(in Request request)
    {
        StringBuilder text = new StringBuilder("ERR unknown command '").Append(Quote(request[0], QuotedLength)).Append("', with args beginning with: ");
        int start = text.Length;
        for (int i = 1; i < request.Count && text.Length - start < QuotedLength; i++)
        {
            string quoted = Quote(request[i], QuotedLength - (text.Length - start));
            text.Append('\'').Append(quoted).Append("' ");
        }
        return text.ToString();
    }

    private static string Quote(ReadOnlySpan<byte> text, int most) => Errors.Echo(text[..Math.Min(text.Length, Math.Max(0, most))]);
}
