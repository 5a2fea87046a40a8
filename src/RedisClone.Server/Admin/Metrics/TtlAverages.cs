namespace RedisClone.Server.Admin;

/// <summary>
/// How long keys that expire have left, on average, in each database: a running average over what the search for expired keys comes
/// by. Written by that search alone.
/// </summary>
internal sealed class TtlAverages(int databases)
{
    /// <summary>About so many samples make the average, as in Redis.</summary>
    private const double Window = 50;

    private readonly double[] _milliseconds = new double[databases];

    public void Note(int database, double milliseconds)
    {
        double before = _milliseconds[database];
        Volatile.Write(ref _milliseconds[database], before == 0 ? milliseconds : before + (milliseconds - before) / Window);
    }

    public long Of(int database) => (long)Volatile.Read(ref _milliseconds[database]);
}
