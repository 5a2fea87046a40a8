using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Writes a stream as the commands that create it: entries, state, groups with pending entries, and producers.
/// </summary>
internal sealed class StreamCommandForm(CommandText text)
{
    /// <summary>
    /// Writes some entries. With the last of them it also writes everything that follows, and returns true.
    /// </summary>
    public bool Part(in Entry entry, ref CapturePlace place)
    {
        foreach (StreamEntry next in StreamValue.Entries(entry, new StreamId(place.Cursor, place.Sequence), StreamId.Max))
        {
            if (text.Written >= RdbForm.PartBytes)
            {
                (place.Cursor, place.Sequence) = (next.Id.Milliseconds, next.Id.Sequence);
                return false;
            }
            text.Head(3 + 2 * next.FieldCount);
            text.Bulk("XADD"u8);
            text.Bulk(entry.Key);
            text.Bulk(next.Id);
            foreach (StreamFields field in next)
            {
                text.Bulk(field.Name);
                text.Bulk(field.Value);
            }
        }
        State(entry);
        for (long i = 0; i < StreamGroup.Count(entry); i++) Group(entry, StreamGroup.At(entry, i));
        if (StreamProducers.Of(entry) is { Exist: true } producers) Producers(entry, producers);
        return true;
    }

    private void State(in Entry entry)
    {
        StreamState state = StreamValue.State(entry);
        if (StreamValue.Count(entry) == 0)
        {
            // An entry that is trimmed at once creates a stream without entries.
            text.Head(7);
            text.Bulk("XADD"u8);
            text.Bulk(entry.Key);
            text.Bulk("MAXLEN"u8);
            text.Bulk("0"u8);
            text.Bulk(state.Last == StreamId.Min ? new StreamId(0, 1) : state.Last);
            text.Bulk("x"u8);
            text.Bulk("y"u8);
        }
        text.Head(7);
        text.Bulk("XSETID"u8);
        text.Bulk(entry.Key);
        text.Bulk(state.Last);
        text.Bulk("ENTRIESADDED"u8);
        text.Bulk((long)state.Added);
        text.Bulk("MAXDELETEDID"u8);
        text.Bulk(state.HighestDeleted);
    }

    private void Group(in Entry entry, StreamGroup group)
    {
        text.Head(7);
        text.Bulk("XGROUP"u8);
        text.Bulk("CREATE"u8);
        text.Bulk(entry.Key);
        text.Bulk(group.Name);
        text.Bulk(group.Last);
        text.Bulk("ENTRIESREAD"u8);
        text.Bulk(group.EntriesRead);
        for (long i = 0; i < group.ConsumerCount; i++)
        {
            text.Head(5);
            text.Bulk("XGROUP"u8);
            text.Bulk("CREATECONSUMER"u8);
            text.Bulk(entry.Key);
            text.Bulk(group.Name);
            text.Bulk(group.ConsumerAt(i).Name);
        }
        bool more = true;
        for (StreamId next = StreamId.Min; more && group.TryNextPending(next, out PendingEntry pending); more = pending.Id.TryNext(out next))
            if (pending.HasConsumer) Claim(entry, group, pending);
        for (long order = long.MinValue; group.TryNextReturned(order, out PendingEntry returned); order = returned.Order + 1) Return(entry, group, returned);
    }

    private void Claim(in Entry entry, StreamGroup group, in PendingEntry pending)
    {
        text.Head(12);
        text.Bulk("XCLAIM"u8);
        text.Bulk(entry.Key);
        text.Bulk(group.Name);
        text.Bulk(group.ConsumerOf(pending).Name);
        text.Bulk("0"u8);
        text.Bulk(pending.Id);
        text.Bulk("TIME"u8);
        text.Bulk(pending.Delivered);
        text.Bulk("RETRYCOUNT"u8);
        text.Bulk(pending.Deliveries);
        text.Bulk("JUSTID"u8);
        text.Bulk("FORCE"u8);
    }

    private void Return(in Entry entry, StreamGroup group, in PendingEntry pending)
    {
        text.Head(10);
        text.Bulk("XNACK"u8);
        text.Bulk(entry.Key);
        text.Bulk(group.Name);
        text.Bulk("FAIL"u8);
        text.Bulk("IDS"u8);
        text.Bulk("1"u8);
        text.Bulk(pending.Id);
        text.Bulk("RETRYCOUNT"u8);
        text.Bulk(pending.Deliveries);
        text.Bulk("FORCE"u8);
    }

    private void Producers(in Entry entry, StreamProducers producers)
    {
        text.Head(6);
        text.Bulk("XCFGSET"u8);
        text.Bulk(entry.Key);
        text.Bulk("IDMP-DURATION"u8);
        text.Bulk(producers.Seconds);
        text.Bulk("IDMP-MAXSIZE"u8);
        text.Bulk(producers.Most);
        for (long i = 0; i < producers.Count; i++)
        {
            for (long j = 0; j < producers.MessagesAt(i); j++)
            {
                ReadOnlySpan<byte> message = producers.MessageAt(i, j, out StreamId id);
                text.Head(5);
                text.Bulk("XIDMPRECORD"u8);
                text.Bulk(entry.Key);
                text.Bulk(producers.NameAt(i));
                text.Bulk(message);
                text.Bulk(id);
            }
        }
    }
}
