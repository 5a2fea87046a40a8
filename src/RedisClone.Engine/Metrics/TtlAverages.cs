namespace RedisClone.Engine.Metrics;

/// <summary>
/// The average remaining time to live in each database: a running average over the keys that the search for expired keys
/// visits. Two threads that search in different shards at the same time may lose a sample.
/// </summary>
internal sealed class TtlAverages(int databases)
{
    /// <summary>The approximate number of samples in the average, as in Redis.</summary>
    private const double Window = 50;

    private readonly double[] _milliseconds = new double[databases];

    public void Note(int database, double milliseconds)
    {
        double before = _milliseconds[database];
        Volatile.Write(ref _milliseconds[database], before == 0 ? milliseconds : before + (milliseconds - before) / Window);
    }

    public long Of(int database) => (long)Volatile.Read(ref _milliseconds[database]);
}
