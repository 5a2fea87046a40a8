using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Shards;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands.Clients;

/// <summary>CLIENT: reads and sets the state of connections. CLIENT KILL is in <see cref="ClientKill"/>.</summary>
internal static class ClientCommands
{
    public const string InvalidName = "ERR Client names cannot contain spaces, newlines or special characters.";

    private const CommandFlags Own = NoScript | Loading | Stale;
    private const CommandFlags Others = CommandFlags.Admin | NoScript | Loading | Stale;

    /// <summary>The work of the description of one client, in the unit of <see cref="Limits.InlineWork"/>.</summary>
    private const int WorkPerClient = 16;

    public static readonly CommandRow[] Rows =
    [
        new("CLIENT", -2, Keys.None, None, "connection", "2.4.0", null, "Commands about client connections.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                Sub("ID", 2, Own, "5.0.0", Id, "Returns the ID of this connection."),
                Sub("INFO", 2, Own, "6.2.0", Info, "Describes this connection.", tips: CommandTips.Nondeterministic),
                Sub("LIST [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
                    -2, Others, "2.4.0", List, "Describes all connections, or those of a type or with given IDs.",
                    "O(N) where N is the number of client connections", CommandTips.Nondeterministic),
                Sub("SETNAME connection-name", 3, Own, "2.6.9", SetName, "Gives this connection a name.", tips: CommandTips.AllNodes),
                Sub("GETNAME", 2, Own, "2.6.9", GetName, "Returns the name of this connection."),
                Sub("SETINFO <LIB-NAME libname | LIB-VER libver>",
                    4, Own, "7.2.0", SetInfo, "Tells the server which library the client uses.", tips: CommandTips.AllNodes),
                Sub("KILL <ip:port | <ID client-id | TYPE <NORMAL | MASTER | REPLICA | PUBSUB> | USER username | ADDR ip:port " +
                    "| LADDR ip:port | SKIPME <YES | NO> | MAXAGE maxage ...>>",
                    -3, Others, "2.4.0", ClientKill.Run, "Closes connections, by address or by all the conditions given.",
                    "O(N) where N is the number of client connections"),
                Sub("NO-EVICT <ON | OFF>", 3, Others, "7.0.0", NoEvict, "Excludes this connection from client eviction."),
                Sub("NO-TOUCH <ON | OFF>", 3, Own, "7.2.0", NoTouch, "Stops this connection's commands from counting as use " +
                    "of their keys."),
                Sub("PAUSE timeout [WRITE | ALL]", -3, Others | AllShards, "3.0.0", Pause, "Suspends the commands of all clients, or " +
                    "their writes, for a time."),
                Sub("UNPAUSE", 2, Others, "6.2.0", Unpause, "Ends a pause.", complexity: "O(N) Where N is the number of paused clients"),
                Sub("REPLY <ON | OFF | SKIP>", 3, Own, "3.2.0", Reply, "Turns the replies to this connection on or off, or " +
                    "skips the next one."),
                Sub("UNBLOCK client-id [TIMEOUT | ERROR]", -3, Others, "5.0.0", Unblock, "Unblocks a blocked client, as after " +
                    "a timeout or with an error.",
                    "O(log N) where N is the number of client connections"),
                .. TrackingCommands.Subcommands,
                Help.Row("connection", "5.0.0"),
            ],
        },
    ];

    private static CommandRow Sub(
        string name, int arity, CommandFlags flags, string since, CommandHandler handler, string summary, string complexity = "O(1)", string[]? tips = null) =>
        new(name, arity, Keys.None, flags, "connection", since, handler, summary) { Complexity = complexity, Tips = tips ?? [] };

    /// <summary>
    /// Whether a client name or a library version is valid: visible ASCII characters without spaces, as CLIENT LIST needs.
    /// </summary>
    public static bool IsValidAttribute(ReadOnlySpan<byte> text) => !text.ContainsAnyExceptInRange((byte)'!', (byte)'~');

    /// <summary>
    /// Parses a client type: NORMAL, MASTER, REPLICA (or SLAVE) or PUBSUB. It sets an error for any other word.
    /// </summary>
    public static bool TryType(ref CommandContext c, int argument, out Func<Session, bool> isOfType)
    {
        isOfType = static _ => false;
        if (c.Is(argument, "normal"u8)) isOfType = static s => s.Class == ClientClass.Normal && !s.IsPrimary;
        else if (c.Is(argument, "pubsub"u8)) isOfType = static s => s.Class == ClientClass.PubSub;
        else if (c.Is(argument, "replica"u8) || c.Is(argument, "slave"u8)) isOfType = static s => s.Class == ClientClass.Replica;
        else if (c.Is(argument, "master"u8)) isOfType = static s => s.IsPrimary;
        else return c.Fail($"ERR Unknown client type '{c.Echo(argument)}'");
        return true;
    }

    private static void Id(ref CommandContext c) => c.Reply.Integer(c.Session.Id);

    private static void Info(ref CommandContext c) => ReplyLines(ref c, [c.Session]);

    private static void List(ref CommandContext c)
    {
        if (c.Args.Count == 2)
        {
            ReplyArrived(ref c, static _ => true);
        }
        else if (c.Args.Count == 4 && c.Is(2, "type"u8))
        {
            if (TryType(ref c, 3, out Func<Session, bool> isOfType)) ReplyArrived(ref c, isOfType);
        }
        else if (c.Args.Count > 3 && c.Is(2, "id"u8))
        {
            if (c.MoveToWorker((long)c.Args.Count * WorkPerClient)) return;
            var sessions = new List<Session>();
            for (int i = 3; i < c.Args.Count; i++)
            {
                long id = c.Int64(i, "ERR Invalid client ID");
                if (c.Failed) return;
                if (c.Clients.Sessions.Find(id) is { } session) sessions.Add(session);
            }
            ReplyLines(ref c, sessions);
        }
        else
        {
            c.FailSyntax();
        }
    }

    /// <summary>
    /// Replies with the description of clients after all input that has arrived is processed. In a transaction, which holds
    /// shards, it does not wait for that.
    /// </summary>
    private static void ReplyArrived(ref CommandContext c, Func<Session, bool> isShown)
    {
        if (!c.Session.InTransaction)
        {
            if (c.MoveToWorker(long.MaxValue)) return;
            c.Clients.Sessions.AwaitArrivals();
        }
        ReplyLines(ref c, c.Clients.Sessions.All.Where(isShown));
    }

    private static void ReplyLines(ref CommandContext c, IEnumerable<Session> sessions)
    {
        var text = new StringBuilder();
        foreach (Session session in sessions)
        {
            ClientDescription.Append(text, session, (c.Session, c.Row, c.Args.ArgumentBytes));
            text.Append('\n');
        }
        c.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(text.ToString()));
    }

    private static void SetName(ref CommandContext c)
    {
        if (!IsValidAttribute(c.Args[2]))
        {
            c.Fail(InvalidName);
            return;
        }
        c.Session.Name = c.Text(2);
        c.Reply.Ok();
    }

    private static void GetName(ref CommandContext c)
    {
        if (c.Session.Name.Length == 0) c.Reply.Null();
        else c.Reply.BulkString(c.Session.Name);
    }

    private static void SetInfo(ref CommandContext c)
    {
        bool isName = c.Is(2, "lib-name"u8);
        if (!isName && !c.Is(2, "lib-ver"u8))
        {
            c.Fail($"ERR Unrecognized option '{c.Echo(2)}'");
            return;
        }
        if (!IsValidAttribute(c.Args[3]))
        {
            c.Fail($"ERR {c.Echo(2)} cannot contain spaces, newlines or special characters.");
            return;
        }
        if (isName) c.Session.LibraryName = c.Text(3);
        else c.Session.LibraryVersion = c.Text(3);
        c.Reply.Ok();
    }

    private static void NoEvict(ref CommandContext c)
    {
        if (!TrySwitch(ref c, out bool on)) return;
        c.Session.NoEvict = on;
        c.Reply.Ok();
    }

    private static void NoTouch(ref CommandContext c)
    {
        if (!TrySwitch(ref c, out bool on)) return;
        c.Session.NoTouch = on;
        c.Reply.Ok();
    }

    private static bool TrySwitch(ref CommandContext c, out bool on)
    {
        on = c.Is(2, "on"u8);
        return on || c.Is(2, "off"u8) || c.FailSyntax();
    }

    private static void Pause(ref CommandContext c)
    {
        if (!c.HasAtMost(4)) return;
        PauseMode mode = PauseMode.All;
        if (c.Args.Count == 4)
        {
            if (c.Is(3, "write"u8)) mode = PauseMode.Write;
            else if (!c.Is(3, "all"u8)) c.Fail("ERR CLIENT PAUSE mode must be WRITE or ALL");
        }
        long milliseconds = c.Timeout(2);
        if (c.Failed) return;
        if (milliseconds > 0) c.Clients.Pause.Begin(c.Now + milliseconds, mode);
        c.Reply.Ok();
    }

    private static void Unpause(ref CommandContext c)
    {
        c.Clients.Pause.End();
        c.Reply.Ok();
    }

    private static void Reply(ref CommandContext c)
    {
        if (c.Is(2, "on"u8))
        {
            c.Session.SetReplyMode(ReplyMode.On);
            c.Reply.Ok();
        }
        else if (c.Is(2, "off"u8))
        {
            c.Session.SetReplyMode(ReplyMode.Off);
        }
        else if (!c.Is(2, "skip"u8))
        {
            c.FailSyntax();
        }
        else if (c.Session.ReplyMode != ReplyMode.Off)
        {
            c.Session.SetReplyMode(ReplyMode.SkipNext);
        }
    }

    private static void Unblock(ref CommandContext c)
    {
        if (!c.HasAtMost(4)) return;
        WakeReason reason = WakeReason.Unblocked;
        if (c.Args.Count == 4)
        {
            if (c.Is(3, "error"u8)) reason = WakeReason.UnblockedWithError;
            else if (!c.Is(3, "timeout"u8)) c.Fail("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        }
        long id = c.Int64(2);
        if (c.Failed) return;
        bool woken = c.Clients.Sessions.Find(id)?.Waiter?.Wake(reason) ?? false;
        c.Reply.Integer(woken ? 1 : 0);
    }
}
