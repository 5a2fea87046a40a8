namespace RedisClone.Server.Caching;

/// <summary>
/// What the unit that a thread is running has made stale, until the unit ends: only then is anybody told, so that no message is ahead of
/// the effect it tells of, and a transaction is told as one. Reused.
/// </summary>
internal sealed class PendingInvalidations
{
    private readonly Dictionary<byte[], ClientTracking?> _changed = new(ByteComparer.Instance);
    private readonly Dictionary<byte[], ClientTracking?>.AlternateLookup<ReadOnlySpan<byte>> _changedBySpan;

    public PendingInvalidations() => _changedBySpan = _changed.GetAlternateLookup<ReadOnlySpan<byte>>();

    /// <summary>Whom to tell what, in the order of the changes.</summary>
    public List<(ClientTracking Client, Invalidation Message)> Messages { get; } = [];

    /// <summary>Changed keys for those who are told by prefix, each with its last author.</summary>
    public Dictionary<byte[], ClientTracking?> Changed => _changed;

    /// <summary>Scratch: the readers of one key.</summary>
    public List<long> Readers { get; } = [];

    public void NoteChange(ReadOnlySpan<byte> key, ClientTracking? author) => _changedBySpan[key] = author;

    public void Clear()
    {
        Messages.Clear();
        _changed.Clear();
    }
}
