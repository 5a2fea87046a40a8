using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Hosting;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;
using RedisClone.Memory;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Lifetime;

/// <summary>
/// Starts garbage collections on a server that owns its process. The collector runs only when memory is allocated, and the
/// server allocates so little that the garbage of large requests and disconnected clients could stay for hours. This service
/// periodically measures the memory that belongs neither to data nor to clients. If it has grown, the service starts a
/// collection concurrent with running commands, which is short because there are few live objects. Such a collection keeps the
/// memory for later use. On an idle server, the memory is returned to the operating system; on a busy one, if it is much for a minute.
/// </summary>
internal sealed class Garbage(ServerCore server, IEnumerable<IConnectionListenerFactory> transports) : BackgroundService
{
    private static readonly TimeSpan BetweenLooks = TimeSpan.FromSeconds(5);

    /// <summary>
    /// The server counts as idle if it runs fewer commands than this between two measurements, for example only health checks.
    /// </summary>
    private const long CommandsOfIdleness = 100;

    /// <summary>Collections until the remaining memory counts as in use. The interval doubles after each of them.</summary>
    private const int Attempts = 5;

    /// <summary>A busy server returns more memory than this, which a burst of large replies has left.</summary>
    private const long Burst = 256 << 20;

    /// <summary>The looks in turn at which a busy server has that much, before it is returned: a minute.</summary>
    private const int LooksAfterBurst = 12;

    private long _inUse;
    private bool _hasCollected = true;
    private long _stays;
    private long _commands;
    private int _attempts;
    private int _looks;
    private int _looksAfterBurst;

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        _stays = Held();
        HeapRelief.DropSpares = DropSpareBuffers;
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
            server.Failures.WorkFailed("The look for garbage failed", bug);
        }
    }

    private void Look()
    {
        bool isIdle = IsIdle();
        if (!isIdle) Collect();
        _looksAfterBurst = Held() - _stays > Burst ? _looksAfterBurst + 1 : 0;
        if (isIdle || _looksAfterBurst >= LooksAfterBurst) GiveBack();
    }

    private void Collect()
    {
        long now = Unknown(GC.GetTotalMemory(forceFullCollection: false));
        // Memory that a collection did not free is in use.
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
        DropSpareBuffers();
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        // Objects may become garbage shortly after a collection. The remaining memory counts as in use only after several
        // attempts.
        if (++_attempts < Attempts) return;
        _stays = Held();
        _attempts = 0;
    }

    private void DropSpareBuffers()
    {
        BlockPool.OfProcess.Clear();
        if (!EventLoopListenerFactory.IsSupported) return;
        foreach (EventLoopListenerFactory loops in transports.OfType<EventLoopListenerFactory>()) loops.DropSpareBuffers();
    }

    /// <summary>
    /// The memory that the collector holds, garbage included. Allocations since the last collection may exceed the committed
    /// bytes that it reported then.
    /// </summary>
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
