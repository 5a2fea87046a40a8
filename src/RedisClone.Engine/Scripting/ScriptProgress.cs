using System.Diagnostics;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Effects;
using RedisClone.Lua.Values;
using RedisClone.Protocol;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// The state of the running script for other threads: how long it has run and whether it may be ended. A long script hands its
/// event loop over to another thread. Past busy-reply-threshold, new commands and commands that already wait are
/// answered with BUSY. The thread that runs the script writes the state; any thread may read it and request an end.
/// </summary>
internal sealed class ScriptProgress(ServerCore server)
{
    /// <summary>How long a script may keep its event loop, and how often a long script looks at the time.</summary>
    private static readonly long LoopPatience = Stopwatch.Frequency / 1000;

    /// <summary>How often waiting commands are checked again, so that they reply BUSY.</summary>
    private static readonly long AnswerPause = Stopwatch.Frequency / 20;

    private Session? _caller;
    private IEventLoop? _loop;
    private long _started, _lastLook, _lastAnswer;
    private volatile Routine? _routine;
    private volatile LongRun? _long;
    private volatile bool _hasWritten;
    private volatile bool _isKilled, _serverEnds;
    private bool _isAbandoned;

    public bool IsRunning => _routine is not null;

    /// <summary>Whether commands of other clients are answered with BUSY.</summary>
    public bool IsBusy => _long is { IsBusy: true };

    public bool HasWritten => _hasWritten;

    /// <summary>Whether the running routine is a script and not a function.</summary>
    public bool IsScript => _routine is Script;

    /// <summary>The description of a script that has run for some time; null for one that has just begun.</summary>
    public LongRun? Long => _long;

    /// <summary>The error reply to other commands while the script is busy.</summary>
    public string BusyError => IsScript
        ? "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
        : "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";

    public void NoteWrite() => _hasWritten = true;

    /// <summary>Records the start of a script and returns the time.</summary>
    public long Begin(Session caller, Routine routine)
    {
        _caller = caller;
        _loop = caller.Connection?.Loop is { IsOnLoop: true } loop ? loop : null;
        _hasWritten = _isKilled = _isAbandoned = false;
        _started = _lastLook = Stopwatch.GetTimestamp();
        _routine = routine;
        return _started;
    }

    /// <summary>Records the end of a script. After an abandoned script, its effects and all later ones are dropped.</summary>
    public void Done(Lane lane)
    {
        _routine = null;
        _long = null;
        _caller = null;
        if (!_isAbandoned) return;
        lane.Effects.Clear();
        server.Effects.DetachAll();
    }

    /// <summary>Requests the end of a script. Returns null, or the reason why it cannot be ended.</summary>
    public string? Kill(bool script)
    {
        if (_routine is not { } routine) return "NOTBUSY No scripts in execution right now.";
        if (_hasWritten)
        {
            return "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination " +
                "or kill the server in a hard way using the SHUTDOWN NOSAVE command.";
        }
        if (script != routine is Script) return BusyError;
        _isKilled = true;
        return null;
    }

    /// <summary>Abandons long scripts at shutdown, even if they have written. None of their effects are kept.</summary>
    public void Abandon() => _serverEnds = true;

    /// <summary>Called periodically by a script. Returns the error that ends it, or null.</summary>
    public LuaString? Check(long now)
    {
        if (_routine is not { } routine) return null;
        if (now - _lastLook > LoopPatience) ServeOthers(routine, now);
        if (_isKilled)
        {
            server.Log.LogInformation("Lua script killed by user with SCRIPT KILL.");
            return LuaString.From("Script killed by user with SCRIPT KILL...");
        }
        if (!_serverEnds || _long is null) return null;
        _isAbandoned = true;
        return LuaString.From("Script abandoned, the server ends");
    }

    private void ServeOthers(Routine routine, long now)
    {
        LongRun run = _long ??= new LongRun(_caller!, routine, _started);
        long threshold = server.Config.BusyReplyThreshold;
        if (!run.IsBusy && threshold > 0 && run.Milliseconds >= threshold)
        {
            server.Log.LogWarning(
                "Slow script detected: still in execution after {Elapsed} milliseconds. " +
                    "You can try killing the script using the {Kill} command. Script name is: {Name}.",
                run.Milliseconds, routine is Script ? "SCRIPT KILL" : "FUNCTION KILL", routine.Name);
            run.IsBusy = true;
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
        foreach (Session session in server.Sessions.Unordered)
            if (session != _caller) session.Connection!.Reconsider();
    }
}

/// <summary>The description of a script that has run for some time, for FUNCTION STATS.</summary>
internal sealed class LongRun
{
    private readonly long _started;
    private volatile bool _isBusy;

    /// <summary>Must run on the thread that runs the script, because only that thread may read the caller's request.</summary>
    public LongRun(Session caller, Routine routine, long started)
    {
        _started = started;
        Name = routine.Name;
        if (caller.Connection is not { } connection) return;
        Request request = connection.CurrentRequest;
        Command = new byte[request.Count][];
        for (int i = 0; i < request.Count; i++) Command[i] = request[i].ToArray();
    }

    public string Name { get; }

    /// <summary>The client's request.</summary>
    public byte[][] Command { get; } = [];

    public long Milliseconds => (long)Stopwatch.GetElapsedTime(_started).TotalMilliseconds;

    /// <summary>Whether the script has run longer than busy-reply-threshold.</summary>
    public bool IsBusy
    {
        get => _isBusy;
        set => _isBusy = value;
    }
}
