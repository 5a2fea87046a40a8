using System.Buffers;
using Microsoft.Extensions.Logging;
using RedisClone.Journal.Disk;
using RedisClone.Protocol;
using RedisClone.Server.Durability;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;

namespace RedisClone.Server.Replication;

/// <summary>
/// Whom this server feeds: replicas, and whatever speaks like one to move data. All that wait share a snapshot; what happens from its moment on is kept for
/// them until they have taken it.
/// </summary>
internal sealed class Replicas(ServerCore server, SnapshotSlot slot)
{
    // Taken before the stream's own.
    private readonly Lock _gate = new();
    private readonly List<(Func<bool> IsMet, Waiter Waiter)> _waiters = [];
    private Replica[] _all = [];
    private long _lastPing;
    private long _nextSign;

    public ReplicationStream Stream { get; } = new();

    /// <summary>In the order in which they asked.</summary>
    public IReadOnlyList<Replica> All => _all;

    /// <summary>How often everything was asked for.</summary>
    public long FullCopies { get; private set; }

    private string SnapshotPath => server.Snapshots.TemporaryPath(Snapshots.ForReplicas);

    /// <summary>Those that follow, and were heard of lately enough for min-replicas-max-lag.</summary>
    public int CountGood()
    {
        long since = ServerCore.UnixMilliseconds() - server.Config.MinReplicasMaxLag * 1000L;
        return _all.Count(replica => replica.State == ReplicaState.Follows && replica.AcknowledgedAt >= since);
    }

    /// <summary>Those that have processed the stream up to an offset.</summary>
    public int CountAt(long offset) => _all.Count(replica => replica.State == ReplicaState.Follows && replica.Acknowledged >= offset);

    /// <summary>Those that have it on their disks up to there.</summary>
    public int CountFlushedAt(long offset) => _all.Count(replica => replica.State == ReplicaState.Follows && replica.Flushed >= offset);

    /// <summary>A client wants everything, and to be told from then on.</summary>
    public void Admit(Replica replica)
    {
        FullCopies++;
        replica.Await();
        lock (_gate) _all = [.. _all, replica];
        Begin();
    }

    /// <summary>A client is gone.</summary>
    public void Remove(Replica? replica)
    {
        if (replica is null) return;
        lock (_gate)
        {
            // It leaves the stream first, which needs no memory: what it has not sent would be kept for ever.
            Leave(replica);
            replica.Dispose();
            _all = [.. _all.Where(other => other != replica)];
        }
    }

    /// <summary>A message that was published goes to the replicas' subscribers too, behind the effects of the unit that it is part of.</summary>
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

    /// <summary>Lets a blocked client go on once its condition is met; the replicas are asked to tell how far they are.</summary>
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

    /// <summary>Ten times a second.</summary>
    public void Tend(long now)
    {
        if (_all.Length == 0) return;
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
        if (_all.Any(static replica => replica is { State: ReplicaState.WaitsForSnapshot, IsMarked: false }) && slot.Kind == SnapshotKind.None)
        {
            var job = new CopyJob(this);
            if (slot.TryClaim(SnapshotKind.Replicas)) slot.StartWhenHeld(job);
        }
    }

    /// <summary>The snapshot was called off for something more urgent: another follows.</summary>
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

    /// <summary>With nobody left who follows, effects cost nothing again.</summary>
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

    /// <summary>The snapshot for all that wait when it begins, and want the same of it; the others get theirs next.</summary>
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

        /// <summary>Each gets the file for itself, and its name goes: it lives as long as somebody reads it.</summary>
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
