namespace RedisClone.Engine.Caching;

/// <summary>
/// What the unit that a thread is running has changed, for clients in broadcast mode. They learn of a transaction as a whole. The object
/// is reused.
/// </summary>
internal sealed class PendingInvalidations
{
    private readonly Dictionary<byte[], ClientTracking?> _changed = new(ByteComparer.Instance);
    private readonly Dictionary<byte[], ClientTracking?>.AlternateLookup<ReadOnlySpan<byte>> _changedBySpan;

    public PendingInvalidations() => _changedBySpan = _changed.GetAlternateLookup<ReadOnlySpan<byte>>();

    /// <summary>The changed keys for clients in broadcast mode, each with the author of its last change.</summary>
    public Dictionary<byte[], ClientTracking?> Changed => _changed;

    /// <summary>Scratch space for the clients that have read one key.</summary>
    public List<long> Readers { get; } = [];

    public void NoteChange(ReadOnlySpan<byte> key, ClientTracking? author) => _changedBySpan[key] = author;
}
