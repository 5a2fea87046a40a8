using System.Globalization;
using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Pubsub;

namespace RedisClone.Engine.Clients;

/// <summary>
/// The line that describes a client in CLIENT LIST, CLIENT INFO and the log: Redis's fields, in Redis's order.
/// </summary>
internal static class ClientDescription
{
    /// <summary>Output up to this size lies in buffers that every client has.</summary>
    private const int SmallOutput = 4096;

    public static string Of(Session session)
    {
        var line = new StringBuilder(320);
        Append(line, session, self: null);
        return line.ToString();
    }

    /// <summary>The same while the client's command runs, on the thread that runs it.</summary>
    public static string DuringCommand(Session session)
    {
        if (session.Connection is not { } connection) return Of(session);
        var line = new StringBuilder(320);
        Append(line, session, (session, connection.CurrentRow, connection.CurrentRequest.ArgumentBytes));
        return line.ToString();
    }

    /// <param name="line">The target. No line end is added.</param>
    /// <param name="session">The client to describe. Another thread may own it; its fields are read without a lock.</param>
    /// <param name="self">The calling client, its current command, and the bytes of that command's arguments.</param>
    public static void Append(StringBuilder line, Session session, (Session Session, CommandRow Row, long ArgumentBytes)? self)
    {
        long now = ServerCore.UnixMilliseconds();
        IClientConnection? connection = session.Connection;
        Transaction? transaction = session.Transaction;
        (CommandRow? command, long argumentBytes) = self is { } asker && asker.Session == session ? (asker.Row, asker.ArgumentBytes) : (session.LastCommand, 0);
        long transactionBytes = transaction?.HeldBytes ?? 0;
        long queryBytes = connection?.QueryBytes ?? 0;
        long replyBytes = connection?.ReplyBytes ?? 0;
        long outputBytes = connection?.UnsentBytes ?? 0;
        line.Append(CultureInfo.InvariantCulture, $"id={session.Id} addr={session.PeerName} laddr={session.LocalName} fd={connection?.Descriptor ?? -1}");
        line.Append(CultureInfo.InvariantCulture, $" name={session.Name} age={(now - session.CreatedAt) / 1000} idle={(now - session.LastInteraction) / 1000}");
        line.Append(" flags=");
        AppendFlags(line, session);
        line.Append(CultureInfo.InvariantCulture, $" db={session.Database} sub={session.CountOf(SubscriptionKind.Channel)}");
        line.Append(CultureInfo.InvariantCulture, $" psub={session.CountOf(SubscriptionKind.Pattern)} ssub={session.CountOf(SubscriptionKind.Shard)}");
        line.Append(CultureInfo.InvariantCulture, $" multi={transaction?.Count ?? -1} watch={session.Watched.Count} " +
            $"qbuf={queryBytes} qbuf-free={connection?.QueryRoom ?? 0}");
        line.Append(CultureInfo.InvariantCulture, $" argv-mem={argumentBytes} multi-mem={transactionBytes} rbs=0 rbp=0 obl={replyBytes}");
        line.Append(CultureInfo.InvariantCulture, $" oll={connection?.PendingMessages ?? 0} omem={outputBytes}");
        line.Append(CultureInfo.InvariantCulture,
            $" tot-mem={MemoryOf(session) + (session.Replica?.Unsent ?? 0) + argumentBytes} " +
            $"events={(outputBytes > 0 ? "rw" : "r")}");
        line.Append(CultureInfo.InvariantCulture, $" cmd={command?.FullName ?? "NULL"} user={session.User.Text} " +
            $"redir={session.Tracking?.Redirect ?? -1} resp={session.Reply.Version}");
        line.Append(CultureInfo.InvariantCulture, $" lib-name={session.LibraryName} lib-ver={session.LibraryVersion}");
        line.Append(CultureInfo.InvariantCulture, $" tot-net-in={session.NetInput} tot-net-out={session.NetOutput} tot-cmds={session.CommandsProcessed}");
    }

    /// <summary>
    /// The bytes held for this client alone. Small requests and replies lie in buffers that every client has and are not
    /// counted.
    /// </summary>
    public static long MemoryOf(Session session)
    {
        if (session.Connection is not { } connection) return 0;
        bool waits = session.Waiter is not null || session.IsPaused;
        long query = Math.Max(connection.QueryBytes + connection.QueryRoom, connection.InputRoom(waits));
        long buffers = Math.Max(Limits.BytesPerConnection, query) + Math.Max(0, connection.OutputBytes - SmallOutput);
        return buffers + connection.BatchRoom + session.HeldBytes
            + (session.Tracking?.PrefixBytes ?? 0) + (session.Fieldsets?.HeldBytes ?? 0) + (session.Transaction?.HeldBytes ?? 0);
    }

    private static void AppendFlags(StringBuilder line, Session session)
    {
        int start = line.Length;
        if (session.IsReplica) line.Append('S');
        if (session.IsPrimary) line.Append('M');
        if (session.Server.Monitors.Contains(session)) line.Append('O');
        if (session.Subscriptions > 0) line.Append('P');
        if (session.Transaction is not null) line.Append('x');
        if (session.Waiter is not null || session.IsPaused) line.Append('b');
        if (session.Tracking is { } tracking)
        {
            line.Append('t');
            if (tracking.RedirectBroken) line.Append('R');
            if (tracking.Broadcasts) line.Append('B');
        }
        if (session.WatchedKeyChanged) line.Append('d');
        if (session.CloseAfterReply) line.Append('c');
        if (session.IsUnixSocket) line.Append('U');
        if (session.NoEvict) line.Append('e');
        if (session.NoTouch) line.Append('T');
        if (line.Length == start) line.Append('N');
    }
}
