namespace RedisClone.Protocol;

/// <summary>
/// A limit of the scratch that many reply writers take together. The owner of each of them calls <see cref="ReplyWriter.Restart"/>
/// at the end, which releases its scratch. Thread-safe.
/// </summary>
/// <param name="most">The limit in bytes.</param>
public sealed class ScratchLimit(long most)
{
    private long _taken;

    /// <summary>Whether the writers have taken more than the limit. A reply that needs more is given up.</summary>
    public bool IsExceeded => Volatile.Read(ref _taken) > most;

    internal void Add(int bytes) => Interlocked.Add(ref _taken, bytes);
}
