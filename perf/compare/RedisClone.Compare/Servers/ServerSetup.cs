namespace RedisClone.Compare.Servers;

internal enum Durability
{
    /// <summary>Nothing is written to disk.</summary>
    None,

    /// <summary>A journal, flushed once a second.</summary>
    EverySecond,

    /// <summary>A journal, flushed before a reply leaves.</summary>
    Always,
}

/// <summary>What a workload asks of a server, whichever server it is.</summary>
internal sealed record ServerSetup(int Port, string Directory, IReadOnlyList<int> Cores, Durability Durability);
