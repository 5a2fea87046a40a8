using System.Diagnostics;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Lua.Values;
using RedisClone.Protocol;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// The state of the running script for other threads: how long it has run and whether it may be ended. A long script hands its
/// event loop over to another thread. Past busy-reply-threshold, new commands and commands that already wait are
/// answered with BUSY. The thread that runs the script writes the state; any thread may read it and request an end.
/// </summary>
internal sealed class ScriptProgress(ServerCore server, ScriptRuns runs)
{
    /// <summary>How long a script may keep its event loop, and how often a long script looks at the time.</summary>
    private static readonly long LoopPatience = Stopwatch.Frequency / 1000;

    /// <summary>How often waiting commands are checked again, so that they reply BUSY.</summary>
    private static readonly long AnswerPause = Stopwatch.Frequency / 20;

    /// <summary>The error that ends a killed script.</summary>
    public const string Killed = "Script killed by user with SCRIPT KILL...";

    private Session? _caller;
    private IEventLoop? _loop;
    private long _started, _lastLook, _lastAnswer;
    private volatile Routine? _routine;
    private volatile LongRun? _long;
    private long _fate;              // a Fate, and above it the number of the run: of a write and a kill at the same time, one happens
    private bool _isAbandoned, _holdsAll;
    private ShardSet _held;

    /// <summary>The error of SCRIPT KILL without a busy script.</summary>
    public const string NotBusy = "NOTBUSY No scripts in execution right now.";

    private const int FateBits = 2;

    private enum Fate
    {
        Open,
        HasWritten,
        IsKilled,
    }

    public bool HasWritten => FateOf(Volatile.Read(ref _fate)) == Fate.HasWritten;

    /// <summary>The name of the running script or function.</summary>
    public string Name => _routine?.Name ?? "";

    /// <summary>The description of a script that has run for some time; null for one that has just begun.</summary>
    public LongRun? Long => _long;

    /// <summary>Called before a write. Returns false if the script has been killed, so that no part of it has an effect.</summary>
    public bool TryWrite()
    {
        long fate = Volatile.Read(ref _fate);
        return FateOf(fate) == Fate.HasWritten || FateOf(fate) == Fate.Open && TryDecide(fate, Fate.HasWritten);
    }

    private static Fate FateOf(long fate) => (Fate)(fate & ((1 << FateBits) - 1));

    /// <summary>Decides an open fate, unless it is decided already, or another script has begun.</summary>
    private bool TryDecide(long open, Fate fate) => Interlocked.CompareExchange(ref _fate, open | (long)fate, open) == open;

    /// <summary>Records the start of a script and returns the time.</summary>
    public long Begin(Session caller, Routine routine, in ShardSet held, bool holdsAll)
    {
        _held = held;
        _holdsAll = holdsAll;
        _caller = caller;
        _loop = caller.Connection?.Loop is { IsOnLoop: true } loop ? loop : null;
        _isAbandoned = false;
        Volatile.Write(ref _fate, ((_fate >> FateBits) + 1) << FateBits);
        _started = _lastLook = Stopwatch.GetTimestamp();
        _routine = routine;
        return _started;
    }

    /// <summary>
    /// Records the end of a script. The unit of an abandoned script is dropped: with the transaction around it, and without service of the
    /// clients that wait for its keys. The units of other clients are kept, because they may be confirmed until the end.
    /// </summary>
    public void Done(Lane lane)
    {
        _routine = null;
        if (_long is { } run)
        {
            _long = null;
            runs.Remove(this, run.IsBusy);
        }
        bool isOfClient = _caller is { Connection: not null };
        _caller = null;
        if (!_isAbandoned) return;
        if (isOfClient) lane.IsAbandoned = true;
        else lane.Effects.Clear();
    }

    /// <summary>Requests the end of a busy script. Returns null, or the reason why it cannot be ended.</summary>
    public string? Kill(bool script)
    {
        // The interpreter may begin with another script at any moment, which has another number.
        long fate = Volatile.Read(ref _fate);
        if (_routine is not { } routine || _long is not { IsBusy: true }) return NotBusy;
        if (FateOf(fate) == Fate.Open)
        {
            if (script != routine is Script) return LongRun.BusyErrorOf(routine);
            if (TryDecide(fate, Fate.IsKilled)) return null;
            fate = Volatile.Read(ref _fate);
        }
        if (FateOf(fate) != Fate.HasWritten) return FateOf(fate) == Fate.IsKilled ? null : NotBusy;
        return "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination " +
            "or kill the server in a hard way using the SHUTDOWN NOSAVE command.";
    }

