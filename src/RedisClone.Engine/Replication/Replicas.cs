using System.Buffers;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Disk;
using RedisClone.Protocol;

namespace RedisClone.Engine.Replication;

/// <summary>
/// The replicas that this server feeds, including tools that act as a replica to copy data. All clients that wait share a
/// snapshot. The stream from its moment on is kept until they have received it.
/// </summary>
internal sealed class Replicas(ServerCore server, SnapshotSlot slot)
{
    // Lock order: this lock, then the lock of the stream.
    private readonly Lock _gate = new();
    private readonly List<(Func<bool> IsMet, Waiter Waiter)> _waiters = [];
    private readonly SharedList<Replica> _all = [];
    private long _lastPing;
    private long _nextSign;

    public ReplicationStream Stream { get; } = new();

    /// <summary>All replicas in the order in which they asked.</summary>
    public IEnumerable<Replica> All => _all;

    public int Count => _all.Count;

    /// <summary>The number of requests for a full copy.</summary>
    public long FullCopies { get; private set; }

    private string SnapshotPath => server.Snapshots.TemporaryPath(Snapshots.ForReplicas);

    /// <summary>The number of replicas that follow the stream and acknowledged within min-replicas-max-lag.</summary>
    public int CountGood()
    {
        long since = ServerCore.UnixMilliseconds() - server.Config.MinReplicasMaxLag * 1000L;
        return _all.Count(replica => replica.State == ReplicaState.Follows && replica.AcknowledgedAt >= since);
    }

    /// <summary>The number of replicas that have processed the stream up to an offset.</summary>
    public int CountAt(long offset) => _all.Count(replica => replica.State == ReplicaState.Follows && replica.Acknowledged >= offset);

    /// <summary>The number of replicas that have the stream up to an offset on their disk.</summary>
    public int CountFlushedAt(long offset) => _all.Count(replica => replica.State == ReplicaState.Follows && replica.Flushed >= offset);

    /// <summary>Adds a client that asked for a snapshot and the stream after it.</summary>
    public void Admit(Replica replica)
    {
        FullCopies++;
        replica.Await();
        lock (_gate) _all.Add(replica);
        Begin();
    }

    /// <summary>Removes a replica whose connection has ended. It takes no memory.</summary>
    public void Remove(Replica? replica)
    {
        if (replica is null) return;
        lock (_gate)
        {
            // It leaves the stream first. If an earlier step failed, the stream would be kept for it forever.
            Leave(replica);
            replica.Dispose();
            _all.Remove(replica);
        }
    }

    /// <summary>
    /// Passes a published message to the subscribers of the replicas, after the effects of the unit that it is part of.
    /// </summary>
    public void Relay(in Request request, Lane lane)
    {
        if (!Stream.HasFollowers) return;
        var bytes = new ArrayBufferWriter<byte>();
        var writer = new ReplyWriter(bytes);
        writer.ArrayHeader(request.Count);
        for (int i = 0; i < request.Count; i++) writer.Bulk(request[i]);
        writer.Commit();
        byte[] message = bytes.WrittenSpan.ToArray();
        if (!lane.Messages.TryAdd(Stream, message)) ((IMessageTarget)Stream).PushNow(message);
    }

    /// <summary>
    /// Resumes a blocked client once its condition is met. The replicas are asked to acknowledge their offset.
    /// </summary>
    public void WakeWhen(Func<bool> isMet, Waiter waiter)
    {
        lock (_waiters) _waiters.Add((isMet, waiter));
        Stream.Say("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"u8);
        WakeWaiters();
    }

    public void Acknowledged(Replica replica, long processed, long flushed)
    {
        replica.Acknowledge(processed, flushed, ServerCore.UnixMilliseconds());
        WakeWaiters();
    }

