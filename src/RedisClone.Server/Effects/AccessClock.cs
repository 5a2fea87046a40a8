using RedisClone.Server.Admin;
using RedisClone.Storage;

namespace RedisClone.Server;

/// <summary>
/// Keeps the 24 access bits of a key: for least recently used the time of last access in seconds, for least frequently
/// used the minutes of its last decay (16 bits) and a logarithmic counter (8 bits), as Redis does.
/// </summary>
public sealed class AccessClock(ServerConfig config)
{
    private uint _seconds;

    /// <summary>Seconds, of which records keep 24 bits; advanced by the server's clock.</summary>
    public uint Seconds => _seconds;

    /// <summary>Called about ten times a second.</summary>
    public void Advance(long unixMilliseconds) => _seconds = (uint)(unixMilliseconds / 1000) & 0xFFFFFF;

    public void Touch(in Entry entry)
    {
        _ = config;
        Entry target = entry;
        // Most accesses of a hot key fall into the same second: the line stays clean.
        if (target.Access != _seconds) target.Access = _seconds;
    }
}
