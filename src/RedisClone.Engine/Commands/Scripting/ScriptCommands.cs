using RedisClone.Engine.Clients;
using RedisClone.Engine.Scripting;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Scripting;

/// <summary>The commands that run and manage Lua scripts.</summary>
internal static class ScriptCommands
{
    public const string Complexity = "Depends on the script that is executed.";

    /// <summary>The flags of a command that runs scripts, before the script is known.</summary>
    public const CommandFlags Running = NoScript | SkipMonitor | NoMandatoryKeys | Stale | RunsScript;

    private const string TooManyKeys = "ERR Number of keys can't be greater than number of args";
    private const string NegativeKeys = "ERR Number of keys can't be negative";
    private const string NotKnown = "NOSCRIPT No matching script. Please use EVAL.";

    public static readonly CommandRow[] Rows =
    [
        new("EVAL script numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, RW | Access | Update), Running | MayReplicate, "scripting", "2.6.0", Eval, "Runs a Lua script.")
            { Complexity = Complexity, FlagsOf = FlagsOfEval, Route = ShardsOfEval },
        new("EVALSHA sha1 numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, RW | Access | Update), Running | MayReplicate, "scripting", "2.6.0", EvalSha,
            "Runs a Lua script by its digest.")
            { Complexity = Complexity, FlagsOf = FlagsOfEvalSha, Route = ShardsOfEvalSha },
        new("EVAL_RO script numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, RO | Access), Running | ReadOnly, "scripting", "7.0.0", EvalReadOnly,
            "Runs a Lua script that only reads.")
            { Complexity = Complexity, FlagsOf = FlagsOfEval, Route = ShardsOfEval },
        new("EVALSHA_RO sha1 numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, RO | Access), Running | ReadOnly, "scripting", "7.0.0", EvalShaReadOnly,
            "Runs a Lua script that only reads by its digest.")
            { Complexity = Complexity, FlagsOf = FlagsOfEvalSha, Route = ShardsOfEvalSha },
        new("SCRIPT", -2, Keys.None, CommandFlags.None, "scripting", "2.6.0", null, "Commands about the script cache.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("LOAD script",
                    3, Keys.None, NoScript | Stale | AllShards, "scripting", "2.6.0", Load, "Compiles a script and keeps it.")
                    { Complexity = "O(N) with N being the length in bytes of the script body.", Tips = CommandTips.AllNodes },
                new("EXISTS sha1 [sha1 ...]",
                    -3, Keys.None, NoScript, "scripting", "2.6.0", Exists, "Returns which digests are in the script cache.")
                    { Complexity = "O(N) with N being the number of scripts to check (so checking a single script is an O(1) " +
                        "operation).", Tips = CommandTips.AllShardsAnd },
                new("FLUSH [ASYNC | SYNC]",
                    -2, Keys.None, NoScript | AllShards, "scripting", "2.6.0", Flush,
                    "Removes all scripts from the script cache.")
                    { Complexity = "O(N) with N being the number of scripts in cache", Tips = CommandTips.AllNodes },
                new("KILL",
                    2, Keys.None, NoScript | AllowBusy, "scripting", "2.6.0", Kill,
                    "Stops the running script if it has not written.") { Tips = CommandTips.AllShardsOne },
                new("SHOW sha1", 3, Keys.None, NoScript, "scripting", "8.0.0", Show, "Returns the source code of a script."),
                new("DEBUG <YES | SYNC | NO>",
                    3, Keys.None, NoScript, "scripting", "3.2.0", Debug, "Turns the debugger of scripts on or off.")
                    { Lacks = "there is no debugger" },
                Help.Row("scripting", "5.0.0"),
            ],
        },
    ];

    /// <summary>
    /// The flags of a command that runs a script. Flags that the script declares replace the general ones. A script without declared flags
    /// may not run on stale data.
    /// </summary>
    public static CommandFlags FlagsOf(CommandFlags command, ScriptFlags script)
    {
        if ((script & ScriptFlags.Compatible) != 0) return command & ~Stale;
        command &= ~(Stale | MayReplicate);
        if ((script & (ScriptFlags.AllowOom | ScriptFlags.NoWrites)) == 0) command |= DenyOom;
        if ((script & ScriptFlags.NoWrites) == 0) command |= Write;
        if ((script & ScriptFlags.AllowStale) != 0) command |= Stale;
        return command;
    }

    /// <summary>Reads the number of keys.</summary>
    public static bool TryKeys(ref CommandContext c, out int keys, string notNumber = Errors.NotInteger)
    {
        long count = c.Int64(2, notNumber);
        keys = (int)Math.Clamp(count, 0, int.MaxValue);
        if (c.Failed) return false;
        if (count > c.Args.Count - 3) return c.Fail(TooManyKeys);
        return count >= 0 || c.Fail(NegativeKeys);
    }

    private static CommandFlags FlagsOfEval(CommandRow row, in Request request, Session session)
    {
        if (session.Server.Scripts.Cache.TryGet(request[1], out Script? script)) return FlagsOf(row.Flags, script.Flags);
        return Shebang.TryParse(request[1], out ScriptFlags flags, out _, out _) ? FlagsOf(row.Flags, flags) : row.Flags;
    }

    private static CommandFlags FlagsOfEvalSha(CommandRow row, in Request request, Session session) =>
        session.Server.Scripts.Cache.Find(request[1]) is { } script ? FlagsOf(row.Flags, script.Flags) : row.Flags;

    private static ShardSet ShardsOfEval(in Request request, Session session) =>
        ShardsOf(session.Server.Scripts.Cache.TryGet(request[1], out Script? script) ? script : null, request, session);

    private static ShardSet ShardsOfEvalSha(in Request request, Session session) =>
        ShardsOf(session.Server.Scripts.Cache.Find(request[1]), request, session);

    /// <summary>
    /// The shards of the keys of a script or function that keeps to them; all shards for any other, and for one that declares
    /// no key.
    /// </summary>
    public static ShardSet ShardsOf(Routine? routine, in Request request, Session session)
    {
        ShardMap shards = session.Server.Shards;
        if (routine is not { KeepsToKeys: true }) return shards.All;
        if (!RedisNumber.TryParseInt64(request[2], out long keys) || keys < 1 || keys > request.Count - 3) return shards.All;
        var set = default(ShardSet);
        for (int i = 3; i < 3 + keys; i++) set.Add(shards.IndexOf(shards.HashOf(request[i])));
        return set;
    }

    private static void Eval(ref CommandContext c) => Eval(ref c, readOnly: false);

    private static void EvalReadOnly(ref CommandContext c) => Eval(ref c, readOnly: true);

    private static void EvalSha(ref CommandContext c) => EvalSha(ref c, readOnly: false);

    private static void EvalShaReadOnly(ref CommandContext c) => EvalSha(ref c, readOnly: true);

    private static void Eval(ref CommandContext c, bool readOnly)
    {
        if (!TryKeys(ref c, out int keys)) return;
        ScriptEngine scripts = c.Scripts;
        if (!scripts.Cache.TryGet(c.Args[1], out Script? script))
        {
            // The cache changes only while all shards are held.
            if (c.NeedsAllShards()) return;
            // The compilation of a long source takes long.
            if (c.MoveToWorker(c.Args[1].Length / Limits.BytesPerWork)) return;
            script = scripts.Cache.Add(c.Args[1], keep: false, out string error);
            if (script is null)
            {
                c.Fail(error);
                return;
            }
        }
        ScriptCache.Use(script);
        scripts.Run(ref c, script, keys, readOnly);
    }

    private static void EvalSha(ref CommandContext c, bool readOnly)
    {
        if (c.Args[1].Length != 2 * System.Security.Cryptography.SHA1.HashSizeInBytes)
        {
            c.Fail(NotKnown);
            return;
        }
        if (!TryKeys(ref c, out int keys)) return;
        ScriptEngine scripts = c.Scripts;
        if (scripts.Cache.Find(c.Args[1]) is not { } script)
        {
            c.Fail(NotKnown);
            return;
        }
        ScriptCache.Use(script);
        scripts.Run(ref c, script, keys, readOnly);
    }

    private static void Load(ref CommandContext c)
    {
        if (c.MoveToWorker(c.Args[2].Length / Limits.BytesPerWork)) return;
        Script? script = c.Scripts.Cache.Add(c.Args[2], keep: true, out string error);
        if (script is null) c.Fail(error);
        else c.Reply.BulkString(script.Name);
    }

    private static void Exists(ref CommandContext c)
    {
        c.Reply.ArrayHeader(c.Args.Count - 2);
        for (int i = 2; i < c.Args.Count; i++) c.Reply.Integer(c.Scripts.Cache.Find(c.Args[i]) is null ? 0 : 1);
    }

    private static void Flush(ref CommandContext c)
    {
        if (c.Args.Count > 3 || c.Args.Count == 3 && !c.Is(2, "ASYNC"u8) && !c.Is(2, "SYNC"u8))
        {
            c.Fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
            return;
        }
        c.Scripts.Cache.Clear();
        c.Reply.Ok();
    }

    private static void Show(ref CommandContext c)
    {
        if (c.Scripts.Cache.Find(c.Args[2]) is { } script) c.Reply.Bulk(script.Source);
        else c.Fail("NOSCRIPT No matching script.");
    }

    private static void Debug(ref CommandContext c)
    {
        if (c.Is(2, "no"u8)) c.Reply.Ok();
        else if (c.Is(2, "yes"u8) || c.Is(2, "sync"u8)) c.Fail("ERR this server has no script debugger");
        else c.Fail("ERR Use SCRIPT DEBUG YES/SYNC/NO");
    }

    private static void Kill(ref CommandContext c)
    {
        if (c.Scripts.Runs.Kill(script: true) is { } refusal) c.Fail(refusal);
        else c.Reply.Ok();
    }
}
