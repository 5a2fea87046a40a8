namespace RedisClone.Scheduling;

/// <summary>Work that runs together with other work of the same round.</summary>
public interface IGatheredWork
{
    /// <summary>
    /// Prefetches the memory that <see cref="Run"/> will read. It is called for all gathered work before the first item runs.
    /// </summary>
    void Fetch();

    void Run();
}
