using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Failures;

namespace RedisClone.Engine;

/// <summary>
/// The orderly shutdown on SHUTDOWN or a signal. It first makes the data durable; if that fails, the server continues unless
/// the shutdown is forced. Then clients receive their pending replies and are disconnected.
/// </summary>
internal sealed class Shutdown(ServerCore server)
{
    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(20);

    /// <summary>How long a MIGRATE may delay the shutdown. Containers are killed ten seconds after the signal.</summary>
    private const int MigrationPatience = 5000;

    private readonly Lock _gate = new();
    private readonly Lock _deciding = new();
    private bool _hasDecided;       // what is saved and where; the journal cannot be turned on any more
    private Task<bool>? _running;
    private long _waitsUntil;       // while replicas are awaited
    private bool _isAborted;
    private bool _isSaving;         // the shards are awaited, or the data is being written
    private volatile bool _skipsSave;
    private (ShutdownOptions Options, bool Asked) _asked;

    /// <summary>Stops accepting connections. Set by the host.</summary>
    public Action StopListening { get; set; } = static () => { };

    /// <summary>Stops the host after the shutdown. Set by the host.</summary>
    public Action StopHost { get; set; } = static () => { };

    /// <summary>
    /// Saves the data that the options require and returns whether it succeeded. Null if there is nothing to save.
    /// </summary>
    public Func<ShutdownOptions, bool>? Save { get; set; }

    /// <summary>Whether the shutdown in progress does not save the data. SHUTDOWN NOSAVE can ask for it while the shards are awaited.</summary>
    public bool SkipsSave => _skipsSave;

    public bool HasBegun => Volatile.Read(ref _running) is not null;

    /// <summary>The longest time for which replicas are still awaited, or null if none are.</summary>
    public long? MillisecondsLeft => Volatile.Read(ref _waitsUntil) is > 0 and var until ? Math.Max(0, until - ServerCore.UnixMilliseconds()) : null;

    /// <summary>Requests a shutdown after a signal. It begins with the next round of background work.</summary>
    public void Ask(ShutdownOptions options, string why)
    {
        server.Log.LogWarning("{Why}", why);
        _asked = (options, true);
    }

    /// <summary>Aborts a shutdown that has not begun or that waits for replicas. Returns false if there is none.</summary>
    public bool Abort()
    {
        lock (_gate)
        {
            if (!_asked.Asked && MillisecondsLeft is null) return false;
            _asked = default;
            _isAborted = MillisecondsLeft is not null;
        }
        server.Log.LogWarning("Shutdown manually aborted.");
        return true;
    }

    /// <summary>Turns the journal on unless the shutdown has decided to end without it. Returns null, or the reason of a failure.</summary>
    public string? TurnJournalOn(Func<string?> turn)
    {
        lock (_deciding) return _hasDecided ? "Unable to turn on AOF: the server is shutting down." : turn();
    }

    /// <summary>Begins a requested shutdown. Called ten times a second.</summary>
    public void Tend()
    {
        if (!_asked.Asked) return;
        ShutdownOptions options = _asked.Options;
        _asked = default;
        _ = Begin(options, "User requested shutdown...");
    }

    /// <summary>
    /// Begins to shut the server down, or joins the shutdown in progress; NOSAVE then keeps it from saving the data. The result is false if
    /// the server continues, because its data could not be saved or the shutdown was aborted.
    /// </summary>
    public Task<bool> Begin(ShutdownOptions options, string why)
    {
        lock (_gate)
        {
            if (_running is { } running)
            {
                if (options.HasFlag(ShutdownOptions.NoSave)) SkipSave();
                return running;
            }
            server.Log.LogInformation("{Why}", why);
            _skipsSave = options.HasFlag(ShutdownOptions.NoSave);
            // The thread that saves waits for the shards, so it must hold none.
            return _running = Task.Run(() => TryEnd(options));
        }
    }

    /// <summary>A busy script would keep the shards from the thread that waits for them to save the data.</summary>
    private void SkipSave()
    {
        _skipsSave = true;
        if (_isSaving) server.Scripts.Runs.Abandon();
    }

