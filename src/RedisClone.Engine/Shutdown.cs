using RedisClone.Configuration;
using RedisClone.Engine.Clients;

namespace RedisClone.Engine;

/// <summary>
/// The orderly shutdown on SHUTDOWN or a signal. It first makes the data durable; if that fails, the server continues unless
/// the shutdown is forced. Then clients receive their pending replies and are disconnected.
/// </summary>
internal sealed class Shutdown(ServerCore server)
{
    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(20);

    private int _begun;
    private (ShutdownOptions Options, bool Asked) _asked;

    /// <summary>Stops accepting connections. Set by the host.</summary>
    public Action StopListening { get; set; } = static () => { };

    /// <summary>Stops the host after the shutdown. Set by the host.</summary>
    public Action StopHost { get; set; } = static () => { };

    /// <summary>
    /// Saves the data that the options require and returns whether it succeeded. Null if there is nothing to save.
    /// </summary>
    public Func<ShutdownOptions, bool>? Save { get; set; }

    public bool HasBegun => Volatile.Read(ref _begun) != 0;

    /// <summary>
    /// Requests a shutdown after a signal. It begins with the next round of background work and can be cancelled until then.
    /// </summary>
    public void Ask(ShutdownOptions options, string why)
    {
        server.Log.LogWarning("{Why}", why);
        _asked = (options, true);
    }

    /// <summary>Cancels a shutdown that a signal requested. Returns false if there is none.</summary>
    public bool Cancel()
    {
        if (!_asked.Asked) return false;
        _asked = default;
        server.Log.LogWarning("Shutdown manually aborted.");
        return true;
    }

    /// <summary>Begins a requested shutdown. Called ten times a second.</summary>
    public void Tend()
    {
        if (!_asked.Asked) return;
        ShutdownOptions options = _asked.Options;
        _asked = default;
        // Begin waits until the data is saved. Background work must continue meanwhile.
        _ = Task.Run(() => Begin(options, "User requested shutdown..."));
    }

    /// <summary>Shuts the server down. Returns false if the data could not be saved and the server continues.</summary>
    public bool Begin(ShutdownOptions options, string why)
    {
        if (Interlocked.Exchange(ref _begun, 1) != 0) return true;
        try
        {
            return SaveAndEnd(options, why);
        }
        catch (Exception e)
        {
            // The next signal or SHUTDOWN tries again.
            server.Failures.WorkFailed("The server could not be shut down", e);
            Volatile.Write(ref _begun, 0);
            return false;
        }
    }

    private bool SaveAndEnd(ShutdownOptions options, string why)
    {
        server.Log.LogInformation("{Why}", why);
        if (server.Loading is { } loading)
        {
            // Incompletely loaded data must not replace the files that it is loaded from.
            options |= ShutdownOptions.NoSave;
            loading.Cancel();
        }
        if (server.Rewrites.IsInitial)
        {
            // A journal without its first base file cannot be loaded: the data would be lost.
            bool forced = options.HasFlag(ShutdownOptions.Force);
            server.Log.LogWarning("Writing initial AOF{Then}", forced ? ". Exit anyway." : ", can't exit.");
            if (!forced)
            {
                Volatile.Write(ref _begun, 0);
                return false;
            }
        }
        // From here on no write is confirmed, because the data that it changes is being saved.
        server.Pause.HoldWrites();
        bool ends = false;
        try
        {
            return ends = AwaitAndEnd(options);
        }
        finally
        {
            if (!ends) server.Pause.ReleaseWrites();
        }
    }

    private bool AwaitAndEnd(ShutdownOptions options)
    {
        if (!options.HasFlag(ShutdownOptions.Now)) AwaitReplicas();
        if (!options.HasFlag(ShutdownOptions.NoSave) && Save is { } save && !save(options) && !options.HasFlag(ShutdownOptions.Force))
        {
            server.Log.LogWarning("Error trying to save the DB, can't exit.");
            Volatile.Write(ref _begun, 0);
            return false;
        }
        server.Role.Stop();
        server.MigrationLinks.Close();
        StopListening();
        StopHost();
        return true;
    }

    /// <summary>
    /// Waits until the replicas have everything, so that they continue without a copy after a restart. Writes are paused.
    /// </summary>
    private void AwaitReplicas()
    {
        if (server.Role.IsReplica || server.Replicas.CountBehind() == 0) return;
        server.Log.LogInformation("{Count} replicas are not in sync. Waiting for replicas before shutting down.", server.Replicas.CountBehind());
        long until = ServerCore.UnixMilliseconds() + server.Config.ShutdownTimeout * 1000L;
        while (server.Replicas.CountBehind() > 0 && ServerCore.UnixMilliseconds() < until) Thread.Sleep(Look);
        if (server.Replicas.CountBehind() is > 0 and var behind) server.Log.LogWarning("{Count} of the replicas are not in sync when shutting down.", behind);
    }

    /// <summary>Disconnects all clients after their pending replies are sent.</summary>
    internal void DisconnectClients()
    {
        server.Scripts.Progress.Abandon();
        foreach (Session session in server.Sessions.Unordered) session.Connection!.Close();
        server.Log.LogWarning("Redis is now ready to exit, bye bye...");
    }
}
