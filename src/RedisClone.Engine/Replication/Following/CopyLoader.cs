using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;

namespace RedisClone.Engine.Replication.Following;

/// <summary>Replaces all data by the snapshot of a primary.</summary>
internal sealed class CopyLoader(ServerCore server)
{
    /// <summary>The database that the stream after the snapshot is in.</summary>
    public int Database { get; private set; }

    /// <summary>
    /// Reads a snapshot without loading it. Returns null, or the reason why it cannot be loaded. The old data is deleted only
    /// after this check.
    /// </summary>
    public string? Check(IDiskFile file)
    {
        var checker = new Checker();
        string? failure = RdbFileReader.Read(new RdbReader(file), checker, server.Config.RdbChecksum);
        if (failure is null && checker.LastDatabase >= server.Config.Databases) failure = $"it has more than {server.Config.Databases} databases";
        return failure;
    }

    /// <summary>
    /// Deletes all data and loads the snapshot. Returns null, or the reason of a failure. The caller holds every shard.
    /// </summary>
    public string? Load(IDiskFile file)
    {
        server.Snapshots.Slot.Cancel();
        var loader = new SnapshotLoader(server, keepExpired: true);
        long length = file.Length;
        Lane lane = server.Lanes.Current;
        server.Loading?.Measure(() => length, () => loader.Offset);
        string? failure;
        try
        {
            DataSet.Drop(server, lane);
            failure = loader.Load(file, out _);
            if (failure is null) server.Executor.FollowUp(lane, server.Shards.All);
        }
        catch (Exception lack) when (FailurePolicy.IsOutOfMemory(lack))
        {
            failure = LoadRoom.LacksMemory;
        }
        Database = Math.Max(0, loader.StreamDatabase);
        // A part of a snapshot is not the data of any moment.
        if (failure is not null) DataSet.Abandon(server);
        return failure;
    }

    /// <summary>Accepts every key of a snapshot and keeps none.</summary>
    private sealed class Checker : IRdbVisitor
    {
        public int LastDatabase { get; private set; }

        public void Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
        {
        }

        public void Resize(int database, long keys, long expiring)
        {
        }

        public string? Function(ReadOnlySpan<byte> code) => null;

        public IRdbValueVisitor? Key(in RdbKey key)
        {
            LastDatabase = Math.Max(LastDatabase, key.Database);
            return null;
        }

        public void SkippedEmpty()
        {
        }
    }
}
