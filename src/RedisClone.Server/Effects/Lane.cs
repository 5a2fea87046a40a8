using RedisClone.Server.Admin;
using RedisClone.Server.Caching;
using RedisClone.Server.Commands;
using RedisClone.Server.Shards;

namespace RedisClone.Server;

/// <summary>
/// What one thread counts and scribbles on while it executes commands, so that no two threads write to the same line. Sums are
/// taken over all lanes when somebody asks.
/// </summary>
internal sealed class Lane
{
    [ThreadStatic] private static Lane? t_lane;
    [ThreadStatic] private static Lane? t_nested;

    private readonly LaneSet _owner;
    private readonly KeyMap<bool> _absent = new();
    private CommandCounters[] _calls;
    private LatencyHistogram?[] _latencies;

    internal Lane(LaneSet owner)
    {
        _owner = owner;
        _calls = new CommandCounters[owner.Commands];
        _latencies = new LatencyHistogram?[owner.Commands];
    }

    public long CommandsProcessed, KeyspaceHits, KeyspaceMisses, ExpiredKeys, ExpiredFields, EvictedKeys, NetInput, NetOutput, ErrorReplies;
    public long UnexpectedErrors, FailedAllocations, Changes, Reads, Writes, LargestBatch;

    /// <summary>Error replies by their code, of all lanes.</summary>
    public ErrorStatistics Errors => _owner.Errors;

    /// <summary>By <see cref="CommandRow.Id"/>.</summary>
    public CommandCounters[] Calls => _calls;

    /// <summary>How long each command took, by <see cref="CommandRow.Id"/>.</summary>
    public ReadOnlySpan<LatencyHistogram?> Latencies => _latencies;

    /// <summary>Keys changed by the running command that clients are blocked on, in the order of their change.</summary>
    public List<(Shard Shard, DatabaseKey Key)> ReadyKeys { get; } = [];

    /// <summary>What the running unit has made stale for clients that cache.</summary>
    internal PendingInvalidations Invalidations { get; } = new();

    /// <summary>The running unit has ready keys or invalidations: somebody besides its author is to be served or told when it ends.</summary>
    internal bool HasFollowUps { get; set; }

    public EffectBuffer Effects { get; } = new();

    internal HeldMessages Messages { get; } = new();

    internal void AddReady(Shard shard, in DatabaseKey key)
    {
        ReadyKeys.Add((shard, key));
        HasFollowUps = true;
    }

    /// <summary>Remembers until the end of the unit that a key was looked up in vain.</summary>
    internal void NoteAbsent(int database, ReadOnlySpan<byte> key)
    {
        _absent.Set(database, key, true);
        HasFollowUps = true;
    }

    /// <summary>Whether a key was noted as absent, and is no longer.</summary>
    internal bool TakeAbsent(int database, ReadOnlySpan<byte> key) => _absent.Count > 0 && _absent.Remove(database, key);

    internal void EndUnit()
    {
        _absent.Clear();
        HasFollowUps = false;
    }

    /// <summary>Counts an error reply by its code, the first word of its text.</summary>
    public void CountError(ReadOnlySpan<byte> code)
    {
        ErrorReplies++;
        Errors.Count(code);
    }

    public void CountLatency(int command, long ticks) => (_latencies[command] ??= new LatencyHistogram()).Add(ticks);

    /// <summary>
    /// Begins to count commands anew; called by any thread. The lane's own may count one more command where nobody looks any more, but
    /// never bring an old number back.
    /// </summary>
    internal void ForgetCalls()
    {
        _calls = new CommandCounters[_calls.Length];
        _latencies = new LatencyHistogram?[_latencies.Length];
    }

    /// <summary>
    /// Gives the thread another lane for what it does while a command of the present one has not ended: the effects of both must not mix. Returns
    /// the present one.
    /// </summary>
    internal static Lane EnterNested(LaneSet set)
    {
        Lane outer = Current(set);
        t_lane = t_nested is { } nested && nested._owner == set ? nested : t_nested = set.OfThread(nested: true);
        return outer;
    }

    internal static void LeaveNested(Lane outer) => t_lane = outer;

    internal static Lane Current(LaneSet set) => t_lane is { } lane && lane._owner == set ? lane : t_lane = set.OfThread(nested: false);
}

/// <summary>Calls of one command on one lane.</summary>
internal struct CommandCounters
{
    public long Calls, Ticks, Rejected, Failed;
}

/// <summary>All lanes of one server (a process may host several).</summary>
internal sealed class LaneSet(int commands, ErrorStatistics errors)
{
    private readonly Lock _adding = new();
    private readonly Dictionary<(int Thread, bool Nested), Lane> _ofThreads = [];
    private Lane[] _lanes = [];

    public int Commands => commands;

    public ErrorStatistics Errors => errors;

    public Lane Current => Lane.Current(this);

    /// <inheritdoc cref="Lane.EnterNested"/>
    internal Lane EnterNested() => Lane.EnterNested(this);

    internal static void LeaveNested(Lane outer) => Lane.LeaveNested(outer);

    public ReadOnlySpan<Lane> All => _lanes;

    public long Sum(Func<Lane, long> field)
    {
        long sum = 0;
        foreach (Lane lane in _lanes) sum += field(lane);
        return sum;
    }

    /// <summary>
    /// A thread that works for several servers finds again what it had here, and one that has ended leaves its lanes to the next with its number.
    /// </summary>
    internal Lane OfThread(bool nested)
    {
        lock (_adding)
        {
            if (_ofThreads.TryGetValue((Environment.CurrentManagedThreadId, nested), out Lane? known)) return known;
            var lane = new Lane(this);
            _ofThreads.Add((Environment.CurrentManagedThreadId, nested), lane);
            _lanes = [.. _lanes, lane];
            return lane;
        }
    }
}