    /// <summary>Called periodically by a script. Returns the error that ends it, or null.</summary>
    public LuaString? Check(long now)
    {
        if (_routine is not { } routine) return null;
        if (now - _lastLook > LoopPatience) ServeOthers(routine, now);
        if (FateOf(Volatile.Read(ref _fate)) == Fate.IsKilled)
        {
            server.Log.LogInformation("Lua script killed by user with SCRIPT KILL.");
            return LuaString.From(Killed);
        }
        if (!runs.ServerEnds || _long is null) return null;
        _isAbandoned = true;
        return LuaString.From("Script abandoned, the server ends");
    }

    private void ServeOthers(Routine routine, long now)
    {
        if (_long is not { } run)
        {
            _long = run = new LongRun(_caller!, routine, _started, _held, _holdsAll);
            runs.Add(this);
        }
        long threshold = server.Config.BusyReplyThreshold;
        if (!run.IsBusy && threshold > 0 && run.Milliseconds >= threshold)
        {
            server.Log.LogWarning(
                "Slow script detected: still in execution after {Elapsed} milliseconds. " +
                    "You can try killing the script using the {Kill} command. Script name is: {Name}. It holds {Shards}.",
                run.Milliseconds, routine is Script ? "SCRIPT KILL" : "FUNCTION KILL", routine.Name,
                run.HoldsAll ? "all shards" : "the shards of its keys");
            run.IsBusy = true;
            runs.NoteBusy();
        }
        if (run.IsBusy) AnswerWaiting(now);
        if (_loop is { IsOnLoop: true }) _loop.TryHandOver();
        _lastLook = Stopwatch.GetTimestamp();
    }

    /// <summary>Commands that began to wait before the script was busy are checked again, so that they reply BUSY too.</summary>
    private void AnswerWaiting(long now)
    {
        if (now - _lastAnswer < AnswerPause) return;
        _lastAnswer = now;
        server.Shards.Persistent.StepBack();
        if (server.Pause.IsForShutdown) server.Pause.Reconsider();
        try
        {
            foreach (Session session in server.Sessions.Unordered)
                if (session != _caller) session.Connection!.Reconsider();
        }
        catch (OutOfMemoryException failure)
        {
            // The script goes on. The clients that are left wait until the next attempt, or until the script ends.
            server.Failures.WorkFailed("Clients that wait for a busy script could not be answered", failure);
        }
    }
}

/// <summary>The description of a script that has run for some time, for FUNCTION STATS.</summary>
internal sealed class LongRun
{
    private readonly long _started;
    private volatile bool _isBusy;

    /// <summary>Must run on the thread that runs the script, because only that thread may read the caller's request.</summary>
    public LongRun(Session caller, Routine routine, long started, in ShardSet held, bool holdsAll)
    {
        _started = started;
        Held = held;
        HoldsAll = holdsAll;
        BusyError = BusyErrorOf(routine);
        Name = routine.Name;
        IsFunction = routine is LibraryFunction;
        if (caller.Connection is not { } connection) return;
        Request request = connection.CurrentRequest;
        Command = new byte[request.Count][];
        for (int i = 0; i < request.Count; i++) Command[i] = request[i].ToArray();
    }

    public string Name { get; }

    /// <summary>The shards that the script holds.</summary>
    public ShardSet Held { get; }

    public bool HoldsAll { get; }

    /// <summary>Whether it is a function and not a script.</summary>
    public bool IsFunction { get; }

    /// <summary>The error reply to other commands while the script is busy.</summary>
    public string BusyError { get; }

    /// <summary>The client's request.</summary>
    public byte[][] Command { get; } = [];

    public long Milliseconds => (long)Stopwatch.GetElapsedTime(_started).TotalMilliseconds;

    /// <summary>Whether the script has run longer than busy-reply-threshold.</summary>
    public bool IsBusy
    {
        get => _isBusy;
        set => _isBusy = value;
    }

    public static string BusyErrorOf(Routine routine) => routine is Script
        ? "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
        : "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";
}
