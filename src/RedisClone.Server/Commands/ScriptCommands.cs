using System.Text;
using RedisClone.Server.Scripting;
using static RedisClone.Server.Commands.CommandFlags;

namespace RedisClone.Server.Commands;

/// <summary>Lua scripts sent by clients.</summary>
internal static class ScriptCommands
{
    private const CommandFlags Running = NoScript | SkipMonitor | MayReplicate | NoMandatoryKeys | Stale | AllShards | Long;
    private const string Complexity = "Depends on the script that is executed.";

    public static readonly CommandRow[] Rows =
    [
        new("EVAL script numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, KeyFlags.RW | KeyFlags.Access | KeyFlags.Update), Running, "scripting", "2.6.0", Eval, "Runs a Lua script.") { Complexity = Complexity },
        new("EVALSHA sha1 numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, KeyFlags.RW | KeyFlags.Access | KeyFlags.Update), Running, "scripting", "2.6.0", EvalSha, "Runs a Lua script by its digest.") { Complexity = Complexity },
        new("EVAL_RO script numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, KeyFlags.RO | KeyFlags.Access), Running | ReadOnly, "scripting", "7.0.0", EvalReadOnly, "Runs a Lua script that only reads.") { Complexity = Complexity },
        new("EVALSHA_RO sha1 numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, KeyFlags.RO | KeyFlags.Access), Running | ReadOnly, "scripting", "7.0.0", EvalShaReadOnly, "Runs a Lua script that only reads by its digest.") { Complexity = Complexity },
        new("SCRIPT", -2, Keys.None, None, "scripting", "2.6.0", null, "Keeps scripts for EVALSHA.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("LOAD script", 3, Keys.None, NoScript | Stale | AllShards, "scripting", "2.6.0", Load, "Compiles a script and keeps it.") { Complexity = "O(N) with N being the length in bytes of the script body." },
                new("EXISTS sha1 [sha1 ...]", -3, Keys.None, NoScript | AllShards, "scripting", "2.6.0", Exists, "Tells which digests are known.") { Complexity = "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation)." },
                new("FLUSH [ASYNC | SYNC]", -2, Keys.None, NoScript | AllShards, "scripting", "2.6.0", Flush, "Forgets all scripts.") { Complexity = "O(N) with N being the number of scripts in cache" },
                new("KILL", 2, Keys.None, NoScript | AllowBusy, "scripting", "2.6.0", Kill, "Ends the running script if it has not written."),
                Help.Row("scripting", "5.0.0"),
            ],
        },
    ];

    private static void Eval(ref CommandContext c) => Eval(ref c, readOnly: false);

    private static void EvalReadOnly(ref CommandContext c) => Eval(ref c, readOnly: true);

    private static void EvalSha(ref CommandContext c) => EvalSha(ref c, readOnly: false);

    private static void EvalShaReadOnly(ref CommandContext c) => EvalSha(ref c, readOnly: true);

    private static void Eval(ref CommandContext c, bool readOnly)
    {
        if (!TryKeys(ref c, out int keys)) return;
        Script? script = c.Server.Scripts.Cache.Get(c.Args[1], pin: false, out string error);
        if (script is null) c.Fail(error);
        else c.Server.Scripts.Run(ref c, script, 3, keys, readOnly);
    }

    private static void EvalSha(ref CommandContext c, bool readOnly)
    {
        const string noScript = "NOSCRIPT No matching script. Please use EVAL.";
        if (c.Args[1].Length != 40)
        {
            c.Fail(noScript);
            return;
        }
        if (!TryKeys(ref c, out int keys)) return;
        Script? script = c.Server.Scripts.Cache.Find(Encoding.Latin1.GetString(c.Args[1]));
        if (script is null) c.Fail(noScript);
        else c.Server.Scripts.Run(ref c, script, 3, keys, readOnly);
    }

    private static bool TryKeys(ref CommandContext c, out int keys)
    {
        long count = c.Int64(2);
        keys = (int)Math.Clamp(count, 0, int.MaxValue);
        if (c.Failed) return false;
        if (count > c.Args.Count - 3) return c.Fail("ERR Number of keys can't be greater than number of args");
        return count >= 0 || c.Fail("ERR Number of keys can't be negative");
    }

    private static void Load(ref CommandContext c)
    {
        Script? script = c.Server.Scripts.Cache.Get(c.Args[2], pin: true, out string error);
        if (script is null) c.Fail(error);
        else c.Reply.BulkString(script.Digest);
    }

    private static void Exists(ref CommandContext c)
    {
        c.Reply.ArrayHeader(c.Args.Count - 2);
        for (int i = 2; i < c.Args.Count; i++) c.Reply.Integer(c.Server.Scripts.Cache.Find(Encoding.Latin1.GetString(c.Args[i])) is null ? 0 : 1);
    }

    private static void Flush(ref CommandContext c)
    {
        if (c.Args.Count > 3 || c.Args.Count == 3 && !c.Is(2, "ASYNC"u8) && !c.Is(2, "SYNC"u8))
        {
            c.Fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
            return;
        }
        c.Server.Scripts.Cache.Clear();
        c.Reply.Ok();
    }

    private static void Kill(ref CommandContext c)
    {
        ScriptEngine scripts = c.Server.Scripts;
        if (!scripts.IsRunning)
        {
            c.Fail("NOTBUSY No scripts in execution right now.");
        }
        else if (scripts.HasWritten)
        {
            c.Fail("UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.");
        }
        else
        {
            scripts.Kill();
            c.Reply.Ok();
        }
    }
}
