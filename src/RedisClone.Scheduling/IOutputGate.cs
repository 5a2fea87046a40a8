namespace RedisClone.Scheduling;

/// <summary>
/// Says how far the held output of an event loop may be sent. Output is held at a position, for example that of the effects that
/// it depends on.
/// </summary>
public interface IOutputGate
{
    /// <summary>
    /// Whether <see cref="Open"/> has its last value. Connections with output beyond it are then aborted. Read before <see
    /// cref="Open"/>.
    /// </summary>
    bool IsFinal { get; }

    /// <summary>Output up to this position may be sent.</summary>
    long Open { get; }
}
