using System.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Scripting;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Rdb;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Scripting;

/// <summary>Commands that manage function libraries, which are stored with the data, and call their functions.</summary>
internal static class FunctionCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("FCALL function numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, RW | Access | Update), ScriptCommands.Running | MayReplicate, "scripting", "7.0.0", Call,
            "Runs a function.")
            { Complexity = "Depends on the function that is executed.", FlagsOf = FlagsOfCall, Route = ShardsOfCall },
        new("FCALL_RO function numkeys [key [key ...]] [arg [arg ...]]",
            -3, Keys.Counted(2, RO | Access), ScriptCommands.Running | ReadOnly, "scripting", "7.0.0", CallReadOnly,
            "Runs a function that only reads.")
            { Complexity = "Depends on the function that is executed.", FlagsOf = FlagsOfCall, Route = ShardsOfCall },
        new("FUNCTION", -2, Keys.None, CommandFlags.None, "scripting", "7.0.0", null, "Commands about libraries of functions.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("LOAD [REPLACE] function-code",
                    -3, Keys.None, NoScript | Write | DenyOom | AllShards | Long, "scripting", "7.0.0", Load,
                    "Creates a library from its source code.")
                    { Image = Image, Complexity = "O(1) (considering compilation time is redundant)", Tips = CommandTips.AllShards },
                new("DELETE library-name",
                    3, Keys.None, NoScript | Write | AllShards, "scripting", "7.0.0", Delete,
                    "Removes a library and its functions.")
                    { Image = Image, Tips = CommandTips.AllShards },
                new("FLUSH [ASYNC | SYNC]",
                    -2, Keys.None, NoScript | Write | AllShards, "scripting", "7.0.0", Flush, "Removes all libraries.")
                    { Image = Image, Complexity = "O(N) where N is the number of functions deleted", Tips = CommandTips.AllShards },
                new("LIST [LIBRARYNAME library-name-pattern] [WITHCODE]",
                    -2, Keys.None, NoScript | AllShards, "scripting", "7.0.0", List, "Lists libraries and their functions.")
                    { Complexity = "O(N) where N is the number of functions", Tips = CommandTips.NondeterministicOrder },
                new("STATS",
                    2, Keys.None, NoScript | AllowBusy, "scripting", "7.0.0", Stats,
                    "Returns the running function, and counts libraries and functions.")
                    { Tips = CommandTips.EachShard },
                new("KILL",
                    2, Keys.None, NoScript | AllowBusy, "scripting", "7.0.0", Kill,
                    "Stops the running function if it has not written.") { Tips = CommandTips.AllShardsOne },
                new("DUMP",
                    2, Keys.None, NoScript | AllShards, "scripting", "7.0.0", Dump,
                    "Returns all libraries in Redis's serialization format.")
                    { Complexity = "O(N) where N is the number of functions" },
                new("RESTORE serialized-value [FLUSH | APPEND | REPLACE]",
                    -3, Keys.None, NoScript | Write | DenyOom | AllShards | Long, "scripting", "7.0.0", Restore,
                    "Creates libraries from what FUNCTION DUMP returned.")
                    { Image = Image, Complexity = "O(N) where N is the number of functions on the payload", Tips = CommandTips.AllShards },
                Help.Row("scripting", "7.0.0"),
            ],
        },
    ];

    private static CommandFlags FlagsOfCall(CommandRow row, in Request request, Session session) =>
        session.Server.Scripts.Libraries.Find(request[1]) is { } function ? ScriptCommands.FlagsOf(row.Flags, function.Flags) : row.Flags;

    private static ShardSet ShardsOfCall(in Request request, Session session) =>
        ScriptCommands.ShardsOf(session.Server.Scripts.Libraries.Find(request[1]), request, session);

    private static void Call(ref CommandContext c) => Call(ref c, readOnly: false);

    private static void CallReadOnly(ref CommandContext c) => Call(ref c, readOnly: true);

    private static void Call(ref CommandContext c, bool readOnly)
    {
        if (c.Scripts.Libraries.Find(c.Args[1]) is not { } function) c.Fail("ERR Function not found");
        else if (ScriptCommands.TryKeys(ref c, out int keys, "ERR Bad number of keys provided")) c.Scripts.Run(ref c, function, keys, readOnly);
    }

    private static void Load(ref CommandContext c)
    {
        bool replace = false;
        for (int i = 2; i < c.Args.Count - 1; i++)
        {
            if (c.Is(i, "replace"u8)) replace = true;
            else c.Fail($"ERR Unknown option given: {c.Echo(i)}");
        }
        if (!c.Failed) FailWithoutRoom(ref c);
        if (c.Failed) return;
        LibrarySet libraries = c.Scripts.Libraries;
        ReadOnlySpan<byte> source = c.Args[c.Args.Count - 1];
        // A library in the journal or at the primary was loaded before, so a replay has more patience with it.
        FunctionLibrary? library = c.Scripts.Load(source, patient: c.Session.IsReplay, libraries, replace, out string error);
        if (library is null) c.Fail(error);
        else if (Add(ref c, [library], replace) is { } refusal) c.Fail(refusal);
        if (c.Failed) return;
        c.Changed();
        c.Reply.BulkString(library!.Name);
    }

    /// <summary>Adds libraries. If that fails after a change, the present libraries become the effect. Returns null, or the problem.</summary>
    private static string? Add(ref CommandContext c, IReadOnlyCollection<FunctionLibrary> added, bool replace)
    {
        LibrarySet libraries = c.Scripts.Libraries;
        long version = libraries.Version;
        try
        {
            return libraries.Add(added, replace);
        }
        catch
        {
            if (libraries.Version != version) c.Changed();
            throw;
        }
    }

    /// <summary>Refuses further libraries, except during a replay.</summary>
    private static void FailWithoutRoom(ref CommandContext c)
    {
        if (!c.Session.IsReplay && c.Scripts.LacksRoom()) c.Fail(Errors.AllocationFailed);
    }

    private static void Delete(ref CommandContext c)
    {
        LibrarySet libraries = c.Scripts.Libraries;
        if (libraries.FindLibrary(Encoding.Latin1.GetString(c.Args[2])) is not { } library)
        {
            c.Fail("ERR Library not found");
            return;
        }
        // If the removal fails halfway, the present libraries become the effect.
        c.Changed();
        libraries.Remove(library);
        c.Reply.Ok();
    }

    private static void Flush(ref CommandContext c)
    {
        if (!c.HasAtMost(3)) return;
        if (c.Args.Count == 3 && !c.Is(2, "sync"u8) && !c.Is(2, "async"u8)) c.Fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
        if (c.Failed) return;
        c.Changed();
        if (c.Args.Count == 3 && c.Is(2, "async"u8)) c.Scripts.Libraries.ClearLater();
        else c.Scripts.Libraries.Clear();
        c.Reply.Ok();
    }

    /// <summary>Writes effects that replace all libraries by the present ones.</summary>
    private static void Image(ServerCore server, Lane lane)
    {
        if (!server.Effects.Wanted) return;
        lane.Effects.Begin(database: 0, arguments: 2);
        lane.Effects.Add("FUNCTION"u8);
        lane.Effects.Add("FLUSH"u8);
        foreach (FunctionLibrary library in server.Scripts.Libraries.All)
        {
            lane.Effects.Begin(database: 0, arguments: 3);
            lane.Effects.Add("FUNCTION"u8);
            lane.Effects.Add("LOAD"u8);
            lane.Effects.Add(library.Source);
        }
    }

    private static void Kill(ref CommandContext c)
    {
        if (c.Scripts.Runs.Kill(script: false) is { } refusal) c.Fail(refusal);
        else c.Reply.Ok();
    }

    // ---- LIST and STATS

    private static void List(ref CommandContext c)
    {
        bool withCode = false;
        int pattern = 0;
        for (int i = 2; i < c.Args.Count && !c.Failed; i++)
        {
            if (!withCode && c.Is(i, "withcode"u8)) withCode = true;
            else if (pattern > 0 || !c.Is(i, "libraryname"u8)) c.Fail($"ERR Unknown argument {c.Echo(i)}");
            else if (i + 1 == c.Args.Count) c.Fail("ERR library name argument was not given");
            else pattern = ++i;
        }
        if (c.Failed) return;
        var matching = new List<FunctionLibrary>();
        foreach (FunctionLibrary library in c.Scripts.Libraries.All)
            if (pattern == 0 || Glob.Matches(c.Args[pattern], Encoding.Latin1.GetBytes(library.Name), ignoreCase: true)) matching.Add(library);
        c.Reply.ArrayHeader(matching.Count);
        foreach (FunctionLibrary library in matching) WriteLibrary(c.Reply, library, withCode);
    }

    private static void WriteLibrary(ReplyWriter reply, FunctionLibrary library, bool withCode)
    {
        reply.MapHeader(withCode ? 4 : 3);
        reply.Bulk("library_name"u8);
        reply.BulkString(library.Name);
        reply.Bulk("engine"u8);
        reply.Bulk("LUA"u8);
        reply.Bulk("functions"u8);
        reply.ArrayHeader(library.Functions.Count);
        foreach (LibraryFunction function in library.Functions) WriteFunction(reply, function);
        if (!withCode) return;
        reply.Bulk("library_code"u8);
        reply.Bulk(library.Source);
    }

    private static void WriteFunction(ReplyWriter reply, LibraryFunction function)
    {
        reply.MapHeader(3);
        reply.Bulk("name"u8);
        reply.BulkString(function.Name);
        reply.Bulk("description"u8);
        if (function.Description is { } description) reply.Bulk(Encoding.Latin1.GetBytes(description));
        else reply.Null();
        reply.Bulk("flags"u8);
        (string Name, ScriptFlags Flag)[] flags = [.. ScriptFlagNames.All.Where(f => (function.Flags & f.Flag) != 0)];
        reply.SetHeader(flags.Length);
        foreach ((string name, _) in flags) reply.SimpleString(Encoding.ASCII.GetBytes(name));
    }

    private static void Stats(ref CommandContext c)
    {
        ScriptEngine scripts = c.Scripts;
        LongRun? longest = scripts.Runs.Longest(static run => run.IsFunction);
        if (longest is null && scripts.Runs.Longest(static run => run.HoldsAll || run.IsBusy) is { } script)
        {
            c.Fail(script.BusyError);
            return;
        }
        c.Reply.MapHeader(2);
        c.Reply.Bulk("running_script"u8);
        if (longest is not null) WriteRun(c.Reply, longest);
        else c.Reply.Null();
        c.Reply.Bulk("engines"u8);
        c.Reply.MapHeader(1);
        c.Reply.Bulk("LUA"u8);
        c.Reply.MapHeader(2);
        c.Reply.Bulk("libraries_count"u8);
        c.Reply.Integer(scripts.Libraries.All.Count);
        c.Reply.Bulk("functions_count"u8);
        c.Reply.Integer(scripts.Libraries.FunctionCount);
    }

    private static void WriteRun(ReplyWriter reply, LongRun run)
    {
        reply.MapHeader(3);
        reply.Bulk("name"u8);
        reply.BulkString(run.Name);
        reply.Bulk("command"u8);
        reply.ArrayHeader(run.Command.Length);
        foreach (byte[] argument in run.Command) reply.Bulk(argument);
        reply.Bulk("duration_ms"u8);
        reply.Integer(run.Milliseconds);
    }

    // ---- DUMP and RESTORE

    private static void Dump(ref CommandContext c)
    {
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target);
        foreach (FunctionLibrary library in c.Scripts.Libraries.All) writer.Function(library.Source);
        DumpPayload.Finish(writer, ValueWriter.VersionFor(fieldsExpire: false));
        c.Reply.Bulk(target.Bytes);
    }

    private static void Restore(ref CommandContext c)
    {
        if (!c.HasAtMost(4)) return;
        bool flush = c.Args.Count == 4 && c.Is(3, "flush"u8);
        bool replace = c.Args.Count == 4 && c.Is(3, "replace"u8);
        if (c.Args.Count == 4 && !flush && !replace && !c.Is(3, "append"u8)) c.Fail("ERR Wrong restore policy given, value " +
            "should be either FLUSH, APPEND or REPLACE.");
        if (!c.Failed && !DumpPayload.IsValid(c.Args[2])) c.Fail("ERR DUMP payload version or checksum are wrong");
        if (!c.Failed && !flush) FailWithoutRoom(ref c);
        if (c.Failed) return;
        var restored = new LibrarySet(c.Scripts.State, static () => { });
        bool isAdded = false;
        try
        {
            if (ReadPayload(c.Scripts, c.Args[2].ToArray(), patient: c.Session.IsReplay, restored) is { } problem)
            {
                c.Fail(problem);
                return;
            }
            if (flush)
            {
                c.Changed();
                c.Scripts.Libraries.Clear();
            }
            if (Add(ref c, restored.All, replace) is { } refusal)
            {
                c.Fail(refusal);
                return;
            }
            isAdded = true;
        }
        finally
        {
            // The interpreter would keep the functions otherwise.
            if (!isAdded) restored.Clear();
        }
        if (!flush) c.Changed();
        c.Reply.Ok();
    }

    /// <summary>Loads the libraries of a valid payload. It returns an error if one of them cannot be loaded.</summary>
    private static string? ReadPayload(ScriptEngine scripts, ReadOnlyMemory<byte> payload, bool patient, LibrarySet into)
    {
        foreach (byte[]? source in DumpPayload.ReadFunctions(payload))
        {
            if (source is null) return "ERR failed loading the given functions payload";
            FunctionLibrary? library = scripts.Load(source, patient, into, replace: false, out string error);
            if ((library is null ? error : into.Add([library], replace: false)) is { } problem) return problem;
        }
        return null;
    }
}
