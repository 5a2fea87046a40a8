using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Hosting;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Admin;

/// <summary>
/// The collector runs when memory is allocated. The server allocates so little that the garbage of large requests and disconnected clients
/// could stay for hours. This service looks from time to time at the memory that belongs neither to data nor to clients, and starts a
/// collection beside running clients when it is worth one: there is almost nothing to walk. Such a collection keeps the memory for later
/// use. On an idle server, the memory goes back to the operating system. Only for a server that has its process to itself.
/// </summary>
internal sealed class Garbage(ServerCore server, IEnumerable<IConnectionListenerFactory> transports) : BackgroundService
{
    private static readonly TimeSpan BetweenLooks = TimeSpan.FromSeconds(5);

    /// <summary>Commands between two looks: somebody asks whether the server lives.</summary>
    private const long CommandsOfIdleness = 100;

    /// <summary>Collections, each twice as long after the one before, until what they leave is believed to be in use.</summary>
    private const int Attempts = 5;

    private long _inUse;
    private bool _hasCollected = true;
    private long _stays;
    private long _commands;
    private int _attempts;
    private int _looks;

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        _stays = Held();
        using var timer = new PeriodicTimer(BetweenLooks);
        using CancellationTokenRegistration stopping = stoppingToken.UnsafeRegister(static timer => ((PeriodicTimer)timer!).Dispose(), timer);
        while (await timer.WaitForNextTickAsync(CancellationToken.None))
            if (server.Debug.BackgroundWork) TryLook();
    }

    private void TryLook()
    {
        try
        {
            Look();
        }
        catch (Exception bug)
        {
            InternalErrors.Report(server.Log, bug, "The look for garbage failed");
        }
    }

    private void Look()
    {
        if (IsIdle()) GiveBack();
        else Collect();
    }

    private void Collect()
    {
        long now = Unknown(GC.GetTotalMemory(forceFullCollection: false));
        // What a collection has left is in use.
        if (_hasCollected || now < _inUse) _inUse = now;
        _hasCollected = now - _inUse > Limits.Garbage;
        if (_hasCollected) GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: false, compacting: false);
    }

    private void GiveBack()
    {
        long held = Held();
        _stays = Math.Min(_stays, held);
        if (held - _stays <= Limits.Garbage)
        {
            (_attempts, _looks) = (0, 0);
            return;
        }
        if (++_looks < 1 << _attempts) return;
        _looks = 0;
        if (EventLoopListenerFactory.IsSupported)
            foreach (EventLoopListenerFactory loops in transports.OfType<EventLoopListenerFactory>()) loops.DropSpareBuffers();
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        // What is left may have been let go a moment later: only when ever later attempts have left it, it is in use.
        if (++_attempts < Attempts) return;
        _stays = Held();
        _attempts = 0;
    }

    /// <summary>What the collector has from the system, garbage or not, allocated since it last looked or not.</summary>
    private long Held() => Unknown(Math.Max(GC.GetTotalMemory(forceFullCollection: false), GC.GetGCMemoryInfo().TotalCommittedBytes));

    private long Unknown(long bytes)
    {
        MemoryUsage known = MemoryUsage.Read(server);
        return bytes - known.Reserved - known.Clients - known.Replicas - known.Scripts;
    }

    private bool IsIdle()
    {
        long before = _commands;
        _commands = server.Statistics.Totals.CommandsProcessed;
        return _commands - before < CommandsOfIdleness;
    }
}
