using System.Net.Sockets;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace RedisClone.Server;

/// <summary>The order in which a server starts and stops, in any host.</summary>
internal sealed class ServerRun(WebApplication host)
{
    public ServerCore Core { get; } = host.Services.GetRequiredService<ServerCore>();

    /// <summary>Null once clients are served; else why they are not, which was logged.</summary>
    public async Task<string?> StartAsync()
    {
        if (Core.Prepare() is { } fault) return Failed(fault);
        try
        {
            await host.StartAsync();
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            return Failed(e.Message);
        }
        catch (OperationCanceledException) when (Core.Shutdown.HasBegun)
        {
            await host.StopAsync();
            return "it was asked to end while it started";
        }
        // Supervisors wait for this line and connect at once. While data are loaded, clients get the error LOADING.
        Core.Log.LogInformation("Server initialized");
        if (LoadData() is { } refusal)
        {
            if (!Core.Shutdown.HasBegun)
            {
                Failed(refusal);
                Core.Log.LogCritical("Fatal error loading the DB, check server logs. Exiting.");
            }
            await host.StopAsync();
            return refusal;
        }
        Core.Log.LogInformation("Ready to accept connections tcp");
        return null;
    }

    /// <summary>Returns when the server was asked to end, its clients are gone, and its journal is closed.</summary>
    public async Task EndAsync()
    {
        await host.WaitForShutdownAsync();
        if (Core.Journal is not { } journal) return;
        if (journal.Stop() is { } failure) Core.Log.LogError("The journal could not be closed: {Failure}", failure);
        journal.Dispose();
    }

    private string? LoadData()
    {
        try
        {
            return Core.LoadData();
        }
        catch (OutOfMemoryException)
        {
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
