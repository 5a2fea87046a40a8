using System.Globalization;
using System.Buffers;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Replication;

/// <summary>
/// The replicas that this server feeds, including tools that act as a replica to copy data. All clients that wait share a
/// snapshot. The stream from its moment on is kept until they have received it.
/// </summary>
internal sealed class Replicas(ServerCore server, SnapshotSlot slot)
{
    private readonly List<(Func<bool> IsMet, Waiter Waiter)> _waiters = [];
    private readonly SharedList<Replica> _all = [];
    private long _lastPing;
    private long _nextSign;
    private long _aloneSince;
    private CopyJob? _job;              // the snapshot in progress
    private SnapshotFeed[] _feeds = []; // snapshots in memory that replicas still read

    /// <summary>Protects the list of replicas and what they are sent. Lock order: this lock, then the lock of the stream.</summary>
    public Lock Gate { get; } = new();

    public ReplicationStream Stream { get; } = new();

    /// <summary>All replicas in the order in which they asked.</summary>
    public IEnumerable<Replica> All => _all;

    public int Count => _all.Count;

    /// <summary>The number of requests for a full copy.</summary>
    public long FullCopies { get; private set; }

    /// <summary>The number of requests to continue that were granted, and that were not.</summary>
    public long Continuations { get; private set; }

    public long RefusedContinuations { get; private set; }

    /// <summary>Whether a snapshot for replicas is taken, or is in memory for one of them.</summary>
    public bool IsCopying => Volatile.Read(ref _job) is not null || Volatile.Read(ref _feeds).Length > 0;

    /// <summary>The number of replicas that have the whole snapshot and gave a sign of life within min-replicas-max-lag.</summary>
    public int CountGood()
    {
        long since = ServerCore.UnixMilliseconds() - server.Config.MinReplicasMaxLag * 1000L;
        return _all.Count(replica => replica.HasWholeSnapshot && replica.AcknowledgedAt >= since);
    }

    /// <summary>The number of replicas that have processed the stream up to an offset.</summary>
    public int CountAt(long offset) => _all.Count(replica => replica.State == ReplicaState.Follows && replica.Acknowledged >= offset);

    /// <summary>
    /// The number of replicas that have the stream up to an offset on their disk. A replica that has flushed nothing, or keeps no journal, reports
    /// zero, also about a copy of data from before the stream.
    /// </summary>
    public int CountFlushedAt(long offset) => _all.Count(replica => replica.State == ReplicaState.Follows && replica.Flushed >= Math.Max(offset, 1));

    /// <summary>Whether every replica that has a whole copy has processed the stream up to an offset.</summary>
    public bool HaveAll(long offset) => _all.All(replica => replica is not { HasWholeSnapshot: true, IsModern: true } || replica.Acknowledged >= offset);

    /// <summary>The number of replicas that follow the stream and have not acknowledged all of it.</summary>
    public int CountBehind()
    {
        long offset = Stream.Offset;
        return _all.Count(replica => replica is { State: ReplicaState.Follows, IsModern: true } && replica.Acknowledged < offset);
    }

    /// <summary>Logs the replicas that have not acknowledged the whole stream, and their number.</summary>
    public void LogLagging()
    {
        long offset = Stream.Offset, now = ServerCore.UnixMilliseconds();
        int count = 0, behind = 0;
        foreach (Replica replica in _all)
        {
            count++;
            if (!replica.IsModern || replica.State == ReplicaState.Follows && replica.Acknowledged >= offset) continue;
            behind++;
            string state = string.Create(
                CultureInfo.InvariantCulture, $"offset {offset - replica.Acknowledged} behind master, lag={replica.Lag(now)}, state={replica.StateName}");
            server.Log.LogInformation("Lagging replica {Host}:{Port} reported {State}.", replica.Host, replica.ListeningPort, state);
        }
        server.Log.LogInformation("{InSync} of {Count} replicas are in sync when shutting down.", count - behind, count);
    }

    /// <summary>Adds a client that asked for a snapshot and the stream after it.</summary>
    public void Admit(Replica replica)
    {
        FullCopies++;
        replica.Await();
        lock (Gate) _all.Add(replica);
        Begin();
    }

    /// <summary>
    /// Adds a client that has the stream of a history up to an offset, and sends it the rest. False if that is not possible.
    /// </summary>
    public bool TryContinue(Replica replica, string history, long offset)
    {
        bool granted;
        // The history changes under this lock when the stream ends.
        lock (Gate)
        {
            granted = server.History.Shares(history, offset) && Stream.TryJoinAt(replica, offset);
            if (granted) _all.Add(replica);
        }
        if (granted) Continuations++;
        else if (history != "?") RefusedContinuations++;
        if (!granted) return false;
        server.Log.LogInformation("Partial resynchronization request from {Host} accepted. Sending the stream from offset {Offset}.", replica.Host, offset);
        replica.Continue(replica.Connection.Session.Reply, server.History.Id, ServerCore.UnixMilliseconds());
        return true;
    }

