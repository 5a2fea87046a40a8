namespace RedisClone.Compare.Servers;

internal enum Durability
{
    /// <summary>Nothing is written to disk.</summary>
    None,

    /// <summary>A journal with an fsync every second.</summary>
    EverySecond,

    /// <summary>A journal with an fsync before each reply.</summary>
    Always,
}

/// <summary>The settings of a server for a workload, for all kinds of servers.</summary>
internal sealed record ServerSetup(int Port, string Directory, IReadOnlyList<int> Cores, Durability Durability);
