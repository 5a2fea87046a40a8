using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Scripting;

/// <summary>The scripts that have run for some time, for the commands that ask for them or end them. Any thread may use it.</summary>
internal sealed class ScriptRuns(ServerCore server)
{
    private readonly List<ScriptProgress> _long = [];       // the lock of all access
    private int _addedThreads;          // under the same lock: what the minimum of the pool is raised by
    private int _busy;
    private volatile bool _serverEnds;

    /// <summary>Whether a script has run longer than busy-reply-threshold.</summary>
    public bool IsAnyBusy => Volatile.Read(ref _busy) > 0;

    /// <summary>Whether the server ends, so that long scripts are abandoned.</summary>
    public bool ServerEnds => _serverEnds;

    /// <summary>The error reply of the busy script that has run longest; null if no script is busy.</summary>
    public string? BusyError => IsAnyBusy ? Longest(static run => run.IsBusy)?.BusyError : null;

    /// <summary>The script that has run longest of those for which a condition holds; null if there is none that has run for some time.</summary>
    public LongRun? Longest(Predicate<LongRun> condition)
    {
        lock (_long)
        {
            foreach (ScriptProgress progress in _long)
                if (progress.Long is { } run && condition(run)) return run;
        }
        return null;
    }

    /// <summary>
    /// Adds a script that has run for some time. It occupies a thread of the pool, which would otherwise add one only now and then: new
    /// connections, and commands that wait for a shard, need another thread.
    /// </summary>
    public void Add(ScriptProgress progress)
    {
        lock (_long)
        {
            _long.Add(progress);
            if (TryAddThreads(1)) _addedThreads++;
        }
    }

    /// <summary>Removes a script that has ended. It allocates nothing, because the script may have used up the memory.</summary>
    public void Remove(ScriptProgress progress, bool wasBusy)
    {
        if (wasBusy) Interlocked.Decrement(ref _busy);
        lock (_long)
        {
            _long.Remove(progress);
            if (_addedThreads > _long.Count && TryAddThreads(-1)) _addedThreads--;
        }
    }

    private static bool TryAddThreads(int count)
    {
        ThreadPool.GetMinThreads(out int workers, out int others);
        return ThreadPool.SetMinThreads(workers + count, others);
    }

    public void NoteBusy() => Interlocked.Increment(ref _busy);

    /// <summary>
    /// The error reply to a command that cannot run because a busy script holds shards that it needs, or null. A script that
    /// holds all shards lets no command run, and a shutdown that waits for a busy script no write. It takes a lock, so the caller looks at
    /// <see cref="IsAnyBusy"/> first.
    /// </summary>
    public string? Refuse(Session session, CommandRow row, in Request request)
    {
        ShardSet? needed = null;
        lock (_long)
        {
            foreach (ScriptProgress progress in _long)
            {
                if (progress.Long is not { IsBusy: true } run) continue;
                if (run.HoldsAll || server.Pause.IsForShutdown && server.Pause.HoldsBack(session, row.FlagsFor(request, session))) return run.BusyError;
                needed ??= Router.ShardsOf(server, session, row, request);
                if (needed.Value.Overlaps(run.Held)) return run.BusyError;
            }
        }
        return null;
    }

    /// <summary>
    /// Requests the end of every script, or function, that is busy and has not written. Returns null, or the reason why none can be ended.
    /// </summary>
    public string? Kill(bool script)
    {
        string? refusal = ScriptProgress.NotBusy;
        bool isKilled = false;
        ScriptProgress[] candidates;
        lock (_long) candidates = [.. _long.Where(static progress => progress.Long is { IsBusy: true })];
        foreach (ScriptProgress progress in candidates)
        {
            string? reason = progress.Kill(script);
            isKilled |= reason is null;
            if (reason is not null && !refusal.StartsWith("UNKILLABLE", StringComparison.Ordinal)) refusal = reason;
        }
        return isKilled ? null : refusal;
    }

    /// <summary>
    /// Abandons long scripts, even if they have written. None of their effects are kept, but their changes stay in memory, so the server must
    /// end without saving it.
    /// </summary>
    public void Abandon() => _serverEnds = true;
}