    public void ResetCounts() => FullCopies = Continuations = RefusedContinuations = 0;

    /// <summary>Disconnects all replicas, so that they ask again and learn what has changed.</summary>
    public void Disconnect()
    {
        foreach (Replica replica in _all) replica.Connection.Kill();
    }

    /// <summary>Begins to add the effects of this server to the stream, as a primary. The caller holds every shard.</summary>
    public void Lead()
    {
        Stream.Lead();
        if (!Stream.IsOpen) return;
        server.Effects.Attach(Stream);
        _aloneSince = ServerCore.UnixMilliseconds();
    }

    /// <summary>Begins the stream at the position of the data that was loaded. The caller holds every shard.</summary>
    public void Resume(long offset, bool leads)
    {
        Stream.Restart(offset);
        if (!leads) return;
        _lastPing = _aloneSince = ServerCore.UnixMilliseconds();
        server.Effects.Attach(Stream);
    }

    /// <summary>Begins the stream again after all data was copied from a primary. The caller holds every shard.</summary>
    public void Restart(long offset)
    {
        Stream.Restart(offset);
        Disconnect();
    }

    /// <summary>Ends the stream. The replicas must copy all data again.</summary>
    public void Close()
    {
        EndStream();
        Disconnect();
    }

    /// <summary>Removes a replica, of this stream or of another one, whose connection has ended. It takes no memory.</summary>
    public void Remove(Replica? replica)
    {
        if (replica is null) return;
        lock (Gate)
        {
            // It leaves the stream and the list first. If an earlier step failed, both would keep it for ever.
            replica.Leave();
            _all.Remove(replica);
            server.ClientMemory.Fed(replica);
            replica.Dispose();
        }
    }

    /// <summary>
    /// Passes a published message to the subscribers of the replicas, after the effects of the unit that it is part of.
    /// </summary>
    public void Relay(in Request request, Lane lane)
    {
        if (!Stream.IsOpen || server.Role.IsReplica) return;
        var bytes = new ArrayBufferWriter<byte>();
        var writer = new ReplyWriter(bytes);
        writer.ArrayHeader(request.Count);
        for (int i = 0; i < request.Count; i++) writer.Bulk(request[i]);
        writer.Commit();
        byte[] message = bytes.WrittenSpan.ToArray();
        if (!lane.Messages.TryAdd(Stream, message)) ((IMessageTarget)Stream).PushNow(message, HeldMessages.Unknown);
    }

    /// <summary>
    /// Resumes a blocked client once its condition is met. The replicas are asked to acknowledge their offset.
    /// </summary>
    public void WakeWhen(Func<bool> isMet, Waiter waiter)
    {
        lock (_waiters) _waiters.Add((isMet, waiter));
        AskForOffsets();
        WakeWaiters();
    }

    /// <summary>Asks the replicas to acknowledge their offset at once.</summary>
    public void AskForOffsets()
    {
        // During a failover or a shutdown, the replicas must reach the end of the stream.
        if (!server.Role.IsReplica && !server.Pause.HoldsWrites) Stream.Say("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"u8);
    }

    public void Acknowledged(Replica replica, long processed, long flushed)
    {
        long now = ServerCore.UnixMilliseconds();
        replica.Acknowledge(processed, flushed, now);
        WakeWaiters();
        server.Failover.Tend(now);
    }

    /// <summary>
    /// Runs the periodic work: begins a snapshot, pings replicas and disconnects those that have timed out; called in every
    /// round of background work.
    /// </summary>
    public void Tend(long now)
    {
        TendBacklog(now);
        Stream.Trim();
        TendCopies();
        server.Failover.Tend(now);
        WakeWaiters();
        if (_all.Count == 0) return;
        Begin();
        // A replica passes on the pings of its primary.
        if (Stream.HasFollowers && !server.Role.IsReplica && !server.Pause.HoldsWrites && now - _lastPing >= server.Config.ReplPingReplicaPeriod * 1000L)
        {
            _lastPing = now;
            Stream.Say("*1\r\n$4\r\nPING\r\n"u8);
        }
        if (now < _nextSign) return;
        _nextSign = now + 1000;
        long timeout = server.Config.ReplTimeout * 1000L;
        foreach (Replica replica in _all)
        {
            if (!replica.HasWholeSnapshot) replica.Step();
            if (replica is { IsModern: true, HasWholeSnapshot: true } && now - replica.AcknowledgedAt > timeout) Disconnect(replica, "streaming");
            else if (replica.IsStuck(now, timeout)) Disconnect(replica, "full");
        }
    }

    private void Disconnect(Replica replica, string sync)
    {
        server.Log.LogWarning("Disconnecting timedout replica ({Sync} sync): {Client}", sync, ClientDescription.Of(replica.Connection.Session));
        replica.Connection.Kill();
    }

    private void Begin()
    {
        if (server.Role is { IsReplica: true, IsLinkUp: false }) return;
        if (TakersDue(ServerCore.UnixMilliseconds(), out _).Length > 0) slot.TryStart(SnapshotKind.Replicas, () => new CopyJob(server, this), isHeld: false);
    }

