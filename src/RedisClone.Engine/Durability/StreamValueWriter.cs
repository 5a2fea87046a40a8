using RedisClone.Journal.Rdb;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Writes streams in the encoding of redis-server 7.0, or in a later one if the stream has data that 7.0 does not know. Each
/// block becomes a node.
/// </summary>
internal sealed class StreamValueWriter(RdbWriter writer)
{
    internal const long DefaultSeconds = 100, DefaultMessages = 100;

    private readonly RdbStreamWriter _stream = new(writer);
    private readonly RdbStreamNodeWriter _node = new();

    /// <summary>
    /// The oldest encoding that has all data of the stream. It need not have the active time of consumers; readers use the
    /// seen time instead.
    /// </summary>
    public static RdbType TypeOf(in Entry entry)
    {
        for (long i = 0; i < StreamGroup.Count(entry); i++)
            if (StreamGroup.At(entry, i).ReturnedCount > 0) return RdbType.Stream5;
        return StreamProducers.Of(entry).Exist ? RdbType.Stream4 : RdbType.Stream2;
    }

    public void Write(in Entry entry, RdbType type)
    {
        Begin(entry);
        Nodes(StreamValue.Entries(entry), long.MaxValue, out _);
        End(entry, type);
    }

    /// <summary>Writes what precedes the entries.</summary>
    public void Begin(in Entry entry) => _stream.BeginNodes(StreamValue.Blocks(entry));

    /// <summary>
    /// Writes nodes of about <paramref name="bytes"/> bytes, from the place where the previous part ended. With the last of them it also
    /// writes everything that follows, and returns true. Another thread, with a writer of its own, may have written the previous part.
    /// </summary>
    public bool Part(in Entry entry, long bytes, ref CapturePlace place)
    {
        if (!Nodes(StreamValue.Entries(entry, new StreamId(place.Cursor, place.Sequence), StreamId.Max), bytes, out StreamId next))
        {
            (place.Cursor, place.Sequence) = (next.Milliseconds, next.Sequence);
            return false;
        }
        End(entry, TypeOf(entry));
        return true;
    }

    private void End(in Entry entry, RdbType type)
    {
        StreamCounts counts = StreamCounts.Of(entry);
        long groups = StreamGroup.Count(entry);
        var state = new RdbStreamState
        {
            Length = (ulong)counts.Count,
            Last = Id(counts.State.Last),
            First = Id(counts.First),
            HighestDeleted = Id(counts.State.HighestDeleted),
            EntriesAdded = counts.State.Added,
        };
        _stream.EndEntries(type, state, groups);
        for (long i = 0; i < groups; i++) Group(StreamGroup.At(entry, i), type);
        if (type >= RdbType.Stream4) Producers(StreamProducers.Of(entry));
    }

    /// <summary>
    /// Writes nodes until they have this number of bytes. False if there are more, which begin at <paramref name="behind"/>.
    /// </summary>
    private bool Nodes(StreamEntries entries, long bytes, out StreamId behind)
    {
        RdbStreamId master = default;
        int left = 0;
        behind = default;
        while (entries.MoveNext())
        {
            StreamEntry next = entries.Current;
            if (entries.BeginsBlock)
            {
                behind = next.Id;
                if (bytes <= 0) return false;
                master = Id(entries.BlockFirst);
                left = entries.BlockCount;
                StreamNames names = entries.BlockNames;
                _node.Begin(master, left, names.Count);
                foreach (Element name in names) Word(name);
                _node.EndFields();
            }
            _node.BeginEntry(Id(next.Id), next.SharesNames, next.FieldCount);
            foreach (StreamFields field in next)
            {
                if (!next.SharesNames) Word(field.Name);
                Word(field.Value);
            }
            _node.EndEntry();
            if (--left > 0) continue;
            ReadOnlySpan<byte> node = _node.Finish();
            bytes -= node.Length;
            _stream.Node(master, node);
        }
        return true;
    }

    private void Group(StreamGroup group, RdbType type)
    {
        _stream.Group(group.Name, Id(group.Last), group.EntriesRead, group.PendingCount);
        bool more = true;
        for (StreamId next = StreamId.Min; more && group.TryNextPending(next, out PendingEntry pending); more = pending.Id.TryNext(out next))
            _stream.Pending(Id(pending.Id), pending.Delivered, (ulong)pending.Deliveries);
        _stream.Consumers(group.ConsumerCount);
        for (long i = 0; i < group.ConsumerCount; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            _stream.Consumer(consumer.Name, consumer.Seen, consumer.Active, consumer.PendingCount);
            more = true;
            for (StreamId next = StreamId.Min; more && consumer.TryNextPending(next, out StreamId id); more = id.TryNext(out next))
                _stream.ConsumerPending(Id(id));
        }
        if (type < RdbType.Stream5) return;
        _stream.Returned(group.ReturnedCount);
        for (long order = long.MinValue; group.TryNextReturned(order, out PendingEntry returned); order = returned.Order + 1)
            _stream.ReturnedId(Id(returned.Id));
    }

    private void Producers(StreamProducers producers)
    {
        // The encoding requires limits. A stream without producers writes the defaults.
        _stream.Producers(
            producers.Exist ? producers.Seconds : DefaultSeconds,
            producers.Exist ? producers.Most : DefaultMessages,
            producers.Exist ? producers.Count : 0);
        for (long i = 0; producers.Exist && i < producers.Count; i++)
        {
            long messages = producers.MessagesAt(i);
            _stream.Producer(producers.NameAt(i), messages);
            for (long j = 0; j < messages; j++)
            {
                ReadOnlySpan<byte> message = producers.MessageAt(i, j, out StreamId id);
                _stream.ProducerMessage(message, Id(id));
            }
        }
        _stream.EndProducers(producers.Exist ? producers.Added : 0, producers.Exist ? producers.Duplicates : 0);
    }

    private void Word(Element element)
    {
        if (element.IsInteger) _node.Word(element.Integer);
        else _node.Word(element.Bytes);
    }

    private static RdbStreamId Id(StreamId id) => new(id.Milliseconds, id.Sequence);
}
