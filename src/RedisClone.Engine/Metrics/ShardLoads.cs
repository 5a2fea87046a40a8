using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Metrics;

/// <summary>
/// How the load spreads over the shards: the holds of each shard in each of the last seconds, and the imbalance of the last
/// second. A timer samples it; the shards themselves only count.
/// </summary>
internal sealed class ShardLoads(ShardMap shards)
{
    /// <summary>The number of seconds that are kept.</summary>
    public const int Seconds = 120;

    /// <summary>Fewer holds in a second say nothing about the distribution of keys.</summary>
    private const long FewHolds = 1000;

    private readonly Lock _gate = new();
    private readonly long[] _before = new long[shards.Count];
    private readonly int[] _holds = new int[Seconds * shards.Count];
    private int _next;
    private double _imbalance = 1;

    /// <summary>The load of the busiest shard divided by the mean load, in the last second. 1 without load.</summary>
    public double Imbalance => Volatile.Read(ref _imbalance);

    /// <summary>Takes a sample. Called once a second.</summary>
    public void Sample()
    {
        lock (_gate)
        {
            Span<int> row = _holds.AsSpan(_next * shards.Count, shards.Count);
            long sum = 0, most = 0;
            for (int i = 0; i < shards.Count; i++)
            {
                long holds = shards[i].Holds;
                row[i] = (int)Math.Clamp(holds - _before[i], 0, int.MaxValue);
                _before[i] = holds;
                sum += row[i];
                most = Math.Max(most, row[i]);
            }
            _next = (_next + 1) % Seconds;
            Volatile.Write(ref _imbalance, sum < FewHolds ? 1 : (double)most * shards.Count / sum);
        }
    }

    /// <summary>The holds of each shard in the last seconds, the oldest second first.</summary>
    public int[][] Read(int seconds)
    {
        seconds = Math.Min(seconds, Seconds);
        int[][] rows = new int[seconds][];
        lock (_gate)
            for (int i = 0; i < seconds; i++)
            {
                int row = (_next + Seconds - seconds + i) % Seconds;
                rows[i] = [.. _holds.AsSpan(row * shards.Count, shards.Count)];
            }
        return rows;
    }
}