    public bool Has(Replica replica) => _all.Contains(replica);

    /// <summary>
    /// The replicas that the next snapshot is for; none if it is too early. Further replicas cannot join a snapshot that is sent while
    /// it is taken, so it waits for them some time.
    /// </summary>
    /// <param name="now">The time in milliseconds.</param>
    /// <param name="streams">Whether they are sent the snapshot while it is taken.</param>
    public Replica[] TakersDue(long now, out bool streams)
    {
        // CONFIG SET may change the parameter at any time.
        bool isDiskless = server.Config.ReplDisklessSync;
        foreach (Replica first in _all)
        {
            if (!Waits(first)) continue;
            bool streamsFirst = streams = Streams(first);
            Replica[] takers = [.. _all.Where(other => Waits(other) && other.OnlyFunctions == first.OnlyFunctions && Streams(other) == streamsFirst)];
            int enough = server.Config.ReplDisklessSyncMaxReplicas;
            if (!streams || enough > 0 && takers.Length >= enough) return takers;
            if (now - first.AwaitedSince >= server.Config.ReplDisklessSyncDelay * 1000L) return takers;
        }
        streams = false;
        return [];

        bool Streams(Replica replica) => isDiskless && replica.KnowsMarks;

        static bool Waits(Replica replica) => replica is { State: ReplicaState.WaitsForSnapshot, IsMarked: false };
    }

    /// <summary>Notes the snapshot in progress. The caller has the lock.</summary>
    public void Began(CopyJob job)
    {
        if (job.Feed is { } feed) Volatile.Write(ref _feeds, [.. _feeds, feed]);
        Volatile.Write(ref _job, job);
    }

    /// <summary>Notes the end of the snapshot in progress.</summary>
    public void Ended(CopyJob job)
    {
        lock (Gate)
        {
            if (_job == job) Volatile.Write(ref _job, null);
        }
    }

    /// <summary>Cancels a snapshot that is of no use any more, and logs the end of the transfers.</summary>
    private void TendCopies()
    {
        if (!IsCopying) return;
        lock (Gate)
        {
            if (_job is { IsAbandoned: true, Feed: not { IsComplete: true } } job && slot.Running is { IsOver: false })
            {
                if (job.Feed is not null) LogAllDropped();
                slot.Cancel(SnapshotKind.Replicas);
            }
            foreach (SnapshotFeed feed in _feeds)
            {
                if (!feed.IsOver || _job?.Feed == feed) continue;
                if (feed.CountUp(this) is > 0 and var up)
                    server.Log.LogInformation("Diskless rdb transfer, done reading from pipe, {Count} replicas still up.", up);
                else if (feed.IsComplete)
                    LogAllDropped();
                Volatile.Write(ref _feeds, [.. _feeds.Where(other => other != feed)]);
            }
        }
    }

    /// <summary>The text is Redis's, although no process is killed.</summary>
    private void LogAllDropped() => server.Log.LogWarning("Diskless rdb transfer, last replica dropped, killing fork child.");

    /// <summary>Makes a replica wait for another snapshot after its snapshot was cancelled.</summary>
    public void Restart(Replica replica)
    {
        lock (Gate)
        {
            if (!Has(replica)) return;
            replica.Leave();
            replica.Await();
        }
    }

    /// <summary>Begins the stream with the first replica. The caller holds every shard.</summary>
    public void BeginStream()
    {
        if (Stream.IsOpen) return;
        _lastPing = ServerCore.UnixMilliseconds();
        Stream.Open();
        try
        {
            server.Effects.Attach(Stream);
        }
        catch
        {
            // An open stream without effects would make replicas differ.
            Stream.Close();
            throw;
        }
    }

    /// <summary>What changes from now on is in no stream, so the history gets another name.</summary>
    private void EndStream()
    {
        lock (Gate)
        {
            server.History.Change();
            Stream.Close();
        }
    }

    /// <summary>
    /// Frees the backlog of a primary that has had no replica for repl-backlog-ttl, so that effects cost nothing again. Its offset
    /// stops then, so the history gets another name.
    /// </summary>
    private void TendBacklog(long now)
    {
        long patience = Math.Min(server.Config.ReplBacklogTtl, int.MaxValue) * 1000;
        lock (Gate)
        {
            if (_all.Count > 0 || !Stream.IsOpen || server.Role.IsReplica || patience == 0) _aloneSince = 0;
            else if (_aloneSince == 0) _aloneSince = now;
            if (_aloneSince == 0 || now - _aloneSince <= patience) return;
            _aloneSince = 0;
            try
            {
                EndStream();
            }
            finally
            {
                if (!Stream.IsOpen) server.Effects.Detach(Stream);
            }
            server.Log.LogInformation("Replication backlog freed after {Seconds} seconds without connected replicas.", server.Config.ReplBacklogTtl);
        }
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
}
