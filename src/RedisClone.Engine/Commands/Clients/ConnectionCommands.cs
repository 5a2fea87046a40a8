using RedisClone.Configuration;
using RedisClone.Engine.Commands.Transactions;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands.Clients;

/// <summary>The commands with which clients set up, test and close a connection.</summary>
internal static class ConnectionCommands
{
    private const CommandFlags Handshake = NoScript | Loading | Stale | Fast | NoAuth | AllowBusy;

    public static readonly CommandRow[] Rows =
    [
        new("PING [message]",
            -1, Keys.None, Fast | InSubscribedMode, "connection", "1.0.0", Ping, "Returns PONG, or its argument.")
            { Tips = CommandTips.AllShards },
        new("ECHO message", 2, Keys.None, Fast | Loading | Stale, "connection", "1.0.0", Echo, "Returns its argument."),
        new("SELECT index",
            2, Keys.None, Fast | Loading | Stale, "connection", "1.0.0", Select, "Changes the connection's database."),
        new("QUIT",
            -1, Keys.None, Handshake | NotQueued | InSubscribedMode, "connection", "1.0.0", Quit, "Closes the connection.")
            { DeprecatedSince = "7.2.0", ReplacedBy = "just closing the connection" },
        new("AUTH [username] password", -2, Keys.None, Handshake, "connection", "1.0.0", Auth, "Authenticates the client.")
            { Complexity = "O(N) where N is the number of passwords defined for the user", IsSecret = static (in _, _) => true },
        new("HELLO [protover [AUTH username password] [SETNAME clientname]]",
            -1, Keys.None, Handshake, "connection", "6.0.0", Hello, "Agrees on a protocol version, and authenticates and " +
                "names the client.")
            { IsSecret = IsHelloSecret },
        new("RESET",
            1, Keys.None, Handshake | NotQueued | InSubscribedMode, "connection", "6.2.0", Reset,
            "Resets the connection to its initial state.")
            { Route = TransactionCommands.ShardsOfWatch },
    ];

    private static void Ping(ref CommandContext c)
    {
        if (c.Args.Count > 2)
        {
            c.Fail(Errors.WrongArity(c.Row.FullName));
            return;
        }
        if (c.Session.Subscriptions > 0 && c.Reply.Version < 3)
        {
            c.Reply.ArrayHeader(2);
            c.Reply.Bulk("pong"u8);
            c.Reply.Bulk(c.Args.Count == 2 ? c.Args[1] : default);
        }
        else if (c.Args.Count == 2)
        {
            c.Reply.Bulk(c.Args[1]);
        }
        else
        {
            c.Reply.SimpleString("PONG"u8);
        }
    }

    private static void Echo(ref CommandContext c) => c.Reply.Bulk(c.Args[1]);

    private static void Select(ref CommandContext c)
    {
        int index = c.DatabaseIndex(1);
        if (index != 0 && c.Data.Config.ClusterEnabled) c.Fail("ERR SELECT" + Errors.NotInCluster);
        if (c.Failed) return;
        c.Session.Database = index;
        c.Reply.Ok();
    }

    private static void Quit(ref CommandContext c)
    {
        c.Reply.Ok();
        c.Session.CloseAfterReply = true;
    }

    private static void Auth(ref CommandContext c)
    {
        if (c.Args.Count > 3)
        {
            c.FailSyntax();
            return;
        }
        if (c.Args.Count == 2 && c.Clients.Access.Users.Default.Permissions.NoPassword)
        {
            c.Fail("ERR AUTH <password> called without any password configured for the default user. Are you sure your " +
                "configuration is correct?");
            return;
        }
        ReadOnlySpan<byte> user = c.Args.Count == 2 ? "default"u8 : c.Args[1];
        if (Authenticate(ref c, user, c.Args[^1])) c.Reply.Ok();
    }

    private static bool Authenticate(ref CommandContext c, ReadOnlySpan<byte> user, ReadOnlySpan<byte> password) =>
        c.Clients.Access.LogIn(c.Session, user, password, c.Args[0]) || c.Fail(Errors.WrongPass);

    private static void Hello(ref CommandContext c)
    {
        int version = c.Reply.Version;
        if (c.Args.Count > 1)
        {
            long asked = c.Int64(1, "ERR Protocol version is not an integer or out of range");
            if (!c.Failed && asked is < 2 or > 3) c.Fail("NOPROTO unsupported protocol version");
            if (c.Failed) return;
            version = (int)asked;
        }
        int auth = 0, name = 0;
        for (int i = 2; i < c.Args.Count; i++)
        {
            int following = c.Args.Count - 1 - i;
            if (c.Is(i, "AUTH"u8) && following >= 2)
            {
                auth = i;
                i += 2;
            }
            else if (c.Is(i, "SETNAME"u8) && following >= 1)
            {
                name = ++i;
                if (!ClientCommands.IsValidAttribute(c.Args[name])) c.Fail(ClientCommands.InvalidName);
            }
            else
            {
                c.Fail($"ERR Syntax error in HELLO option '{c.Echo(i)}'");
            }
            if (c.Failed) return;
        }
        if (auth > 0 && !Authenticate(ref c, c.Args[auth + 1], c.Args[auth + 2])) return;
        if (c.Session.MustAuthenticate)
        {
            c.Fail("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH " +
                "<user> <pass> option can be used " +
                "to authenticate the client and select the RESP protocol version at the same time");
            return;
        }
        if (name > 0) c.Session.Name = c.Text(name);
        if (version < c.Reply.Version)
        {
            if (!c.Session.InTransaction) c.Session.Connection?.WriteMessages();
            c.Session.HasLeft = true;
        }
        c.Reply.Version = version;
        ReplyGreeting(ref c);
    }

    private static void ReplyGreeting(ref CommandContext c)
    {
        c.Reply.MapHeader(7);
        c.Reply.Bulk("server"u8);
        c.Reply.Bulk("redis"u8);
        c.Reply.Bulk("version"u8);
        c.Reply.BulkString(ServerVersion.Redis);
        c.Reply.Bulk("proto"u8);
        c.Reply.Integer(c.Reply.Version);
        c.Reply.Bulk("id"u8);
        c.Reply.Integer(c.Session.Id);
        c.Reply.Bulk("mode"u8);
        c.Reply.Bulk(c.Data.Config.ClusterEnabled ? "cluster"u8 : "standalone"u8);
        c.Reply.Bulk("role"u8);
        c.Reply.Bulk(c.Clients.Role.IsReplica ? "replica"u8 : "master"u8);
        c.Reply.Bulk("modules"u8);
        c.Reply.EmptyArray();
    }

    /// <summary>Whether an argument of HELLO is secret: the user name and the password after AUTH.</summary>
    private static bool IsHelloSecret(in Request request, int index) =>
        index > 2 && IsAuth(request, index - 1) || index > 3 && IsAuth(request, index - 2);

    private static bool IsAuth(in Request request, int index) => System.Text.Ascii.EqualsIgnoreCase(request[index], "AUTH"u8);

    private static void Reset(ref CommandContext c)
    {
        if (c.Session.IsReplica)
        {
            c.Fail("ERR can only reset normal client connections");
            return;
        }
        c.Session.EndTransaction();
        if (!c.Session.InTransaction) c.Session.Connection?.WriteMessages();
        c.Session.Reset();
        c.Reply.SimpleString("RESET"u8);
    }
}
