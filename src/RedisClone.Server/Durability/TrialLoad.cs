using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Reading;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Durability;

/// <summary>
/// Loads one journal or snapshot as a start would, into a server that nobody reaches and that is thrown away: only so is it known what a start would say,
/// since what a file means is decided by whoever loads it.
/// </summary>
internal sealed class TrialLoad
{
    private readonly ServerCore _server;
    private readonly string? _refusal;

    public TrialLoad(ServerConfig config, IDisk disk)
    {
        _server = new ServerCore(config, new ConfigTable(config), NullLogger<ServerCore>.Instance, disk);
        _refusal = _server.Prepare();
    }

    public JournalReport Journal(JournalNames names)
    {
        if (_refusal is not null) return new() { Outcome = JournalOutcome.Refused, Reason = _refusal };
        using var loader = new JournalLoader(_server);
        return JournalTools.Verify(_server.Disk, names, new ReadOptions(_server.Config.AofLoadTruncated), loader);
    }

    /// <summary>Null when it can be loaded, or what is wrong at about which offset.</summary>
    public string? Snapshot(string path, out long offset)
    {
        offset = 0;
        if (_refusal is not null) return _refusal;
        try
        {
            using IDiskFile file = _server.Disk.Open(path, DiskOpen.Read);
            return new SnapshotLoader(_server, keepExpired: false).Load(file, out offset);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }
}
