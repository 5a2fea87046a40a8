namespace RedisClone.Journal.Rdb;

/// <summary>What kind of value a key has.</summary>
public enum RdbValueKind
{
    String,
    List,
    Set,
    Hash,
    SortedSet,
    Stream,
}

/// <summary>What a stream knows of itself beside its entries.</summary>
public readonly record struct RdbStreamState
{
    /// <summary>The number of entries.</summary>
    public ulong Length { get; init; }

    public RdbStreamId Last { get; init; }

    /// <summary>False where an old form has no more than the length and the last ID: then the rest is to be worked out.</summary>
    public bool IsComplete { get; init; }

    public RdbStreamId First { get; init; }

    public RdbStreamId HighestDeleted { get; init; }

    public ulong EntriesAdded { get; init; }
}

public readonly record struct RdbStreamId(ulong Milliseconds, ulong Sequence);

/// <summary>
/// Receives one value, element by element, whatever form it was stored in. Spans are valid during the call. A method that
/// returns false rejects the element (a duplicate, say), and the value with it. A key's value begins with <see
/// cref="Begin"/> and ends with <see cref="End"/>, which is not called for a damaged one: what was built is to be dropped
/// then.
/// </summary>
public interface IRdbValueVisitor
{
    /// <summary><paramref name="countHint"/> is how many elements will come, where that is known before, else 0.</summary>
    bool Begin(RdbValueKind kind, long countHint);

    bool String(ReadOnlySpan<byte> value);

    bool ListElement(ReadOnlySpan<byte> value);

    bool SetMember(ReadOnlySpan<byte> member);

    /// <summary><paramref name="expireMilliseconds"/> is an absolute time, or -1.</summary>
    bool HashField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, long expireMilliseconds);

    bool SortedSetMember(ReadOnlySpan<byte> member, double score);

    /// <summary>An entry that is not deleted; entries come in ascending order, each followed by its fields.</summary>
    bool StreamEntry(RdbStreamId id, int fields);

    bool StreamField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value);

    /// <summary>After the entries.</summary>
    bool StreamState(in RdbStreamState state);

    /// <summary>Groups come after the state; <paramref name="entriesRead"/> is -1 where it is not known.</summary>
    bool StreamGroup(ReadOnlySpan<byte> name, RdbStreamId last, long entriesRead);

    /// <summary>An entry that was delivered within the group; to whom, <see cref="StreamConsumerPending"/> says.</summary>
    bool StreamPending(RdbStreamId id, long deliveredMilliseconds, ulong deliveries);

    /// <summary>A consumer of the group; an active time of -1 is none.</summary>
    bool StreamConsumer(ReadOnlySpan<byte> name, long seenMilliseconds, long activeMilliseconds);

    /// <summary>One of the group's pending entries belongs to the consumer last named.</summary>
    bool StreamConsumerPending(RdbStreamId id);

    /// <summary>
    /// One of the group's pending entries was given back and belongs to nobody (Redis 8.10), in the order to hand them out.
    /// </summary>
    bool StreamReturned(RdbStreamId id);

    /// <summary>How long, and for how many messages, a producer's repeated message is recognised (Redis 8.6).</summary>
    bool StreamIdempotence(ulong seconds, ulong maxMessages, ulong added, ulong duplicates);

    /// <summary>A message of a producer that is remembered; these come before <see cref="StreamIdempotence"/>.</summary>
    bool StreamProducerMessage(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message, RdbStreamId id);

    bool End();
}
