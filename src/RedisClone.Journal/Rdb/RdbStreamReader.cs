using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// Reads a stream: nodes of entries, each a listpack with IDs relative to the first ID of the node; the state of the
/// stream; its groups with their pending entries; and, since Redis 8.6, the messages of idempotent producers.
/// </summary>
internal static class RdbStreamReader
{
    public static bool Read(RdbReader reader, RdbType type, IRdbValueVisitor visitor, ref long elements)
    {
        // A stream without entries is a valid value.
        elements = 1;
        if (!reader.TryCount(out long nodes) || !visitor.Begin(RdbValueKind.Stream, 0)) return false;
        ulong entries = 0;
        RdbStreamId? last = null;
        for (long i = 0; i < nodes; i++)
        {
            if (!reader.TryString(out ReadOnlySpan<byte> key)) return false;
            if (key.Length != 16) return reader.Fail("Stream node key entry is not the size of a stream ID");
            var master = new RdbStreamId(
                BinaryPrimitives.ReadUInt64BigEndian(key), BinaryPrimitives.ReadUInt64BigEndian(key[8..]));
            if (!reader.TryString(out ReadOnlySpan<byte> node)) return false;
            if (!RdbStreamNode.Read(node, master, visitor, ref entries, ref last, out bool isRejected))
                return !isRejected && reader.Fail("Stream listpack integrity check failed.");
        }
        if (!TryState(reader, type, entries, out RdbStreamState state) || !visitor.StreamState(state)) return false;
        if (!reader.TryCount(out long groups)) return false;
        for (long i = 0; i < groups; i++)
            if (!ReadGroup(reader, type, visitor)) return false;
        return type < RdbType.Stream4 || ReadProducers(reader, visitor);
    }

    private static bool TryState(RdbReader reader, RdbType type, ulong entries, out RdbStreamState state)
    {
        state = default;
        if (!reader.TryLength(out ulong length) || !TryId(reader, out RdbStreamId last)) return false;
        if (length > 0 && entries == 0) return reader.Fail("Stream length inconsistent with rax entries");
        state = new() { Length = entries, Last = last, EntriesAdded = entries };
        if (type < RdbType.Stream2) return true;
        if (!TryId(reader, out RdbStreamId first) || !TryId(reader, out RdbStreamId deleted)
            || !reader.TryLength(out ulong added))
            return false;
        state = state with { IsComplete = true, First = first, HighestDeleted = deleted, EntriesAdded = added };
        return true;
    }

    private static bool ReadGroup(RdbReader reader, RdbType type, IRdbValueVisitor visitor)
    {
        if (!reader.TryHeldString(out ReadOnlySpan<byte> name) || !TryId(reader, out RdbStreamId last)) return false;
        ulong read = ulong.MaxValue;
        if (type >= RdbType.Stream2 && !reader.TryLength(out read)) return false;
        if (!visitor.StreamGroup(name, last, unchecked((long)read)) || !reader.TryCount(out long pending)) return false;
        for (long i = 0; i < pending; i++)
        {
            if (!TryRawId(reader, out RdbStreamId id) || !reader.TryMilliseconds(out long delivered)
                || !reader.TryLength(out ulong deliveries)
                || !visitor.StreamPending(id, delivered, deliveries)) return false;
        }
        if (!reader.TryCount(out long consumers)) return false;
        for (long i = 0; i < consumers; i++)
            if (!ReadConsumer(reader, type, visitor)) return false;
        if (type < RdbType.Stream5) return true;
        if (!reader.TryCount(out long returned)) return false;
        for (long i = 0; i < returned; i++)
            if (!TryRawId(reader, out RdbStreamId id) || !visitor.StreamReturned(id)) return false;
        return true;
    }

    private static bool ReadConsumer(RdbReader reader, RdbType type, IRdbValueVisitor visitor)
    {
        if (!reader.TryHeldString(out ReadOnlySpan<byte> name) || !reader.TryMilliseconds(out long seen)) return false;
        long active = seen;
        if (type >= RdbType.Stream3 && !reader.TryMilliseconds(out active)) return false;
        if (!visitor.StreamConsumer(name, seen, active)) return reader.Fail("Duplicate stream consumer detected");
        if (!reader.TryCount(out long pending)) return false;
        for (long i = 0; i < pending; i++)
            if (!TryRawId(reader, out RdbStreamId id) || !visitor.StreamConsumerPending(id)) return false;
        return true;
    }

    private static bool ReadProducers(RdbReader reader, IRdbValueVisitor visitor)
    {
        if (!reader.TryLength(out ulong seconds) || !reader.TryLength(out ulong most) || !reader.TryCount(out long producers))
            return false;
        for (long i = 0; i < producers; i++)
        {
            if (!reader.TryHeldString(out ReadOnlySpan<byte> producer) || !reader.TryCount(out long messages)) return false;
            for (long j = 0; j < messages; j++)
            {
                // The name of the message must outlive the reading of its ID. The held buffer already contains the name
                // of the producer.
                if (!reader.TryString(out ReadOnlySpan<byte> message)) return false;
                byte[] name = message.ToArray();
                if (!TryId(reader, out RdbStreamId id) || !visitor.StreamProducerMessage(producer, name, id)) return false;
            }
        }
        return reader.TryLength(out ulong added) && reader.TryLength(out ulong duplicates)
            && visitor.StreamIdempotence(seconds, most, added, duplicates);
    }

    private static bool TryRawId(RdbReader reader, out RdbStreamId id)
    {
        bool isRead = reader.TryRawStreamId(out ulong milliseconds, out ulong sequence);
        id = new(milliseconds, sequence);
        return isRead;
    }

    private static bool TryId(RdbReader reader, out RdbStreamId id)
    {
        id = default;
        if (!reader.TryLength(out ulong milliseconds) || !reader.TryLength(out ulong sequence)) return false;
        id = new(milliseconds, sequence);
        return true;
    }
}
