using static RedisClone.Server.Commands.CommandFlags;

namespace RedisClone.Server.Commands;

/// <summary>What clients send on connecting and to stay connected.</summary>
internal static class ConnectionCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("PING", -1, Keys.None, Fast | InSubscribedMode, "connection", "1.0.0", Ping, "Answers PONG, or its argument."),
        new("ECHO", 2, Keys.None, Fast | Loading | Stale, "connection", "1.0.0", Echo, "Answers its argument."),
        new("SELECT", 2, Keys.None, Fast | Loading | Stale | EndsBatch, "connection", "1.0.0", Select, "Changes the connection's database."),
        new("QUIT", -1, Keys.None, AllowBusy | NoScript | Loading | Stale | Fast | NoAuth | EndsBatch | NotQueued | InSubscribedMode, "connection", "1.0.0", Quit,
            "Closes the connection.") { DeprecatedSince = "7.2.0", ReplacedBy = "just closing the connection" },
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
        long index = c.Int64(1, "ERR value is not an integer or out of range");
        if (!c.Failed && (index < 0 || index >= c.Server.Config.Databases)) c.Fail(Errors.DbIndex);
        if (c.Failed) return;
        c.Session.Database = (int)index;
        c.Reply.Ok();
    }

    private static void Quit(ref CommandContext c)
    {
        c.Reply.Ok();
        c.Session.CloseAfterReply = true;
    }
}
