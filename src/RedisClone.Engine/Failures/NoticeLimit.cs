namespace RedisClone.Engine.Failures;

/// <summary>
/// Lets one log line of a kind pass in a time, ten seconds by default, and counts the lines that it stops. Clients can cause a failure thousands
/// of times a second. Any thread may call it.
/// </summary>
internal sealed class NoticeLimit(long milliseconds = NoticeLimit.Milliseconds)
{
    public const int Milliseconds = 10_000;

    private long _next = long.MinValue;
    private long _leftOut;

    /// <summary>Whether the line may be written, and how many lines were stopped since the last one.</summary>
    public bool TryPass(long now, out long leftOut)
    {
        leftOut = 0;
        long next = Volatile.Read(ref _next);
        if (now < next || Interlocked.CompareExchange(ref _next, now + milliseconds, next) != next)
        {
            Interlocked.Increment(ref _leftOut);
            return false;
        }
        leftOut = Interlocked.Exchange(ref _leftOut, 0);
        return true;
    }

    /// <summary>
    /// Whether lines were stopped and none has passed since, although one may by now. The caller writes their number.
    /// </summary>
    public bool TryTakeLeftOut(long now, out long leftOut)
    {
        leftOut = 0;
        return Volatile.Read(ref _leftOut) > 0 && now >= Volatile.Read(ref _next) && (leftOut = Interlocked.Exchange(ref _leftOut, 0)) > 0;
    }
}
