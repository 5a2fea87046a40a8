using RedisClone.Engine.Effects;

namespace RedisClone.Engine.Metrics;

/// <summary>Events that are too rare to need a counter per lane.</summary>
internal enum RareEvent
{
    DeniedAuthentication,
    DeniedCommand,
    DeniedKey,
    DeniedChannel,
    RejectedConnection,
    AcceptedConnection,
    QueryLimitDisconnection,
    OutputLimitDisconnection,
    EvictedClient,
}

/// <summary>Sums over all lanes.</summary>
internal struct LaneTotals
{
    public long CommandsProcessed, KeyspaceHits, KeyspaceMisses, ExpiredKeys, ExpiredFields, EvictedKeys, NetInput, NetOutput, ErrorReplies;
    public long UnexpectedErrors, FailedAllocations, Reads, Writes, Hops, ScriptsOnTheirKeys, ScriptsOnAllShards;

    internal static LaneTotals Of(ReadOnlySpan<Lane> lanes)
    {
        var sum = default(LaneTotals);
        foreach (Lane lane in lanes)
        {
            sum.CommandsProcessed += lane.CommandsProcessed;
            sum.KeyspaceHits += lane.KeyspaceHits;
            sum.KeyspaceMisses += lane.KeyspaceMisses;
            sum.ExpiredKeys += lane.ExpiredKeys;
            sum.ExpiredFields += lane.ExpiredFields;
            sum.EvictedKeys += lane.EvictedKeys;
            sum.NetInput += lane.NetInput;
            sum.NetOutput += lane.NetOutput;
            sum.ErrorReplies += lane.ErrorReplies;
            sum.UnexpectedErrors += lane.UnexpectedErrors;
            sum.FailedAllocations += lane.FailedAllocations;
            sum.Reads += lane.Reads;
            sum.Writes += lane.Writes;
            sum.Hops += lane.Hops;
            sum.ScriptsOnTheirKeys += lane.ScriptsOnTheirKeys;
            sum.ScriptsOnAllShards += lane.ScriptsOnAllShards;
        }
        return sum;
    }

    internal readonly LaneTotals Since(in LaneTotals before) => new()
    {
        CommandsProcessed = CommandsProcessed - before.CommandsProcessed,
        KeyspaceHits = KeyspaceHits - before.KeyspaceHits,
        KeyspaceMisses = KeyspaceMisses - before.KeyspaceMisses,
        ExpiredKeys = ExpiredKeys - before.ExpiredKeys,
        ExpiredFields = ExpiredFields - before.ExpiredFields,
        EvictedKeys = EvictedKeys - before.EvictedKeys,
        NetInput = NetInput - before.NetInput,
        NetOutput = NetOutput - before.NetOutput,
        ErrorReplies = ErrorReplies - before.ErrorReplies,
        UnexpectedErrors = UnexpectedErrors - before.UnexpectedErrors,
        FailedAllocations = FailedAllocations - before.FailedAllocations,
        Reads = Reads - before.Reads,
        Writes = Writes - before.Writes,
        Hops = Hops - before.Hops,
        ScriptsOnTheirKeys = ScriptsOnTheirKeys - before.ScriptsOnTheirKeys,
        ScriptsOnAllShards = ScriptsOnAllShards - before.ScriptsOnAllShards,
    };
}

/// <summary>
/// Counters since the start or the last CONFIG RESETSTAT. A reset does not set the lanes' counters to zero, because a
/// concurrent increment could restore the old value. It stores the current values and subtracts them later.
/// </summary>
internal sealed class Statistics(LaneSet lanes)
{
    private readonly long[] _rare = new long[Enum.GetValues<RareEvent>().Length];
    private readonly Lock _resetting = new();
    private LaneTotals _before;

    public ErrorStatistics Errors => lanes.Errors;

    public LaneTotals Totals
    {
        get
        {
            lock (_resetting) return LaneTotals.Of(lanes.All).Since(_before);
        }
    }

    public void Count(RareEvent what) => Interlocked.Increment(ref _rare[(int)what]);

    public long this[RareEvent what] => Volatile.Read(ref _rare[(int)what]);

    /// <summary>The call counters of one command.</summary>
    public CommandCounters CallsOf(int command)
    {
        var sum = default(CommandCounters);
        foreach (Lane lane in lanes.All)
        {
            ref readonly CommandCounters calls = ref lane.Calls[command];
            sum.Calls += calls.Calls;
            sum.Ticks += calls.Ticks;
            sum.Rejected += calls.Rejected;
            sum.Failed += calls.Failed;
        }
        return sum;
    }

    /// <summary>The latency histogram of one command, or null if it was not called.</summary>
    public LatencyHistogram? LatencyOf(int command)
    {
        LatencyHistogram? sum = null;
        foreach (Lane lane in lanes.All)
            if (lane.Latencies[command] is { } histogram) (sum ??= new LatencyHistogram()).Add(histogram);
        return sum;
    }

    /// <summary>Adds a histogram of every lane to an empty one.</summary>
    public LatencyHistogram Sum(Func<Lane, LatencyHistogram?> of, LatencyHistogram sum)
    {
        foreach (Lane lane in lanes.All)
            if (of(lane) is { } histogram) sum.Add(histogram);
        return sum;
    }

    /// <summary>Adds the latencies of one command to a histogram.</summary>
    public void AddLatency(int command, LatencyHistogram sum)
    {
        foreach (Lane lane in lanes.All)
            if (lane.Latencies[command] is { } histogram) sum.Add(histogram);
    }

    public void Reset()
    {
        lock (_resetting)
        {
            _before = LaneTotals.Of(lanes.All);
            foreach (Lane lane in lanes.All) lane.ForgetCalls();
        }
        Errors.Reset();
        for (int i = 0; i < _rare.Length; i++) Interlocked.Exchange(ref _rare[i], 0);
    }
}
