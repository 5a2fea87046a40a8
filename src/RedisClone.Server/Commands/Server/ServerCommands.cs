using System.Text;
using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Server.Durability;
using RedisClone.Server.Scripting;
using static RedisClone.Server.Commands.CommandFlags;

namespace RedisClone.Server.Commands;

/// <summary>Small commands about the server as a whole.</summary>
internal static class ServerCommands
{
    private const CommandFlags Replicating = NoAsyncLoading | CommandFlags.Admin | NoScript | Stale;

    public static readonly CommandRow[] Rows =
    [
        new("TIME", 1, Keys.None, Loading | Stale | Fast, "server", "2.6.0", Time, "Tells the server's time in seconds and microseconds.") { Tips = CommandTips.Nondeterministic },
        new("LOLWUT [VERSION version [arg [arg ...]]]",
            -1, Keys.None, ReadOnly | Fast, "server", "5.0.0", Lolwut, "Draws something, and tells the version.") { Complexity = "O(1)" },
        new("ROLE", 1, Keys.None, NoScript | Loading | Stale | Fast, "server", "2.8.12", Role, "Tells the server's part in replication.") { Categories = ["admin", "dangerous"] },
        new("WAIT numreplicas timeout", 3, Keys.None, Blocking, "generic", "3.0.0", Wait, "Waits until so many replicas have what this connection wrote.")
            { Categories = ["connection"], Tips = CommandTips.AllShardsMinimum },
        new("WAITAOF numlocal numreplicas timeout", 4, Keys.None, Blocking, "generic", "7.2.0", WaitAof, "Waits until what this connection wrote is on disk.")
            { Categories = ["connection"], Tips = ["request_policy:all_shards", "response_policy:agg_min"] },
        new("SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
            -1, Keys.None, CommandFlags.Admin | NoScript | Loading | Stale | NoMulti | AllowBusy | Long, "server", "1.0.0", Shutdown, "Ends the server.")
        {
            Complexity = "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)",
        },
        new("REPLICAOF <host port | NO ONE>", 3, Keys.None, Replicating, "server", "5.0.0", ReplicaOf, "Makes the server a replica, or with NO ONE a master."),
        new("SLAVEOF <host port | NO ONE>", 3, Keys.None, Replicating, "server", "1.0.0", ReplicaOf, "Makes the server a replica, or with NO ONE a master.")
            { DeprecatedSince = "5.0.0", ReplacedBy = "`REPLICAOF`" },
        new("FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
            -1, Keys.None, CommandFlags.Admin | NoScript | Stale, "server", "6.2.0", Failover, "Hands the master's part over to a replica."),
        new("MODULE", -2, Keys.None, None, "server", "4.0.0", null, "Commands about modules, of which this server has none.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("LIST", 2, Keys.None, CommandFlags.Admin | NoScript, "server", "4.0.0", ModuleList, "Lists the modules.")
                    { Complexity = "O(N) where N is the number of loaded modules.", Tips = CommandTips.NondeterministicOrder },
                new("LOAD path [arg [arg ...]]", -3, Keys.None, NoAsyncLoading | CommandFlags.Admin | NoScript | Protected, "server", "4.0.0", ModuleLoad, "Loads a module."),
                new("LOADEX path [CONFIG name value [CONFIG name value ...]] [ARGS args [args ...]]",
                    -3, Keys.None, NoAsyncLoading | CommandFlags.Admin | NoScript | Protected, "server", "7.0.0", ModuleLoad, "Loads a module with its configuration."),
                new("UNLOAD name", 3, Keys.None, NoAsyncLoading | CommandFlags.Admin | NoScript | Protected, "server", "4.0.0", ModuleUnload, "Unloads a module."),
                Help.Row("server", "5.0.0"),
            ],
        },
    ];

    private static void Time(ref CommandContext c)
    {
        ScriptEngine scripts = c.Server.Scripts;
        long microseconds = c.Session == scripts.Session ? scripts.TimeMicroseconds : ServerCore.UnixMicroseconds();
        c.Reply.ArrayHeader(2);
        c.Reply.BulkInteger(microseconds / 1_000_000);
        c.Reply.BulkInteger(microseconds % 1_000_000);
    }

    private static void Lolwut(ref CommandContext c)
    {
        long version = 0;
        if (c.Args.Count > 2 && c.Is(1, "version"u8))
        {
            version = c.Int64(2);
            if (c.Failed) return;
        }
        c.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(Drawing.Draw(version) + $"\nRedis ver. {ServerVersion.Redis}, drawn by RedisClone {ServerVersion.Own}\n"));
    }

    private static void Role(ref CommandContext c)
    {
        c.Reply.ArrayHeader(3);
        c.Reply.Bulk("master"u8);
        c.Reply.Integer(0);
        c.Reply.EmptyArray();
    }

    /// <summary>There are no replicas: whoever asks for one waits for the time given.</summary>
    private static void Wait(ref CommandContext c)
    {
        long replicas = c.Int64(1);
        long timeout = c.Int64(2, "ERR timeout is not an integer or out of range");
        if (!c.Failed && timeout < 0) c.Fail("ERR timeout is negative");
        if (c.Failed) return;
        if (replicas <= 0 || !c.CanBlock) c.Reply.Integer(0);
        else c.BlockFor(timeout, static reply => reply.Integer(0));
    }

    /// <summary>Waits until what this connection wrote (or saw) is on the disk of this server. There are no replicas.</summary>
    private static void WaitAof(ref CommandContext c)
    {
        long local = c.Int64(1, 0, 1, "ERR value is out of range, value must between 0 and 1");
        long replicas = c.Int64(2, 0, long.MaxValue, Errors.NotPositive);
        long timeout = c.Int64(3, "ERR timeout is not an integer or out of range");
        if (!c.Failed && timeout < 0) c.Fail("ERR timeout is negative");
        JournalKeeper? journal = c.Server.Journal;
        if (!c.Failed && local > 0 && journal is null) c.Fail("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
        if (c.Failed) return;
        long lsn = c.Session.SeenLsn;
        void Answer(ReplyWriter reply)
        {
            reply.ArrayHeader(2);
            reply.Integer(journal is not null && journal.DurableLsn >= lsn ? 1 : 0);
            reply.Integer(0);
        }

        if (replicas == 0 && (local == 0 || journal!.DurableLsn >= lsn) || !c.CanBlock)
        {
            Answer(c.Reply);
            return;
        }
        c.BlockFor(timeout, Answer);
        // With replicas wanted, of which there are none, only the time ends the wait.
        if (replicas == 0) journal!.WakeWhenDurable(lsn, c.Waiter!);
    }

    private static void Shutdown(ref CommandContext c)
    {
        var options = ShutdownOptions.Default;
        bool abort = false;
        for (int i = 1; i < c.Args.Count && !c.Failed; i++)
        {
            if (c.Is(i, "nosave"u8)) options |= ShutdownOptions.NoSave;
            else if (c.Is(i, "save"u8)) options |= ShutdownOptions.Save;
            else if (c.Is(i, "now"u8)) options |= ShutdownOptions.Now;
            else if (c.Is(i, "force"u8)) options |= ShutdownOptions.Force;
            else if (c.Is(i, "abort"u8)) abort = true;
            else c.FailSyntax();
        }
        bool contradicts = options.HasFlag(ShutdownOptions.NoSave | ShutdownOptions.Save) || abort && options != ShutdownOptions.Default;
        if (contradicts) c.FailSyntax();
        else if (abort && c.Server.Shutdown.CallOff()) c.Reply.Ok();
        else if (abort) c.Fail("ERR No shutdown in progress.");
        if (!abort && !options.HasFlag(ShutdownOptions.NoSave) && c.Server.Scripts.Progress.IsBusy) c.Fail(c.Server.Scripts.Progress.BusyError);
        if (c.Failed || abort) return;
        if (options.HasFlag(ShutdownOptions.NoSave)) c.Server.Scripts.Progress.Abandon();
        if (!c.Server.Shutdown.Begin(options, "User requested shutdown...")) c.Fail("ERR Errors trying to SHUTDOWN. Check logs.");
        else c.Session.CloseAfterReply = true;
    }

    private static void ReplicaOf(ref CommandContext c)
    {
        if (c.Is(1, "no"u8) && c.Is(2, "one"u8))
        {
            c.Reply.Ok();
            return;
        }
        c.Int64(2, 0, ushort.MaxValue, "ERR Invalid master port");
        c.Fail("ERR this server cannot be a replica");
    }

    private static void Failover(ref CommandContext c)
    {
        bool abort = c.Args.Count == 2 && c.Is(1, "abort"u8);
        for (int i = 1; i < c.Args.Count && !abort; i++)
        {
            int following = c.Args.Count - 1 - i;
            if (c.Is(i, "timeout"u8) && following >= 1)
            {
                if (c.Int64(++i) <= 0) c.Fail("ERR FAILOVER timeout must be greater than 0");
            }
            else if (c.Is(i, "to"u8) && following >= 2)
            {
                i += 2;
                c.Int64(i);
            }
            else if (!c.Is(i, "force"u8))
            {
                c.FailSyntax();
            }
        }
        c.Fail(abort ? "ERR No failover in progress." : "ERR FAILOVER requires connected replicas.");
    }

    private static void ModuleList(ref CommandContext c) => c.Reply.EmptyArray();

    private static void ModuleLoad(ref CommandContext c) => c.Fail("ERR Error loading the extension. Please check the server logs.");

    private static void ModuleUnload(ref CommandContext c) => c.Fail("ERR Error unloading module: no such module with that name");
}
