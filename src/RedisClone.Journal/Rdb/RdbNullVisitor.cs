namespace RedisClone.Journal.Rdb;

/// <summary>Accepts every value and keeps none. Used to skip values and to verify their structure.</summary>
public sealed class RdbNullVisitor : IRdbValueVisitor
{
    public static RdbNullVisitor Instance { get; } = new();

    private RdbNullVisitor() { }

    public bool Begin(RdbValueKind kind, long countHint) => true;

    public bool String(ReadOnlySpan<byte> value) => true;

    public bool ListElement(ReadOnlySpan<byte> value) => true;

    public bool SetMember(ReadOnlySpan<byte> member) => true;

    public bool HashField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, long expireMilliseconds) => true;

    public bool SortedSetMember(ReadOnlySpan<byte> member, double score) => true;

    public bool StreamEntry(RdbStreamId id, int fields) => true;

    public bool StreamField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value) => true;

    public bool StreamState(in RdbStreamState state) => true;

    public bool StreamGroup(ReadOnlySpan<byte> name, RdbStreamId last, long entriesRead) => true;

    public bool StreamPending(RdbStreamId id, long deliveredMilliseconds, ulong deliveries) => true;

    public bool StreamConsumer(ReadOnlySpan<byte> name, long seenMilliseconds, long activeMilliseconds) => true;

    public bool StreamConsumerPending(RdbStreamId id) => true;

    public bool StreamReturned(RdbStreamId id) => true;

    public bool StreamIdempotence(ulong seconds, ulong maxMessages, ulong added, ulong duplicates) => true;

    public bool StreamProducerMessage(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message, RdbStreamId id) => true;

    public bool End() => true;
}
