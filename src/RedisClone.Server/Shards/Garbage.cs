using RedisClone.Server.Admin;

namespace RedisClone.Server.Shards;

/// <summary>
/// The collector looks for garbage when something is allocated, and so little is here that what large requests and clients who are gone have
/// left could lie for hours. A look now and then at what is neither data nor a client's tells when it is worth a collection beside running
/// clients: there is next to nothing to walk. Such a one keeps the memory for later; when nobody wants anything, it goes back to the system.
/// </summary>
internal sealed class Garbage(ServerCore server)
{
    private const long MillisecondsBetweenLooks = 5_000;

    /// <summary>Commands between two looks: somebody asks whether the server lives.</summary>
    private const long CommandsOfIdleness = 100;

    private long _nextLook;
    private long _inUse;
    private bool _hasCollected = true;
    private long _stays;
    private long _commands;

    public void Look(long now)
    {
        if (now < _nextLook) return;
        _nextLook = now + MillisecondsBetweenLooks;
        MemoryUsage known = MemoryUsage.Read(server);
        long heap = GC.GetTotalMemory(forceFullCollection: false), other = heap - known.Reserved - known.Clients - known.Scripts;
        // What a collection has left is in use.
        if (_hasCollected || other < _inUse) _inUse = other;
        _hasCollected = other - _inUse > Limits.Garbage;
        bool isIdle = IsIdle();
        if (_hasCollected) GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: false, compacting: false);
        else if (isIdle && Spare - _stays > Limits.Garbage) GiveBack();
    }

    /// <summary>What the collector holds beyond what is allocated.</summary>
    private static long Spare => Math.Max(0, GC.GetGCMemoryInfo().TotalCommittedBytes - GC.GetTotalMemory(forceFullCollection: false));

    private void GiveBack()
    {
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        _stays = Spare;
    }

    private bool IsIdle()
    {
        long before = _commands;
        _commands = server.Statistics.Totals.CommandsProcessed;
        return _commands - before < CommandsOfIdleness;
    }
}
