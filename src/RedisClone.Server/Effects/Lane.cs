using RedisClone.Server.Commands;
using RedisClone.Server.Shards;

namespace RedisClone.Server;

/// <summary>
/// What one thread counts and scribbles on while it executes commands, so that no two threads write to the same line. Sums are
/// taken over all lanes when somebody asks.
/// </summary>
public sealed class Lane
{
    [ThreadStatic] private static Lane? t_lane;

    private Lane(int commands) => Calls = new CommandCounters[commands];

    public long CommandsProcessed, KeyspaceHits, KeyspaceMisses, ExpiredKeys, ExpiredFields, EvictedKeys, NetInput, NetOutput, ErrorReplies;
    public long UnexpectedErrors, Changes;

    /// <summary>By <see cref="CommandRow.Id"/>.</summary>
    public CommandCounters[] Calls { get; }

    /// <summary>Error replies by their code.</summary>
    public Dictionary<string, long> ErrorsByCode { get; } = [];

    /// <summary>Keys changed by the running command that clients are blocked on, in the order of their change.</summary>
    public List<(Shard Shard, DatabaseKey Key)> ReadyKeys { get; } = [];

    public EffectBuffer Effects { get; } = new();

    /// <summary>Counts an error reply by its code, the first word of its text.</summary>
    public void CountError(ReadOnlySpan<byte> code)
    {
        ErrorReplies++;
        string text = System.Text.Encoding.UTF8.GetString(code);
        // INFO reads this from another thread.
        lock (ErrorsByCode) ErrorsByCode[text] = ErrorsByCode.GetValueOrDefault(text) + 1;
    }

    internal static Lane Current(LaneSet set) => t_lane is { } lane && lane.Owner == set ? lane : t_lane = set.Add(new Lane(set.Commands) { Owner = set });

    private LaneSet? Owner { get; init; }
}

/// <summary>Calls of one command on one lane.</summary>
public struct CommandCounters
{
    public long Calls, Ticks, Rejected, Failed;
}

/// <summary>All lanes of one server (a process may host several).</summary>
public sealed class LaneSet(int commands)
{
    private readonly Lock _adding = new();
    private Lane[] _lanes = [];

    public int Commands => commands;

    public Lane Current => Lane.Current(this);

    public ReadOnlySpan<Lane> All => _lanes;

    public long Sum(Func<Lane, long> field)
    {
        long sum = 0;
        foreach (Lane lane in _lanes) sum += field(lane);
        return sum;
    }

    internal Lane Add(Lane lane)
    {
        lock (_adding) _lanes = [.. _lanes, lane];
        return lane;
    }
}
