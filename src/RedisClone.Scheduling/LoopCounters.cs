namespace RedisClone.Scheduling;

/// <summary>What an event loop has done since its start.</summary>
/// <param name="Rounds">The number of complete rounds.</param>
/// <param name="Receives">The number of receives that returned data.</param>
/// <param name="Connections">The number of open connections.</param>
/// <param name="UnsentBytes">Bytes of output that the kernel has not taken yet.</param>
public readonly record struct LoopCounters(long Rounds, long Receives, int Connections, long UnsentBytes);
