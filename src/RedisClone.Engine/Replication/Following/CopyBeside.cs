using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Scripting;
using RedisClone.Journal.Disk;
using RedisClone.Storage;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// Loads the snapshot of a primary beside the old data, which clients read meanwhile, and then replaces the old data at once. It
/// needs memory for both.
/// </summary>
internal sealed class CopyBeside
{
    private readonly ServerCore _server;
    private readonly ShardStore[] _stores;
    private readonly SnapshotLoader _loader;

    public CopyBeside(ServerCore server)
    {
        _server = server;
        _stores = server.Shards.NewStores();
        _loader = new SnapshotLoader(server, keepExpired: true, replace: false, _stores);
    }

    /// <summary>The database that the stream after the snapshot is in.</summary>
    public int Database => Math.Max(0, _loader.StreamDatabase);

    /// <summary>Loads the snapshot. Returns null, or the reason of a failure; the old data is as before.</summary>
    public string? Load(IDiskFile file)
    {
        try
        {
            return _loader.Load(file, out _);
        }
        catch (Exception lack) when (FailurePolicy.IsOutOfMemory(lack))
        {
            return LoadRoom.LacksMemory;
        }
    }

    /// <summary>Whether <see cref="Publish"/> has replaced the old data, also if it failed afterwards.</summary>
    public bool HasReplaced { get; private set; }

    /// <summary>Replaces the old data. Returns null, or the reason of a failure. The caller holds every shard.</summary>
    public string? Publish()
    {
        try
        {
            if (ReplaceLibraries() is { } problem) return problem;
            Replace();
            return null;
        }
        catch (OutOfMemoryException)
        {
            return LoadRoom.LacksMemory;
        }
    }

    private void Replace()
    {
        _server.Snapshots.Slot.Cancel();
        Lane lane = _server.Lanes.Current;
        long now = ServerCore.UnixMilliseconds();
        // The notes need memory, so they come first: the shards have the data of one moment, whatever fails.
        for (int i = 0; i < _server.Shards.Count; i++)
            for (int database = 0; database < _server.Config.Databases; database++)
                _server.Shards[i].NoteReplaced(database, _stores[i].ExistingDatabase(database), lane, now);
        for (int i = 0; i < _server.Shards.Count; i++) _server.Shards[i].Replace(_stores[i]);
        HasReplaced = true;
        _server.Invalidations.InvalidateAll();
        _server.Executor.FollowUp(lane, _server.Shards.All);
    }

    /// <summary>Replaces the function libraries. If one of them cannot be loaded, the old ones stay.</summary>
    private string? ReplaceLibraries()
    {
        LibrarySet libraries = _server.Scripts.Libraries;
        byte[][] old = [.. libraries.All.Select(static library => library.Source)];
        if (old.Length == 0 && _loader.Libraries.Count == 0) return null;
        if (Fill(_loader.Libraries) is not { } problem) return null;
        Fill(old);
        return problem;
    }

    private string? Fill(IEnumerable<byte[]> sources)
    {
        _server.Scripts.Libraries.Clear();
        foreach (byte[] source in sources)
            if (_server.Scripts.Restore(source, replace: false) is { } problem) return problem;
        return null;
    }
}
