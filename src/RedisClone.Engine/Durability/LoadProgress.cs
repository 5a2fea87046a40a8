namespace RedisClone.Engine.Durability;

/// <summary>The progress of loading, for INFO, and its cancellation. Any thread may read it.</summary>
internal sealed class LoadProgress
{
    private Func<long> _done = static () => 0, _total = static () => 0;

    public long StartedAt { get; } = ServerCore.UnixMilliseconds();

    /// <summary>The size of all files in bytes; 0 while it is not known.</summary>
    public long TotalBytes => Volatile.Read(ref _total)();

    public long LoadedBytes => Volatile.Read(ref _done)();

    /// <summary>
    /// Whether a shutdown may cancel the load. It may not if the server would go on with a part of the data, as after DEBUG RELOAD.
    /// </summary>
    public bool CanBeCancelled { get; init; } = true;

    /// <summary>Whether loading was cancelled because the server shuts down.</summary>
    public bool IsCancelled { get; private set; }

    public double Percent => TotalBytes == 0 ? 0 : 100.0 * LoadedBytes / TotalBytes;

    /// <summary>The estimated seconds until the end, at the average speed so far.</summary>
    public long SecondsLeft
    {
        get
        {
            long loaded = Math.Max(LoadedBytes, 1), seconds = (ServerCore.UnixMilliseconds() - StartedAt) / 1000;
            return (long)((double)seconds / loaded * Math.Max(TotalBytes - loaded, 0));
        }
    }

    public void Measure(Func<long> total, Func<long> done)
    {
        Volatile.Write(ref _done, done);
        Volatile.Write(ref _total, total);
    }

    public void Cancel() => IsCancelled = true;
}
