using System.Diagnostics;
using Microsoft.Extensions.Logging;
using RedisClone.Lua;
using RedisClone.Protocol;
using RedisClone.Server.Net;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Scripting;

/// <summary>
/// The script that runs, as others see it: how long it has run, whether it may be ended, and what is done about one that does not end. On an
/// event loop it lets the loop serve others from time to time; past busy-reply-threshold these are told so, and who waited before is told
/// so too. Written by the thread that runs the script; any thread may read and ask.
/// </summary>
internal sealed class ScriptProgress(ServerCore server)
{
    /// <summary>How often a script that takes long lets its loop serve others.</summary>
    private static readonly long LoopPause = Stopwatch.Frequency / 1000;

    /// <summary>How often those who wait are told that the script is busy.</summary>
    private static readonly long AnswerPause = Stopwatch.Frequency / 20;

    private Session? _caller;
    private IEventLoop? _loop;
    private long _started, _lastRound, _lastAnswer;
    private volatile Routine? _routine;
    private volatile LongRun? _long;
    private volatile bool _hasWritten;
    private volatile bool _isKilled, _serverEnds;
    private bool _isAbandoned;

    public bool IsRunning => _routine is not null;

    /// <summary>Others are told that the script is running.</summary>
    public bool IsBusy => _long is { IsBusy: true };

    public bool HasWritten => _hasWritten;

    /// <summary>The running script was sent as such, it is no function.</summary>
    public bool IsScript => _routine is Script;

    /// <summary>What is known of a script that has run for some time; null for one that has just begun.</summary>
    public LongRun? Long => _long;

    /// <summary>The error of others while the script runs.</summary>
    public string BusyError => IsScript
        ? "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
        : "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";

    public void NoteWrite() => _hasWritten = true;

    /// <summary>A script begins; returns the time.</summary>
    public long Begin(Session caller, Routine routine)
    {
        _caller = caller;
        _loop = caller.Connection?.Loop is { IsOnLoop: true } loop ? loop : null;
        _hasWritten = _isKilled = _isAbandoned = false;
        _started = _lastRound = Stopwatch.GetTimestamp();
        _routine = routine;
        return _started;
    }

    /// <summary>The script has ended. Effects of one that was abandoned are dropped, and so are all that come after.</summary>
    public void Done(Lane lane)
    {
        _routine = null;
        _long = null;
        _caller = null;
        if (!_isAbandoned) return;
        lane.Effects.Clear();
        server.Effects.DetachAll();
    }

    /// <summary>Asks a script to end; why it cannot be, or null.</summary>
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

    /// <summary>The server ends: scripts that have run for some time end too, whatever they have done, and nothing of it is kept.</summary>
    public void Abandon() => _serverEnds = true;

    /// <summary>Called by a script from time to time; the error that ends it.</summary>
    public LuaString? Check(long now)
    {
        if (_routine is not { } routine) return null;
        if (now - _lastRound > LoopPause) GoOn(routine, now);
        if (_isKilled)
        {
            server.Log.LogInformation("Lua script killed by user with SCRIPT KILL.");
            return LuaString.From("Script killed by user with SCRIPT KILL...");
        }
        if (!_serverEnds || _long is null) return null;
        _isAbandoned = true;
        return LuaString.From("Script abandoned, the server ends");
    }

    private void GoOn(Routine routine, long now)
    {
        LongRun run = _long ??= new LongRun(_caller!, routine, _started);
        long threshold = server.Config.BusyReplyThreshold;
        if (!run.IsBusy && threshold > 0 && run.Milliseconds >= threshold)
        {
            server.Log.LogWarning(
                "Slow script detected: still in execution after {Elapsed} milliseconds. You can try killing the script using the {Kill} command. Script name is: {Name}.",
                run.Milliseconds, routine is Script ? "SCRIPT KILL" : "FUNCTION KILL", routine.Name);
            run.IsBusy = true;
        }
        if (run.IsBusy) AnswerWaiting(now);
        if (_loop is not null) RunRound(_loop);
        _lastRound = Stopwatch.GetTimestamp();
    }

    /// <summary>What others do in between on this thread is not the script's: it gets a lane of its own.</summary>
    private void RunRound(IEventLoop loop)
    {
        Lane outer = server.Lanes.EnterNested();
        try
        {
            loop.RunRound();
        }
        finally
        {
            LaneSet.LeaveNested(outer);
        }
    }

    /// <summary>Who came before the script was busy, and waits for it, is told like those who come now.</summary>
    private void AnswerWaiting(long now)
    {
        if (now - _lastAnswer < AnswerPause) return;
        _lastAnswer = now;
        foreach (Session session in server.Sessions.Unordered)
            if (session != _caller) session.Connection!.Reconsider();
    }
}

/// <summary>A script that has run for some time, for FUNCTION STATS.</summary>
internal sealed class LongRun
{
    private readonly long _started;
    private volatile bool _isBusy;

    /// <summary>By the thread that runs the script: only that one may read the caller's request.</summary>
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

    /// <summary>Past busy-reply-threshold.</summary>
    public bool IsBusy
    {
        get => _isBusy;
        set => _isBusy = value;
    }
}
