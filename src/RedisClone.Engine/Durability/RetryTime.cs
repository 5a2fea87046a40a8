namespace RedisClone.Engine.Durability;

/// <summary>
/// The time at which the server repeats a failed operation on its own. The delay doubles with each failure, up to a limit. A
/// failed attempt that a client requested restarts the delay but does not double it.
/// </summary>
internal struct RetryTime(long firstDelay, long longestDelay)
{
    private long _delay;
    private long _time;

    /// <summary>The delay after the last failure in milliseconds; 0 if there was none.</summary>
    public readonly long Delay => _delay;

    /// <summary>Whether the time has come. If the clock was set back, it has.</summary>
    public readonly bool HasCome(long now) => now >= _time || _time - now > longestDelay;

    public void Failed(long now, bool isRequested)
    {
        _delay = Math.Clamp(isRequested ? _delay : _delay * 2, firstDelay, longestDelay);
        _time = now + _delay;
    }

    public void Succeeded() => (_delay, _time) = (0, 0);
}
