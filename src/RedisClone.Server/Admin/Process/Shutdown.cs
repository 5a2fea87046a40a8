using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Net;

namespace RedisClone.Server.Admin;

/// <summary>
/// The orderly end, on SHUTDOWN or a signal: what is to be kept is made durable first, and if that fails the server stays, unless forced;
/// then clients get what they are owed and are let go.
/// </summary>
internal sealed class Shutdown(ServerCore server)
{
    private int _begun;
    private (ShutdownOptions Options, bool Asked) _asked;

    /// <summary>Stops accepting connections; set by the host.</summary>
    public Action StopListening { get; set; } = static () => { };

    /// <summary>Ends the process once all is done; set by the host.</summary>
    public Action StopHost { get; set; } = static () => { };

    /// <summary>Makes durable what the options ask for; answers whether it could. Null: there is nothing to save.</summary>
    public Func<ShutdownOptions, bool>? Save { get; set; }

    public bool HasBegun => Volatile.Read(ref _begun) != 0;

    /// <summary>A signal asked for the end: it comes with the next round of background work, and may be called off until then.</summary>
    public void Ask(ShutdownOptions options, string why)
    {
        server.Log.LogWarning("{Why}", why);
        _asked = (options, true);
    }

    /// <summary>Calls off what a signal asked for; false when nothing did.</summary>
    public bool CallOff()
    {
        if (!_asked.Asked) return false;
        _asked = default;
        server.Log.LogWarning("Shutdown manually aborted.");
        return true;
    }

    /// <summary>Ten times a second.</summary>
    public void Tend()
    {
        if (!_asked.Asked) return;
        ShutdownOptions options = _asked.Options;
        _asked = default;
        // It waits until data is saved: background work goes on meanwhile.
        _ = Task.Run(() => Begin(options, "User requested shutdown..."));
    }

    /// <summary>False when something could not be saved: the server goes on.</summary>
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
            InternalErrors.Report(server.Log, e, "The server could not be shut down");
            Volatile.Write(ref _begun, 0);
            return false;
        }
    }

    private bool SaveAndEnd(ShutdownOptions options, string why)
    {
        server.Log.LogInformation("{Why}", why);
        if (server.Loading is { } loading)
        {
            // What is half loaded must not replace what it is loaded from.
            options |= ShutdownOptions.NoSave;
            loading.Cancel();
        }
        if (server.Rewrites.IsInitial)
        {
            // Without its first base the journal is nothing: the data would be lost.
            bool forced = options.HasFlag(ShutdownOptions.Force);
            server.Log.LogWarning("Writing initial AOF{Then}", forced ? ". Exit anyway." : ", can't exit.");
            if (!forced)
            {
                Volatile.Write(ref _begun, 0);
                return false;
            }
        }
        if (!options.HasFlag(ShutdownOptions.NoSave) && Save is { } save && !save(options) && !options.HasFlag(ShutdownOptions.Force))
        {
            server.Log.LogWarning("Error trying to save the DB, can't exit.");
            Volatile.Write(ref _begun, 0);
            return false;
        }
        StopListening();
        StopHost();
        return true;
    }

    /// <summary>Clients are told nothing more; what they are owed still leaves.</summary>
    internal void LetClientsGo()
    {
        server.Scripts.Progress.Abandon();
        foreach (Session session in server.Sessions.Unordered) session.Connection!.Close();
        server.Log.LogWarning("Redis is now ready to exit, bye bye...");
    }
}
