using RedisClone.Engine.Durability;

namespace RedisClone.Engine.Replication;

/// <summary>
/// A snapshot for all replicas that wait at its moment and want the same content in the same way. The others get the next one.
/// </summary>
internal sealed class CopyJob(ServerCore server, Replicas replicas) : ISnapshotJob
{
    // CONFIG SET dir may change the path meanwhile.
    private readonly string _path = server.Snapshots.TemporaryPath(Snapshots.ForReplicas);
    private Replica[] _takers = [];

    /// <summary>The snapshot that the replicas are sent while it is taken; null for a file, or before the moment.</summary>
    public SnapshotFeed? Feed { get; private set; }

    /// <summary>Whether all replicas that it is for have left.</summary>
    public bool IsAbandoned => _takers.Length > 0 && (Feed?.IsOver ?? !Array.Exists(_takers, replicas.Has));

    public SnapshotOrder? Mark()
    {
        // A replica that must copy all data itself has no stream that could follow the snapshot.
        if (server.Role.IsReplica && !replicas.Stream.IsOpen) return null;
        // On a replica, the stream after the snapshot may begin in another database than 0.
        int database = server.Role is { IsReplica: true } role ? role.StreamDatabase : -1;
        lock (replicas.Gate)
        {
            _takers = replicas.TakersDue(ServerCore.UnixMilliseconds(), out bool streams);
            if (_takers is not [var first, ..]) return null;
            ISnapshotOutput output = streams ? Feed = new SnapshotFeed(_takers) : new SnapshotFileOutput(server.Disk, _path);
            var order = new SnapshotOrder(output) { OnlyFunctions = first.OnlyFunctions, StreamDatabase = database };
            replicas.BeginStream();
            try
            {
                foreach (Replica replica in _takers) replicas.Stream.Join(replica);
                replicas.Began(this);
            }
            catch (OutOfMemoryException)
            {
                // A replica that has joined the stream would not be taken for the next snapshot.
                foreach (Replica replica in _takers) replicas.Restart(replica);
                throw;
            }
            Feed?.Begin();
            // The text is Redis's, although the snapshot has no process of its own.
            if (streams) server.Log.LogInformation("Background RDB transfer started by pid {Id}", Environment.ProcessId);
            return order;
        }
    }

    /// <summary>Gives each replica its own handle of the file.</summary>
    public string? Publish() => Feed is not null ? null : server.Snapshots.HandOver(_path, open =>
    {
        lock (replicas.Gate)
            foreach (Replica replica in _takers)
                if (replicas.Has(replica)) replica.Give(open());
    });

    public void Ended(SnapshotRun run, string? failure)
    {
        replicas.Ended(this);
        if (failure is null) return;
        if (!run.IsCancelled) server.Log.LogWarning("The snapshot for replicas failed: {Reason}", failure);
        foreach (Replica replica in _takers)
        {
            // A replica that has a part of the snapshot cannot wait for another one.
            if (Feed is not null && replica.Reads(Feed)) replica.Connection.Kill();
            if (replica.HasSnapshot) continue;
            if (run.IsCancelled) replicas.Restart(replica);
            else replica.Connection.Kill();
        }
    }
}
