using RedisClone.Engine.Effects;

namespace RedisClone.Engine.Caching;

/// <summary>
/// The invalidations of the unit that a thread is running. They are sent only after the unit, so that none precedes the effect
/// that it reports, and so that a transaction is reported as a whole. The object is reused.
/// </summary>
internal sealed class PendingInvalidations
{
    private readonly Dictionary<byte[], ClientTracking?> _changed = new(ByteComparer.Instance);
    private readonly Dictionary<byte[], ClientTracking?>.AlternateLookup<ReadOnlySpan<byte>> _changedBySpan;

    public PendingInvalidations() => _changedBySpan = _changed.GetAlternateLookup<ReadOnlySpan<byte>>();

    /// <summary>The invalidations and their recipients, in the order of the changes.</summary>
    public List<(ClientTracking Client, Invalidation Message)> Messages { get; } = [];

    /// <summary>The changed keys for clients in broadcast mode, each with the author of its last change.</summary>
    public Dictionary<byte[], ClientTracking?> Changed => _changed;

    /// <summary>Scratch space for the clients that have read one key.</summary>
    public List<long> Readers { get; } = [];

    public void NoteChange(ReadOnlySpan<byte> key, ClientTracking? author) => _changedBySpan[key] = author;

    public void Clear()
    {
        Messages.Reuse();
        Readers.Reuse();
        _changed.Reuse();
    }
}
