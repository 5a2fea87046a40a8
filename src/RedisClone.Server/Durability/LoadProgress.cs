namespace RedisClone.Server.Durability;

/// <summary>The data is being brought back: how far that is, for INFO, and whether it is still wanted. Any thread may ask.</summary>
internal sealed class LoadProgress
{
    private Func<long> _done = static () => 0, _total = static () => 0;

    public long StartedAt { get; } = ServerCore.UnixMilliseconds();

    /// <summary>Bytes of all files, 0 while that is not known.</summary>
    public long TotalBytes => Volatile.Read(ref _total)();

    public long LoadedBytes => Volatile.Read(ref _done)();

    /// <summary>The server is to end: nothing more needs to be loaded.</summary>
    public bool IsCancelled { get; private set; }

    public double Percent => TotalBytes == 0 ? 0 : 100.0 * LoadedBytes / TotalBytes;

    /// <summary>Seconds that the rest will take if it goes on as it did.</summary>
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
