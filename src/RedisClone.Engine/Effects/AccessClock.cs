using RedisClone.Configuration;
using RedisClone.Storage;

namespace RedisClone.Engine.Effects;

/// <summary>
/// Keeps the 24 access bits of a key, in Redis's format. With an LRU policy they are the time of the last access in seconds.
/// With an LFU policy they are the minute of the last decay (16 bits) and a logarithmic counter (8 bits).
/// </summary>
internal sealed class AccessClock(ServerConfig config)
{
    private const uint AccessMask = 0xFFFFFF;
    private const uint NewFrequency = 5;
    private const uint MaxFrequency = 255;
    private const long MillisecondsPerMinute = 60_000;

    private uint _seconds;
    private uint _minutes;

    /// <summary>The current second, in 24 bits as records keep it. The server's clock advances it.</summary>
    public uint Seconds => _seconds;

    /// <summary>
    /// Whether the eviction policy is an LFU policy: the access bits then hold the frequency of use, not the time.
    /// </summary>
    public bool CountsFrequency { get; private set; } = IsByFrequency(config);

    /// <summary>The access bits of a record that is created now.</summary>
    public uint New => CountsFrequency ? _minutes << 8 | NewFrequency : _seconds;

    /// <summary>Sets the current time; called in every round of background work.</summary>
    public void Advance(long unixMilliseconds)
    {
        _seconds = (uint)(unixMilliseconds / 1000) & AccessMask;
        _minutes = (uint)(unixMilliseconds / MillisecondsPerMinute) & 0xFFFF;
    }

    /// <summary>Adopts a changed eviction policy.</summary>
    public void Adapt() => CountsFrequency = IsByFrequency(config);

    public long IdleSeconds(uint access) => (_seconds - access) & AccessMask;

    /// <summary>The counter after its decay: it loses one every lfu-decay-time minutes.</summary>
    public uint Frequency(uint access)
    {
        uint counter = access & MaxFrequency;
        if (config.LfuDecayTime == 0) return counter;
        uint periods = (_minutes - (access >> 8) & 0xFFFF) / (uint)config.LfuDecayTime;
        return counter - Math.Min(counter, periods);
    }

    /// <summary>The access bits of a key that was last used this many seconds ago.</summary>
    public uint OfIdle(long idleSeconds) => (uint)(_seconds - idleSeconds) & AccessMask;

    /// <summary>The access bits of a key whose counter has this value now.</summary>
    public uint OfFrequency(uint frequency) => _minutes << 8 | frequency;

    public void Touch(in Entry entry)
    {
        Entry target = entry;
        if (CountsFrequency)
        {
            target.Access = _minutes << 8 | Used(Frequency(entry.Access), entry.Keyspace.Store.Random);
            return;
        }
        // Most accesses of a hot key happen in the same second. Not writing an equal value keeps its cache line clean.
        if (target.Access != _seconds) target.Access = _seconds;
    }

    /// <summary>Counts a use with a probability that falls as the counter grows.</summary>
    private uint Used(uint frequency, Random random)
    {
        if (frequency == MaxFrequency) return frequency;
        double above = frequency > NewFrequency ? frequency - NewFrequency : 0;
        return random.NextDouble() * (above * config.LfuLogFactor + 1) < 1 ? frequency + 1 : frequency;
    }

    private static bool IsByFrequency(ServerConfig config) => config.MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLfu;
}
