using System.Diagnostics;
using RedisClone.Engine.Caching;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Effects;

/// <summary>
/// The counters and scratch buffers that a thread uses while it executes commands, so that no two threads write to the same
/// cache line. Readers sum over all lanes.
/// </summary>
internal sealed class Lane
{
    private static readonly long s_clockStays = Stopwatch.Frequency / 4_000;

    [ThreadStatic] private static Lane? t_lane;

    private readonly LaneSet _owner;
    private readonly KeyMap<bool> _absent = new();
    private CommandCounters[] _calls;
    private LatencyHistogram?[] _latencies;

    private LatencyHistogram? _batches, _received, _sent;
    private long _clock, _clockRead;    // milliseconds since 1970, and the timestamp of the reading

    internal Lane(LaneSet owner)
    {
        _owner = owner;
        Messages = new HeldMessages(owner.Order);
        _calls = new CommandCounters[owner.Commands];
        _latencies = new LatencyHistogram?[owner.Commands];
    }

    public long CommandsProcessed, KeyspaceHits, KeyspaceMisses, ExpiredKeys, ExpiredFields, EvictedKeys, NetInput, NetOutput, ErrorReplies;
    public long UnexpectedErrors, FailedAllocations, Changes, Reads, Writes, LargestBatch, Hops, ScriptsOnTheirKeys, ScriptsOnAllShards;

    /// <summary>The sizes of the batches in commands; null while there was none, like the next two.</summary>
    internal LatencyHistogram? Batches => _batches;

    /// <summary>The sizes of the batches in bytes.</summary>
    internal LatencyHistogram? Received => _received;

    /// <summary>The sizes of the flushed output in bytes.</summary>
    internal LatencyHistogram? Sent => _sent;

    /// <summary>Error replies of all lanes by their code.</summary>
    public ErrorStatistics Errors => _owner.Errors;

    /// <summary>Call counters by <see cref="CommandRow.Id"/>.</summary>
    public CommandCounters[] Calls => _calls;

    /// <summary>Latencies by <see cref="CommandRow.Id"/>.</summary>
    public ReadOnlySpan<LatencyHistogram?> Latencies => _latencies;

    /// <summary>Keys that the running command changed and that clients are blocked on, in the order of the changes.</summary>
    public List<(Shard Shard, DatabaseKey Key)> ReadyKeys { get; } = [];

    /// <summary>What clients in broadcast mode learn of the running unit.</summary>
    internal PendingInvalidations Invalidations { get; } = new();

    /// <summary>Whether the running unit needs work at its end: ready keys, changes for broadcast mode or keys noted as absent.</summary>
    internal bool HasFollowUps { get; set; }

    public EffectBuffer Effects { get; } = new();

    /// <summary>Whether a script of the running unit was abandoned by a shutdown, so that the unit is dropped.</summary>
    internal bool IsAbandoned { get; set; }

    internal HeldMessages Messages { get; }

    /// <summary>A number that changes when the ready keys are forgotten.</summary>
    internal long ReadyUnit { get; private set; }

    /// <summary>Notes a changed key that clients wait for, once in a unit: a script may change a key a million times.</summary>
    internal void NoteReady(Shard shard, ShardKeys.WaiterQueue waiters, int database, ReadOnlySpan<byte> key)
    {
        if (waiters.Noted == (this, ReadyUnit)) return;
        AddReady(shard, new DatabaseKey(database, key.ToArray()));
        waiters.Noted = (this, ReadyUnit);
    }

    internal void ForgetReady()
    {
        ReadyUnit++;
        ReadyKeys.Reuse();
    }

    internal void AddReady(Shard shard, in DatabaseKey key)
    {
        ReadyKeys.Add((shard, key));
        HasFollowUps = true;
    }

    /// <summary>Notes, until the end of the unit, that a lookup did not find a key.</summary>
    internal void NoteAbsent(int database, ReadOnlySpan<byte> key)
    {
        _absent.Set(database, key, true);
        HasFollowUps = true;
    }

