using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// Reads streams: nodes of entries, each a listpack whose entries are differences to the node's first ID; then the stream's
/// state, its groups with what they have pending, and since Redis 8.6 the messages of idempotent producers.
/// </summary>
internal static class RdbStreamReader
{
    public static bool Read(RdbReader reader, RdbType type, IRdbValueVisitor visitor, ref long elements)
    {
        // A stream may be empty and yet be there.
        elements = 1;
        if (!reader.TryCount(out var nodes) || !visitor.Begin(RdbValueKind.Stream, 0)) return false;
        ulong entries = 0;
        RdbStreamId? last = null;
        for (long i = 0; i < nodes; i++)
        {
            if (!reader.TryString(out var key)) return false;
            if (key.Length != 16) return reader.Fail("Stream node key entry is not the size of a stream ID");
            var master = new RdbStreamId(BinaryPrimitives.ReadUInt64BigEndian(key), BinaryPrimitives.ReadUInt64BigEndian(key[8..]));
            if (!reader.TryString(out var node)) return false;
            if (!RdbStreamNode.Read(node, master, visitor, ref entries, ref last, out var isRejected))
                return !isRejected && reader.Fail("Stream listpack integrity check failed.");
        }
        if (!TryState(reader, type, entries, out var state) || !visitor.StreamState(state)) return false;
        if (!reader.TryCount(out var groups)) return false;
        for (long i = 0; i < groups; i++)
            if (!ReadGroup(reader, type, visitor)) return false;
        return type < RdbType.Stream4 || ReadProducers(reader, visitor);
    }

    private static bool TryState(RdbReader reader, RdbType type, ulong entries, out RdbStreamState state)
    {
        state = default;
        if (!reader.TryLength(out var length) || !TryId(reader, out var last)) return false;
        if (length > 0 && entries == 0) return reader.Fail("Stream length inconsistent with rax entries");
        state = new() { Length = entries, Last = last, EntriesAdded = entries };
        if (type < RdbType.Stream2) return true;
        if (!TryId(reader, out var first) || !TryId(reader, out var deleted) || !reader.TryLength(out var added)) return false;
        state = state with { IsComplete = true, First = first, HighestDeleted = deleted, EntriesAdded = added };
        return true;
    }

    private static bool ReadGroup(RdbReader reader, RdbType type, IRdbValueVisitor visitor)
    {
        if (!reader.TryHeldString(out var name) || !TryId(reader, out var last)) return false;
        var read = ulong.MaxValue;
        if (type >= RdbType.Stream2 && !reader.TryLength(out read)) return false;
        if (!visitor.StreamGroup(name, last, unchecked((long)read)) || !reader.TryCount(out var pending)) return false;
        for (long i = 0; i < pending; i++)
        {
            if (!TryRawId(reader, out var id) || !reader.TryMilliseconds(out var delivered) || !reader.TryLength(out var deliveries)
                || !visitor.StreamPending(id, delivered, deliveries)) return false;
        }
        if (!reader.TryCount(out var consumers)) return false;
        for (long i = 0; i < consumers; i++)
            if (!ReadConsumer(reader, type, visitor)) return false;
        if (type < RdbType.Stream5) return true;
        if (!reader.TryCount(out var returned)) return false;
        for (long i = 0; i < returned; i++)
            if (!TryRawId(reader, out var id) || !visitor.StreamReturned(id)) return false;
        return true;
    }

    private static bool ReadConsumer(RdbReader reader, RdbType type, IRdbValueVisitor visitor)
    {
        if (!reader.TryHeldString(out var name) || !reader.TryMilliseconds(out var seen)) return false;
        var active = seen;
        if (type >= RdbType.Stream3 && !reader.TryMilliseconds(out active)) return false;
        if (!visitor.StreamConsumer(name, seen, active)) return reader.Fail("Duplicate stream consumer detected");
        if (!reader.TryCount(out var pending)) return false;
        for (long i = 0; i < pending; i++)
            if (!TryRawId(reader, out var id) || !visitor.StreamConsumerPending(id)) return false;
        return true;
    }

    private static bool ReadProducers(RdbReader reader, IRdbValueVisitor visitor)
    {
        if (!reader.TryLength(out var seconds) || !reader.TryLength(out var most) || !reader.TryCount(out var producers)) return false;
        for (long i = 0; i < producers; i++)
        {
            if (!reader.TryHeldString(out var producer) || !reader.TryCount(out var messages)) return false;
            for (long j = 0; j < messages; j++)
            {
                // The message's name is read before its ID, and must outlast it; the producer's already takes the held place.
                if (!reader.TryString(out var message)) return false;
                var name = message.ToArray();
                if (!TryId(reader, out var id) || !visitor.StreamProducerMessage(producer, name, id)) return false;
            }
        }
        return reader.TryLength(out var added) && reader.TryLength(out var duplicates)
            && visitor.StreamIdempotence(seconds, most, added, duplicates);
    }

    private static bool TryRawId(RdbReader reader, out RdbStreamId id)
    {
        var isRead = reader.TryRawStreamId(out var milliseconds, out var sequence);
        id = new(milliseconds, sequence);
        return isRead;
    }

    private static bool TryId(RdbReader reader, out RdbStreamId id)
    {
        id = default;
        if (!reader.TryLength(out var milliseconds) || !reader.TryLength(out var sequence)) return false;
        id = new(milliseconds, sequence);
        return true;
    }
}
