namespace RedisClone.Engine.Durability;

/// <summary>
/// The time at which the server repeats a failed operation on its own. The delay doubles with each failure that was expensive, up to a
/// limit. Another failure restarts the delay.
/// </summary>
internal struct RetryTime(long firstDelay, long longestDelay)
{
    private long _delay;
    private long _time;

    /// <summary>The delay after the last failure in milliseconds; 0 if there was none.</summary>
    public readonly long Delay => _delay;

    /// <summary>Whether the time has come. If the clock was set back, it has.</summary>
    public readonly bool HasCome(long now) => now >= _time || _time - now > longestDelay;

    public void Failed(long now, bool doubles)
    {
        _delay = Math.Clamp(doubles ? _delay * 2 : _delay, firstDelay, longestDelay);
        _time = now + _delay;
    }

    public void Succeeded() => (_delay, _time) = (0, 0);
}
