namespace RedisClone.Journal.Rdb;

/// <summary>The kind of a value.</summary>
public enum RdbValueKind
{
    String,
    List,
    Set,
    Hash,
    SortedSet,
    Stream,
}

/// <summary>The properties of a stream other than its entries.</summary>
public readonly record struct RdbStreamState
{
    /// <summary>The number of entries.</summary>
    public ulong Length { get; init; }

    public RdbStreamId Last { get; init; }

    /// <summary>
    /// False if the value has an old form that contains only the length and the last ID. The other properties must then
    /// be computed.
    /// </summary>
    public bool IsComplete { get; init; }

    public RdbStreamId First { get; init; }

    public RdbStreamId HighestDeleted { get; init; }

    public ulong EntriesAdded { get; init; }
}

public readonly record struct RdbStreamId(ulong Milliseconds, ulong Sequence);

/// <summary>
/// Receives one value element by element, independent of its stored form. Spans are valid during the call. A method
/// that returns false rejects the element (for example a duplicate) and the whole value. A value begins with
/// <see cref="Begin"/> and ends with <see cref="End"/>. If the value is damaged, <see cref="End"/> is not called and
/// the caller must discard the incomplete value.
/// </summary>
public interface IRdbValueVisitor
{
    /// <summary>
    /// <paramref name="countHint"/> is the number of elements that will follow, or 0 if it is not known.
    /// </summary>
    bool Begin(RdbValueKind kind, long countHint);

    bool String(ReadOnlySpan<byte> value);

    bool ListElement(ReadOnlySpan<byte> value);

    bool SetMember(ReadOnlySpan<byte> member);

    /// <summary><paramref name="expireMilliseconds"/> is an absolute time, or -1.</summary>
    bool HashField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, long expireMilliseconds);

    bool SortedSetMember(ReadOnlySpan<byte> member, double score);

    /// <summary>
    /// An entry that is not deleted. Entries come in ascending order, and each is followed by its fields.
    /// </summary>
    bool StreamEntry(RdbStreamId id, int fields);

    bool StreamField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value);

    /// <summary>Called after the entries.</summary>
    bool StreamState(in RdbStreamState state);

    /// <summary>
    /// A consumer group. Groups come after the state. <paramref name="entriesRead"/> is -1 if it is not known.
    /// </summary>
    bool StreamGroup(ReadOnlySpan<byte> name, RdbStreamId last, long entriesRead);

    /// <summary>
    /// An entry that the group has delivered. <see cref="StreamConsumerPending"/> names its consumer.
    /// </summary>
    bool StreamPending(RdbStreamId id, long deliveredMilliseconds, ulong deliveries);

    /// <summary>A consumer of the group. An active time of -1 means that the consumer was never active.</summary>
    bool StreamConsumer(ReadOnlySpan<byte> name, long seenMilliseconds, long activeMilliseconds);

    /// <summary>Assigns one of the group's pending entries to the consumer named last.</summary>
    bool StreamConsumerPending(RdbStreamId id);

    /// <summary>
    /// One of the group's pending entries that was returned and has no consumer (Redis 8.10). These entries come in the
    /// order in which they are to be delivered.
    /// </summary>
    bool StreamReturned(RdbStreamId id);

    /// <summary>
    /// The duration and the number of messages for which a repeated message of a producer is recognized (Redis 8.6).
    /// </summary>
    bool StreamIdempotence(ulong seconds, ulong maxMessages, ulong added, ulong duplicates);

    /// <summary>A remembered message of a producer. These calls come before <see cref="StreamIdempotence"/>.</summary>
    bool StreamProducerMessage(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message, RdbStreamId id);

    bool End();
}
