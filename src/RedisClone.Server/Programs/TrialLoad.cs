using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Durability;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Reading;

namespace RedisClone.Server.Programs;

/// <summary>
/// Loads one journal or snapshot as a server does at startup, into a server that has no clients and is discarded afterwards.
/// Only a complete load shows whether a file is valid, because the handlers decide what its content means.
/// </summary>
internal sealed class TrialLoad
{
    private const string Verifying = "Verifying";

    private readonly ServerCore _server;
    private readonly JournalStep _step;
    private readonly string? _refusal;

    /// <param name="config">The settings of the server.</param>
    /// <param name="disk">The disk.</param>
    /// <param name="step">Receives how far the load is.</param>
    public TrialLoad(ServerConfig config, IDisk disk, JournalStep step)
    {
        _step = step;
        _server = new ServerCore(config, new ConfigTable(config), new CommandTable(CommandFamilies.All), NullLogger<ServerCore>.Instance, disk);
        // A start reads more files: users, nodes.conf and the role. It also writes the last two.
        _refusal = _server.RenameCommands();
        _server.BeginLoading();
    }

    public JournalReport Journal(JournalNames names, bool isOldStyle)
    {
        if (_refusal is not null) return new() { Outcome = JournalOutcome.Refused, Reason = _refusal };
        using var loader = new JournalLoader(_server);
        return JournalTools.Verify(_server.Disk, names, new ReadOptions(_server.Config.AofLoadTruncated), loader,
            reader => _step(Verifying, () => reader.TotalBytes, () => reader.BytesRead + loader.SnapshotOffset), isOldStyle);
    }

    /// <summary>Returns null if the snapshot can be loaded, else the reason and its approximate offset.</summary>
    public string? Snapshot(string path, out long offset)
    {
        offset = 0;
        if (_refusal is not null) return _refusal;
        try
        {
            using IDiskFile file = _server.Disk.Open(path, DiskOpen.Read);
            var loader = new SnapshotLoader(_server, keepExpired: false);
            long length = file.Length;
            _step(Verifying, () => length, () => loader.Offset);
            return loader.Load(file, out offset);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }
}
