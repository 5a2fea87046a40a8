namespace RedisClone.Scheduling;

/// <summary>What an event loop has done since its start.</summary>
/// <param name="Rounds">The number of complete rounds.</param>
/// <param name="Receives">The number of receives that returned data.</param>
/// <param name="Connections">The number of open connections.</param>
/// <param name="UnsentBytes">Bytes of output that the kernel has not taken yet.</param>
/// <param name="Moved">Connections that have moved to another event loop.</param>
public readonly record struct LoopCounters(long Rounds, long Receives, int Connections, long UnsentBytes, long Moved);