    /// <summary>
    /// Runs the periodic work: begins a snapshot, pings replicas and disconnects those that have timed out; called in every
    /// round of background work.
    /// </summary>
    public void Tend(long now)
    {
        if (_all.Count == 0) return;
        Begin();
        WakeWaiters();
        if (Stream.HasFollowers && now - _lastPing >= server.Config.ReplPingReplicaPeriod * 1000L)
        {
            _lastPing = now;
            Stream.Say("*1\r\n$4\r\nPING\r\n"u8);
        }
        if (now < _nextSign) return;
        _nextSign = now + 1000;
        long timeout = server.Config.ReplTimeout * 1000L;
        foreach (Replica replica in _all)
        {
            if (!replica.HasSnapshot) replica.Step();
            if (replica is not { IsModern: true, State: ReplicaState.Follows } || now - replica.AcknowledgedAt <= timeout) continue;
            server.Log.LogWarning("Disconnecting timedout replica (streaming sync): {Client}", ClientDescription.Of(replica.Connection.Session));
            replica.Connection.Kill();
        }
    }

    private void Begin()
    {
        if (_all.Any(static replica => replica is { State: ReplicaState.WaitsForSnapshot, IsMarked: false }))
            slot.TryStart(SnapshotKind.Replicas, () => new CopyJob(this), isHeld: false);
    }

    /// <summary>Makes a replica wait for another snapshot after its snapshot was cancelled.</summary>
    private void Restart(Replica replica)
    {
        lock (_gate)
        {
            Leave(replica);
            replica.Await();
        }
    }

    private void BeginStream()
    {
        _lastPing = ServerCore.UnixMilliseconds();
        server.Effects.Attach(Stream);
    }

    /// <summary>
    /// Removes a replica from the stream. Without followers the stream is detached, so that effects cost nothing again.
    /// </summary>
    private void Leave(Replica replica)
    {
        if (Stream.HasFollowers && !Stream.Leave(replica)) server.Effects.Detach(Stream);
    }

    private void WakeWaiters()
    {
        lock (_waiters)
        {
            foreach ((Func<bool> isMet, Waiter waiter) in _waiters)
                if (isMet()) waiter.Wake(WakeReason.Unblocked);
            _waiters.RemoveAll(static waiting => waiting.Waiter.IsClaimed);
        }
    }

    /// <summary>
    /// A snapshot for all replicas that wait at its moment and want the same content. The others get the next one.
    /// </summary>
    private sealed class CopyJob(Replicas replicas) : ISnapshotJob
    {
        private Replica[] _takers = [];

        public SnapshotOrder Mark()
        {
            bool onlyFunctions;
            lock (replicas._gate)
            {
                Replica[] waiting = [.. replicas._all.Where(static replica => replica.State == ReplicaState.WaitsForSnapshot)];
                onlyFunctions = waiting is [{ OnlyFunctions: true }, ..];
                _takers = [.. waiting.Where(replica => replica.OnlyFunctions == onlyFunctions)];
                if (_takers.Length > 0 && !replicas.Stream.HasFollowers) replicas.BeginStream();
                foreach (Replica replica in _takers) replicas.Stream.Join(replica);
            }
            return new SnapshotOrder(replicas.Server.Disk, replicas.SnapshotPath) { OnlyFunctions = onlyFunctions };
        }

        /// <summary>
        /// Opens the file for each replica and deletes its name. The file exists until the last replica has closed it.
        /// </summary>
        public string? Publish()
        {
            IDisk disk = replicas.Server.Disk;
            try
            {
                lock (replicas._gate)
                    foreach (Replica replica in _takers)
                        if (replicas._all.Contains(replica)) replica.Give(disk.Open(replicas.SnapshotPath, DiskOpen.Read));
                disk.Delete(replicas.SnapshotPath);
                return null;
            }
            catch (Exception failure) when (DiskFailure.Is(failure))
            {
                return failure.Message;
            }
        }

        public void Ended(SnapshotRun run, string? failure)
        {
            if (failure is null) return;
            if (!run.IsCancelled) replicas.Server.Log.LogWarning("The snapshot for replicas failed: {Reason}", failure);
            foreach (Replica replica in _takers)
            {
                if (replica.HasSnapshot) continue;
                if (run.IsCancelled) replicas.Restart(replica);
                else replica.Connection.Kill();
            }
        }
    }

    private ServerCore Server => server;
}
