using System.Net.Sockets;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using RedisClone.Engine;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Shards;
using RedisClone.Journal;

namespace RedisClone.Server;

/// <summary>Starts and stops a server in the required order, in any host.</summary>
internal sealed class ServerRun(WebApplication host)
{
    private const string Asked = "it was asked to end while it started";

    public ServerCore Core { get; } = host.Services.GetRequiredService<ServerCore>();

    private volatile bool _isCancelled;

    /// <summary>Starts the server.</summary>
    /// <returns>Null when clients are served, or the reason for the failure, which is already logged.</returns>
    public async Task<string?> StartAsync()
    {
        string? fault = await TryStartAsync().ConfigureAwait(false);
        if (fault is not null) Release();
        return fault;
    }

    /// <summary>Ends a start that is in progress.</summary>
    public void Cancel()
    {
        _isCancelled = true;
        Core.Loading?.Cancel();
    }

    private async Task<string?> TryStartAsync()
    {
        if (Core.Prepare() is { } fault) return Failed(fault);
        try
        {
            await host.StartAsync().ConfigureAwait(false);
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            return Failed(e.Message);
        }
        catch (OperationCanceledException) when (Core.Shutdown.HasBegun)
        {
            await host.StopAsync().ConfigureAwait(false);
            return Asked;
        }
        // Supervisors wait for this line and connect at once. Clients get the error LOADING until the data is loaded.
        Core.Log.LogInformation("Server initialized");
        if (LoadData() is { } refusal)
        {
            if (!Core.Shutdown.HasBegun && !_isCancelled)
            {
                Failed(refusal);
                Core.Log.LogCritical("Fatal error loading the DB, check server logs. Exiting.");
            }
            await host.StopAsync().ConfigureAwait(false);
            return refusal;
        }
        Core.Log.LogInformation("Ready to accept connections tcp");
        return null;
    }

    /// <summary>Returns after shutdown: all clients are disconnected and the journal is closed.</summary>
    public async Task EndAsync()
    {
        await host.WaitForShutdownAsync().ConfigureAwait(false);
        if (Core.Journal is { } journal) Close(journal);
        Release();
    }

    private void Close(JournalKeeper journal)
    {
        // The data does not change any more. The next start may continue the replication stream at this position.
        StreamPosition? reached = null;
        long lsn = 0;
        new HeldAction(Core.Shards, () => (reached, lsn) = (Core.Role.Reached, journal.Engine.Lsn)).RunAndWait();
        // The files of a journal that has failed, or of one without its base, are those of older data.
        bool hasAll = journal.Engine.State == JournalState.Running;
        if (journal.Stop() is { } failure) Core.Log.LogError("The journal could not be closed: {Failure}", failure);
        else if (hasAll && reached is not null && journal.DurableLsn == lsn) Core.RoleFile.KeepEnd(reached, lsn, journal.FingerprintOfFiles());
    }

    /// <summary>Releases the threads of the journal, and the files that the server has locked.</summary>
    private void Release()
    {
        Core.Cluster?.Dispose();
        Core.Rewrites.Release();
    }

    private string? LoadData()
    {
        try
        {
            if (_isCancelled) return Asked;
            return Core.LoadData();
        }
        catch (OutOfMemoryException failure)
        {
            // The shutdown that follows needs memory too.
            MemoryReserve.ReleaseAll();
            Core.Log.LogError(failure, "An allocation failed during the load");
            return "There is not enough memory to load the data";
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return $"The data cannot be read: {e.Message}";
        }
    }

    private string Failed(string why)
    {
        Core.Log.LogCritical("{Why}", why);
        return why;
    }
}
