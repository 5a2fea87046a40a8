using System.Diagnostics;
using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Execution;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;
using RedisClone.Protocol;

namespace RedisClone.Engine.Scripting;

/// <summary>redis.call and redis.pcall: run a command for the running script after Redis's checks, in Redis's order.</summary>
internal sealed class ScriptCalls(Interpreter interpreter)
{
    /// <summary>A longer request is not kept for the next call.</summary>
    private const int KeptRequest = 64 << 10;

    /// <summary>
    /// The work that a tick of the time of a command counts as. Otherwise a loop over a long command with a short reply would hardly ever
    /// look at the clock.
    /// </summary>
    private const int BytesPerTick = 800;

    private readonly OwnedRequest _request = new();
    private long _reserved;

    /// <summary>The least limit for a reply. A reply within it fails only when it is converted to Lua values.</summary>
    private const int LeastReply = 64 << 10;

    /// <summary>The request that was read last.</summary>
    public Request Request => _request.AsRequest();

    public int Call(ref LuaCall call) => Command(ref call, raise: true);

    public int ProtectedCall(ref LuaCall call) => Command(ref call, raise: false);

    /// <summary>Raises an error of Redis as a table, as scripts expect it.</summary>
    public int Raise(ref LuaCall call, string error) =>
        NewError(ref call, Encoding.Latin1.GetBytes(error)) is { } table ? call.Raise(table) : call.Error("not enough memory");

    /// <summary>Returns an error of Redis as a table instead of raising it.</summary>
    public int ReturnError(ref LuaCall call, scoped ReadOnlySpan<byte> error) =>
        NewError(ref call, error) is { } table ? call.Return(table) : call.Error("not enough memory");

    /// <summary>Makes a request of the arguments of a call. Returns false, with the error, if they are invalid.</summary>
    public bool TryRead(ref LuaCall call, out string problem)
    {
        problem = call.Count > 0 ? "" : "ERR Please specify at least one argument for this redis lib call";
        _request.Reset();
        if (!TryReserve(ref call)) problem = "ERR Lua redis lib command arguments are too long";
        if (problem.Length > 0) return false;
        Span<byte> digits = stackalloc byte[RedisNumber.MaxDoubleLength];
        for (int i = 1; i <= call.Count; i++)
        {
            ref readonly LuaValue argument = ref call[i];
            if (argument.AsString is { } text) Append(text.Span, ref problem);
            else if (argument.IsNumber) Append(digits[..Format(argument.AsNumber, digits)], ref problem);
            else problem = "ERR Lua redis lib command arguments must be strings or integers";
        }
        return problem.Length == 0;
    }

    /// <summary>Discards the request and returns the memory of a long one.</summary>
    public void Forget()
    {
        if (_request.HeldBytes > KeptRequest) _request.Dispose();
        if (_reserved > 0) interpreter.State.Release(_reserved);
        _reserved = 0;
    }

    /// <summary>Reserves the memory for the arguments in advance, so that growing buffers are not copied.</summary>
    private bool TryReserve(ref LuaCall call)
    {
        long length = 0;
        for (int i = 1; i <= call.Count; i++) length += call[i].AsString?.Length ?? 0;
        call.State.CountWork(length);
        if (length <= KeptRequest) return true;
        if (length > RequestLimits.MaxRequestBytes || !interpreter.State.TryReserve(length)) return false;
        _reserved += length;
        _request.MakeRoom((int)length + RedisNumber.MaxDoubleLength * call.Count);
        return true;
    }

    private void Append(scoped ReadOnlySpan<byte> argument, ref string problem)
    {
        if (_request.HasRoomFor(argument.Length)) _request.Append(argument);
        else problem = "ERR Lua redis lib command arguments are too long";
    }

    /// <summary>The row of the last request; null for an unknown command.</summary>
    public CommandRow? Resolve()
    {
        CommandRow? row = interpreter.Server.Commands.Resolve(Request);
        return row is { Subcommands.Length: > 0 } && _request.Count > 1 ? null : row;
    }

    private LuaTable? NewError(ref LuaCall call, scoped ReadOnlySpan<byte> error)
    {
        LuaTable? table = call.State.TryNewTable(0, 1);
        return table is not null && call.State.TryNewString(error) is { } text && call.State.TrySet(table, interpreter.Fields.Err, text) ? table : null;
    }

    /// <summary>Formats whole numbers without an exponent, because commands that take integers reject one.</summary>
    private static int Format(double number, Span<byte> digits) =>
        Math.Abs(number) <= long.MaxValue / 2 && number == Math.Truncate(number)
            ? RedisNumber.WriteInt64((long)number, digits)
            : RedisNumber.FormatDouble(number, digits);

    private int Command(ref LuaCall call, bool raise)
    {
        try
        {
            return RunCommand(ref call, raise);
        }
        finally
        {
            Forget();
            interpreter.Output.Clear();
        }
    }