    private bool TryEnd(ShutdownOptions options)
    {
        bool ends = false, holds = false;
        try
        {
            if (!options.HasFlag(ShutdownOptions.Now)) AwaitMigrations();
            // From here on no write is confirmed, because the data that it changes is being saved.
            server.Pause.HoldWrites(withTransfers: true);
            holds = true;
            ends = AwaitAndEnd(options);
            if (!ends) server.Log.LogWarning("Errors trying to shut down the server. Check the logs for more information.");
        }
        catch (Exception e)
        {
            // The memory has changes of abandoned scripts that nothing else has.
            if (server.Scripts.Runs.ServerEnds) Fatal.End("The server could not be shut down", e);
            server.Failures.WorkFailed("The server could not be shut down", e);
        }
        // The next signal or SHUTDOWN tries again.
        if (!ends)
        {
            lock (_deciding) _hasDecided = false;
            if (holds) server.Pause.ReleaseWrites(withTransfers: true);
            // Begin holds the lock until it has stored the task that ends here.
            lock (_gate) _running = null;
        }
        return ends;
    }

    private bool AwaitAndEnd(ShutdownOptions options)
    {
        if (server.Loading is { CanBeCancelled: true } loading)
        {
            // Incompletely loaded data must not replace the files that it is loaded from.
            _skipsSave = true;
            loading.Cancel();
        }
        if (!options.HasFlag(ShutdownOptions.Now) && !AwaitReplicas()) return false;
        if (!CanEnd(options)) return false;
        server.Scripts.Runs.Abandon();
        server.Role.Stop();
        server.MigrationLinks.Close();
        StopListening();
        StopHost();
        return true;
    }

    /// <summary>Saves the data that the options require. False if the server must continue.</summary>
    private bool CanEnd(ShutdownOptions options)
    {
        bool isForced = options.HasFlag(ShutdownOptions.Force);
        bool isInitial;
        lock (_deciding)
        {
            isInitial = server.Rewrites.IsInitial;
            _hasDecided = isForced || !isInitial;
        }
        if (isInitial)
        {
            // A journal without its first base file cannot be loaded: the data would be lost.
            server.Log.LogWarning("Writing initial AOF{Then}", isForced ? ". Exit anyway." : ", can't exit.");
            if (!isForced) return false;
        }
        if (Save is not { } save || TrySave(save, options) || isForced) return true;
        server.Log.LogWarning("Error trying to save the DB, can't exit.");
        return false;
    }

    /// <summary>Returns true if the data is saved or need not be.</summary>
    private bool TrySave(Func<ShutdownOptions, bool> save, ShutdownOptions options)
    {
        lock (_gate)
        {
            if (_skipsSave) return true;
            _isSaving = true;
        }
        bool isSaved = false;
        try
        {
            isSaved = save(options);
        }
        finally
        {
            lock (_gate) _isSaving = false;
        }
        return isSaved || _skipsSave;
    }

    /// <summary>Waits for the keys that MIGRATE transfers, so that they do not stay on both servers.</summary>
    private void AwaitMigrations()
    {
        long until = ServerCore.UnixMilliseconds() + MigrationPatience;
        while (server.MigrationLinks.Running > 0 && ServerCore.UnixMilliseconds() < until) Thread.Sleep(Look);
    }

    /// <summary>
    /// Waits until the replicas have everything, so that they continue without a copy after a restart. Writes are paused. False
    /// if the shutdown is aborted.
    /// </summary>
    private bool AwaitReplicas()
    {
        if (server.Role.IsReplica || server.Replicas.Count == 0) return true;
        if (server.Replicas.CountBehind() is > 0 and var behind && server.Config.ShutdownTimeout > 0)
        {
            server.Log.LogInformation("{Count} replicas are not in sync. Waiting for replicas before shutting down.", behind);
            if (!AwaitReplicas(ServerCore.UnixMilliseconds() + server.Config.ShutdownTimeout * 1000L)) return false;
        }
        server.Replicas.LogLagging();
        return true;
    }

    private bool AwaitReplicas(long until)
    {
        Volatile.Write(ref _waitsUntil, until);
        bool isAborted = false;
        while (!isAborted && server.Replicas.CountBehind() > 0 && ServerCore.UnixMilliseconds() < until)
        {
            Thread.Sleep(Look);
            lock (_gate) isAborted = _isAborted;
        }
        lock (_gate)
        {
            isAborted = _isAborted;
            _isAborted = false;
            Volatile.Write(ref _waitsUntil, 0);
        }
        return !isAborted;
    }

    /// <summary>Disconnects all clients after their pending replies are sent.</summary>
    internal void DisconnectClients()
    {
        server.Scripts.Runs.Abandon();
        foreach (Session session in server.Sessions.Unordered) session.Connection!.Close();
        server.Log.LogWarning("Redis is now ready to exit, bye bye...");
    }
}
