namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// The offset of a primary's stream up to which its effects are durable in the journal of this server. The applier notes where the
/// journal is after each batch; any thread may ask.
/// </summary>
internal sealed class DurableOffset
{
    /// <summary>Steps that are kept. Further steps replace the last one, so that a slow disk costs no memory.</summary>
    private const int MostSteps = 4096;

    private readonly Lock _gate = new();
    private readonly List<(long Lsn, long Offset)> _steps = [];
    private long _reached;

    /// <summary>Notes that the journal has the stream up to an offset at an LSN.</summary>
    public void Note(long lsn, long offset)
    {
        lock (_gate)
        {
            if (_steps.Count == MostSteps) _steps[^1] = (lsn, offset);
            else _steps.Add((lsn, offset));
        }
    }

    /// <summary>The offset that is durable if the journal is durable up to an LSN.</summary>
    public long At(long lsn)
    {
        lock (_gate)
        {
            int passed = 0;
            for (; passed < _steps.Count && _steps[passed].Lsn <= lsn; passed++) _reached = _steps[passed].Offset;
            _steps.RemoveRange(0, passed);
            return _reached;
        }
    }
}
