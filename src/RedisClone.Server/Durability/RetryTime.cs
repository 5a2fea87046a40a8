namespace RedisClone.Server.Durability;

/// <summary>
/// When the server tries again by itself what has failed: after a delay that doubles with each failure, up to a longest one.
/// Attempts that clients request begin the delay anew and do not double it.
/// </summary>
internal struct RetryTime(long firstDelay, long longestDelay)
{
    private long _delay;
    private long _time;

    public readonly bool HasCome(long now) => now >= _time;

    public void Failed(long now, bool isRequested)
    {
        _delay = Math.Clamp(isRequested ? _delay : _delay * 2, firstDelay, longestDelay);
        _time = now + _delay;
    }

    public void Succeeded() => (_delay, _time) = (0, 0);
}
