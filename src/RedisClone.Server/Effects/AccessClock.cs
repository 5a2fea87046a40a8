using RedisClone.Server.Admin;
using RedisClone.Storage;

namespace RedisClone.Server;

/// <summary>
/// Keeps the 24 access bits of a key: for least recently used the time of last access in seconds, for least frequently
/// used the minutes of its last decay (16 bits) and a logarithmic counter (8 bits), as Redis does.
/// </summary>
internal sealed class AccessClock(ServerConfig config)
{
    private const uint AccessMask = 0xFFFFFF;
    private const uint NewFrequency = 5;
    private const uint MaxFrequency = 255;
    private const long MillisecondsPerMinute = 60_000;

    private uint _seconds;
    private uint _minutes;

    /// <summary>Seconds, of which records keep 24 bits; advanced by the server's clock.</summary>
    public uint Seconds => _seconds;

    /// <summary>The eviction policy goes by how often keys are used, not by when.</summary>
    public bool CountsFrequency { get; private set; } = IsByFrequency(config);

    /// <summary>What a record that is written now starts with.</summary>
    public uint New => CountsFrequency ? _minutes << 8 | NewFrequency : _seconds;

    /// <summary>Called about ten times a second.</summary>
    public void Advance(long unixMilliseconds)
    {
        _seconds = (uint)(unixMilliseconds / 1000) & AccessMask;
        _minutes = (uint)(unixMilliseconds / MillisecondsPerMinute) & 0xFFFF;
    }

    /// <summary>The eviction policy changed.</summary>
    public void Adapt() => CountsFrequency = IsByFrequency(config);

    public long IdleSeconds(in Entry entry) => (_seconds - entry.Access) & AccessMask;

    /// <summary>The counter as it is now: it loses one every lfu-decay-time minutes.</summary>
    public uint Frequency(in Entry entry)
    {
        uint counter = entry.Access & MaxFrequency;
        if (config.LfuDecayTime == 0) return counter;
        uint periods = (_minutes - (entry.Access >> 8) & 0xFFFF) / (uint)config.LfuDecayTime;
        return counter - Math.Min(counter, periods);
    }

    /// <summary>The access bits of a key that was last used so long ago.</summary>
    public uint OfIdle(long idleSeconds) => (uint)(_seconds - idleSeconds) & AccessMask;

    /// <summary>The access bits of a key that has this counter now.</summary>
    public uint OfFrequency(uint frequency) => _minutes << 8 | frequency;

    public void Touch(in Entry entry)
    {
        Entry target = entry;
        if (CountsFrequency)
        {
            target.Access = _minutes << 8 | Used(Frequency(entry), entry.Keyspace.Store.Random);
            return;
        }
        // Most accesses of a hot key fall into the same second: the line stays clean.
        if (target.Access != _seconds) target.Access = _seconds;
    }

    /// <summary>Counts one use, the less likely the more there were already.</summary>
    private uint Used(uint frequency, Random random)
    {
        if (frequency == MaxFrequency) return frequency;
        double above = frequency > NewFrequency ? frequency - NewFrequency : 0;
        return random.NextDouble() * (above * config.LfuLogFactor + 1) < 1 ? frequency + 1 : frequency;
    }

    private static bool IsByFrequency(ServerConfig config) => config.MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLfu;
}