    /// <summary>Removes a key from those noted as absent; false if it was not noted.</summary>
    internal bool TakeAbsent(int database, ReadOnlySpan<byte> key) => _absent.Count > 0 && _absent.Remove(database, key);

    /// <summary>Forgets the keys noted as absent, because the databases have changed places.</summary>
    internal void ForgetAbsent() => _absent.Clear();

    /// <summary>
    /// Milliseconds since 1970 at a timestamp of the clock that measures commands. The thread reads the clock again after a part of a
    /// millisecond: the commands of a batch may take seconds together.
    /// </summary>
    internal long UnixMillisecondsAt(long timestamp)
    {
        if (timestamp - _clockRead < s_clockStays) return _clock;
        _clockRead = timestamp;
        return _clock = ServerCore.UnixMilliseconds();
    }

    /// <summary>Begins a unit: messages about it are held back until its effects have their LSN.</summary>
    internal void BeginUnit() => Messages.Hold();

    internal void EndUnit()
    {
        ForgetAbsent();
        HasFollowUps = false;
    }

    /// <summary>Counts an error reply by its code, which is the first word of its text.</summary>
    public void CountError(ReadOnlySpan<byte> code)
    {
        ErrorReplies++;
        Errors.Count(code);
    }

    public void CountLatency(int command, long ticks) => (_latencies[command] ??= new LatencyHistogram()).Add(ticks);

    /// <summary>Counts a batch of commands that a client sent.</summary>
    public void CountBatch(int commands, long bytes)
    {
        Reads++;
        if (commands > LargestBatch) LargestBatch = commands;
        (_batches ??= new LatencyHistogram()).Add(commands);
        (_received ??= new LatencyHistogram()).Add(bytes);
    }

    /// <summary>Counts output that is handed to the transport.</summary>
    public void CountSent(long bytes)
    {
        Writes++;
        (_sent ??= new LatencyHistogram()).Add(bytes);
    }

    /// <summary>
    /// Resets the command counters. Any thread may call it. The lane's own thread may count one more command in the old
    /// counters, but never restores an old value.
    /// </summary>
    internal void ForgetCalls()
    {
        _calls = new CommandCounters[_calls.Length];
        _latencies = new LatencyHistogram?[_latencies.Length];
    }

    internal static Lane Current(LaneSet set) => t_lane is { } lane && lane._owner == set ? lane : t_lane = set.OfThread();
}

/// <summary>The counters of one command on one lane.</summary>
internal struct CommandCounters
{
    public long Calls, Ticks, Rejected, Failed;
}

/// <summary>All lanes of one server. A process may host several servers.</summary>
internal sealed class LaneSet(int commands, ErrorStatistics errors)
{
    private readonly Lock _adding = new();
    private readonly Dictionary<int, Lane> _ofThreads = [];
    private Lane[] _lanes = [];

    public int Commands => commands;

    public ErrorStatistics Errors => errors;

    public MessageOrder Order { get; } = new();

    public Lane Current => Lane.Current(this);

    public ReadOnlySpan<Lane> All => _lanes;

    public long Sum(Func<Lane, long> field)
    {
        long sum = 0;
        foreach (Lane lane in _lanes) sum += field(lane);
        return sum;
    }

    /// <summary>
    /// The lane of the calling thread for this server. A thread that serves several servers gets the same lane back each
    /// time. A new thread takes over the lane of an ended thread with the same ID.
    /// </summary>
    internal Lane OfThread()
    {
        lock (_adding)
        {
            if (_ofThreads.TryGetValue(Environment.CurrentManagedThreadId, out Lane? known)) return known;
            var lane = new Lane(this);
            _ofThreads.Add(Environment.CurrentManagedThreadId, lane);
            _lanes = [.. _lanes, lane];
            return lane;
        }
    }
}