    private int RunCommand(ref LuaCall call, bool raise)
    {
        if (!TryRead(ref call, out string problem))
            return raise ? Raise(ref call, problem) : ReturnError(ref call, Encoding.Latin1.GetBytes(problem));
        CommandRow? row = Resolve();
        if ((Refuse(row) ?? RefuseOutside(row!)) is { } refusal) return Refused(ref call, row, refusal, raise);
        if (row!.IsWrite && !interpreter.Progress.TryWrite()) return call.Error(ScriptProgress.Killed);
        long began = interpreter.Clock;
        bool fits = TryRun(row);
        call.State.CountWork(Stopwatch.GetElapsedTime(began, interpreter.Clock).Ticks * BytesPerTick);
        if (!fits) return call.Error("not enough memory");
        ReadOnlySpan<byte> reply = interpreter.Output.Written;
        call.State.CountWork(reply.Length);
        if (interpreter.ToLua.Convert(reply) is not { } value) return call.Error("not enough memory");
        return raise && reply[0] == '-' ? call.Raise(value) : call.Return(value);
    }

    private string? Refuse(CommandRow? row)
    {
        if (row is null) return "ERR Unknown Redis command called from script";
        if (!row.ArityFits(_request.Count)) return "ERR Wrong number of args calling Redis command from script";
        if (row.Has(CommandFlags.NoScript) && !interpreter.Server.Debug.ScriptsMayCallAll) return "ERR This Redis command is not allowed from script";
        if (!interpreter.Permissions.IsUnrestricted &&
            interpreter.Server.Access.RefuseInScript(interpreter.Caller, interpreter.Permissions, row, Request) is { } denial)
        {
            return denial;
        }
        if (interpreter.Slots is { } slots &&
            interpreter.Server.Cluster!.Redirection.RefuseInScript(
                interpreter.Caller, row, Request, interpreter.MayCrossSlots, interpreter.Now, slots) is { } elsewhere)
        {
            return elsewhere;
        }
        if (interpreter.IsReadOnly && row.Has(CommandFlags.Write | CommandFlags.MayReplicate))
            return "ERR Write commands are not allowed from read-only scripts.";
        if (interpreter.Server.Role.RefusesStaleData && !row.Has(CommandFlags.Stale)) return "ERR Can not execute the command on a stale replica";
        // Once a script has written, these conditions must not end it halfway.
        if (interpreter.HasWritten) return null;
        // What a primary sends is applied, or the whole stream is refused.
        bool mayBeRefused = row.IsWrite && !interpreter.Caller.IsPrimary;
        if (mayBeRefused && interpreter.Server.Role.IsReadOnly) return Errors.ReadOnlyReplica;
        if (mayBeRefused && interpreter.Server.DiskRefusal is { } unsafeToWrite) return unsafeToWrite;
        if (row.IsWrite && Admission.LacksReplicas(interpreter.Server)) return Errors.NoReplicas;
        return interpreter.IsOutOfMemory && row.Has(CommandFlags.DenyOom) ? Errors.OutOfMemory : null;
    }

    /// <summary>Refuses a command that needs a shard which the script does not hold. This is a defect of the proof about the script.</summary>
    private string? RefuseOutside(CommandRow row)
    {
        if (interpreter.HoldsAll) return null;
        ulong hash = row.HashOfFirstKey(Request, interpreter.Server.Shards);
        ServerCore server = interpreter.Server;
        bool isHeld = row is { HasSingleKey: true, NamesKeys: true }
            ? interpreter.Held.Contains(server.Shards.IndexOf(hash))
            : interpreter.Held.ContainsAll(Router.ShardsOf(server, interpreter.Session, row, Request));
        if (isHeld) return null;
        server.Failures.ProofFailed(interpreter.Progress.Name, row, interpreter.Lane);
        return Errors.Internal;
    }

    private int Refused(ref LuaCall call, CommandRow? row, string refusal, bool raise)
    {
        byte[] text = Encoding.Latin1.GetBytes(refusal);
        interpreter.Lane.CountError(text.AsSpan(0, text.AsSpan().IndexOf((byte)' ')));
        if (row is not null) interpreter.Lane.Calls[row.Id].Rejected++;
        if (interpreter.ToLua.Error(text) is not { } table) return call.Error("not enough memory");
        return raise ? call.Raise(table) : call.Return(table);
    }

    /// <summary>
    /// Runs the last request and captures its reply. Returns false if the script has not enough memory for the reply.
    /// </summary>
    private bool TryRun(CommandRow row)
    {
        Request request = Request;
        ReplyWriter writer = interpreter.Session.Reply;
        // The reply exists three times: as written, in one buffer, and as Lua values.
        writer.Limit = Math.Max(LeastReply, interpreter.Room / 3);
        long before = writer.BytesWritten;
        interpreter.Server.Monitors.Show(interpreter.Session, "lua", row, request);
        EffectBuffer effects = interpreter.Lane.Effects;
        effects.IsMuted = !interpreter.Journalled;
        ulong hash = row.HashOfFirstKey(request, interpreter.Server.Shards);
        var context = new CommandContext(
            interpreter.Session, row, request, hash, interpreter.Lane, interpreter.Held, interpreter.Now, cannotMove: true);
        bool isWhole = false;
        try
        {
            interpreter.Server.Executor.RunPart(ref context, ref interpreter.Clock);
            interpreter.Output.Expect(writer.BytesWritten - before);
            if (!writer.Overflowed)
            {
                writer.Commit();
                isWhole = true;
            }
        }
        finally
        {
            effects.IsMuted = false;
            // What is left of a reply would come before the next one.
            if (!isWhole) writer.Restart(interpreter.Output);
        }
        return isWhole && !interpreter.Output.Overflowed;
    }
}
