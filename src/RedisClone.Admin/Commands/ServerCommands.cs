using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Shards;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>Commands about the server as a whole.</summary>
internal static class ServerCommands
{
    private const string NoModules = "there are no modules";

    public static readonly CommandRow[] Rows =
    [
        new("TIME",
            1, Keys.None, Loading | Stale | Fast, "server", "2.6.0", Time,
            "Returns the server's time in seconds and microseconds.") { Tips = CommandTips.Nondeterministic },
        new("LOLWUT [VERSION version [arg [arg ...]]]",
            -1, Keys.None, ReadOnly | Fast, "server", "5.0.0", Lolwut, "Draws a picture and shows the version.") { Complexity = "O(1)" },
        new("SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
            -1, Keys.None, CommandFlags.Admin | NoScript | Loading | Stale | NoMulti | AllowBusy, "server", "1.0.0", Shutdown, "Ends the server.")
        {
            Complexity = "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise " +
                "O(1)",
        },
        new("MODULE", -2, Keys.None, None, "server", "4.0.0", null, "Commands about modules, which this server does not support.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("LIST", 2, Keys.None, CommandFlags.Admin | NoScript, "server", "4.0.0", ModuleList, "Lists the modules.")
                    { Complexity = "O(N) where N is the number of loaded modules.", Tips = CommandTips.NondeterministicOrder },
                new("LOAD path [arg [arg ...]]",
                    -3, Keys.None, NoAsyncLoading | CommandFlags.Admin | NoScript, "server", "4.0.0", ModuleLoad,
                    "Loads a module.") { Lacks = NoModules },
                new("LOADEX path [CONFIG name value [CONFIG name value ...]] [ARGS args [args ...]]",
                    -3, Keys.None, NoAsyncLoading | CommandFlags.Admin | NoScript, "server", "7.0.0", ModuleLoad,
                    "Loads a module with its configuration.") { Lacks = NoModules },
                new("UNLOAD name",
                    3, Keys.None, NoAsyncLoading | CommandFlags.Admin | NoScript, "server", "4.0.0", ModuleUnload,
                    "Unloads a module.") { Lacks = NoModules },
                Help.Row("server", "5.0.0"),
            ],
        },
    ];

    private static void Time(ref CommandContext c)
    {
        long microseconds = c.Session.Interpreter?.TimeMicroseconds ?? ServerCore.UnixMicroseconds();
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
        c.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(
            Drawing.Draw(version) + $"\nRedis ver. {ServerVersion.Redis}, drawn by RedisClone {ServerVersion.Own}\n"));
    }

    private static void Shutdown(ref CommandContext c)
    {
        ShutdownOptions options = ShutdownOptions.Default;
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
        else if (abort && c.Server.Shutdown.Abort()) c.Reply.Ok();
        else if (abort) c.Fail("ERR No shutdown in progress.");
        if (!abort && !options.HasFlag(ShutdownOptions.NoSave) && c.Server.Scripts.Runs.BusyError is { } busy) c.Fail(busy);
        if (c.Failed || abort) return;
        Shutdown shutdown = c.Server.Shutdown;
        c.BlockFor(0, static reply => reply.Error("ERR Errors trying to SHUTDOWN. Check logs."),
            waiter => _ = AwaitAsync(shutdown.Begin(options, "User requested shutdown..."), waiter));
    }

    /// <summary>Answers the client with an error if the server continues. Else the shutdown disconnects it.</summary>
    private static async Task AwaitAsync(Task<bool> shutdown, Waiter waiter)
    {
        if (!await shutdown.ConfigureAwait(false)) waiter.Wake(WakeReason.Unblocked);
    }

    private static void ModuleList(ref CommandContext c) => c.Reply.EmptyArray();

    private static void ModuleLoad(ref CommandContext c)
    {
        c.Server.Log.LogWarning("Module {Module} failed to load: this server takes no modules", c.Text(2));
        c.Fail("ERR Error loading the extension. Please check the server logs.");
    }

    private static void ModuleUnload(ref CommandContext c) => c.Fail("ERR Error unloading module: no such module with that name");
}
