using RedisClone.Journal.Rdb;
using RedisClone.Memory;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Writes streams in the encoding of redis-server 7.0, or in a later one if the stream has data that 7.0 does not know. Each
/// block becomes a node.
/// </summary>
/// <param name="writer">The writer of the values.</param>
/// <param name="mostBuilt">The size of a block up to which its node is built in memory. A longer one is written in two walks over the block.</param>
internal sealed class StreamValueWriter(RdbWriter writer, int? mostBuilt = null)
{
    private static readonly int s_mostBuilt = HeapLimit.IsSmall ? 64 * 1024 : int.MaxValue;

    internal const long DefaultSeconds = 100, DefaultMessages = 100;

    private readonly RdbStreamWriter _stream = new(writer);
    private readonly ListpackWriter _built = new();
    private readonly ListpackStream _streamed = new(writer);
    private readonly int _mostBuilt = mostBuilt ?? s_mostBuilt;
    private RdbStreamNodeWriter? _builtNode, _streamedNode;

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
    /// Writes nodes until they have this number of bytes. The walk begins with a block. False if there are more, which begin at <paramref name="behind"/>.
    /// </summary>
    private bool Nodes(StreamEntries entries, long bytes, out StreamId behind)
    {
        behind = default;
        while (entries.MoveNext())
        {
            behind = entries.Current.Id;
            if (bytes <= 0) return false;
            bytes -= entries.BlockBytes <= _mostBuilt ? Build(ref entries) : Stream(ref entries);
        }
        return true;
    }

    /// <summary>Writes the block that begins with the current entry as a node. Returns its length.</summary>
    private long Build(ref StreamEntries entries)
    {
        RdbStreamId master = Id(entries.BlockFirst);
        _built.Clear();
        Block(ref entries, _builtNode ??= new RdbStreamNodeWriter(_built), master);
        ReadOnlySpan<byte> node = _built.Finish();
        _stream.Node(master, node);
        return node.Length;
    }

    /// <summary>The same without memory for the node.</summary>
    private long Stream(ref StreamEntries entries)
    {
        RdbStreamId master = Id(entries.BlockFirst);
        RdbStreamNodeWriter node = _streamedNode ??= new RdbStreamNodeWriter(_streamed);
        StreamEntries measured = entries;
        _streamed.Measure();
        Block(ref measured, node, master);
        _stream.BeginNode(master);
        _streamed.Begin();
        Block(ref entries, node, master);
        _streamed.End();
        return entries.BlockBytes;
    }

    /// <summary>Writes the entries of a block, from the current one, which is the first, to the last.</summary>
    private static void Block(ref StreamEntries entries, RdbStreamNodeWriter node, RdbStreamId master)
    {
        StreamNames names = entries.BlockNames;
        node.Begin(master, entries.BlockCount, names.Count);
        foreach (Element name in names) Word(node, name);
        node.EndFields();
        for (int left = entries.BlockCount; left > 0; left--)
        {
            StreamEntry next = entries.Current;
            node.BeginEntry(Id(next.Id), next.SharesNames, next.FieldCount);
            foreach (StreamFields field in next)
            {
                if (!next.SharesNames) Word(node, field.Name);
                Word(node, field.Value);
            }
            node.EndEntry();
            if (left > 1) entries.MoveNext();
        }
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

    private static void Word(RdbStreamNodeWriter node, Element element)
    {
        if (element.IsInteger) node.Word(element.Integer);
        else node.Word(element.Bytes);
    }

    private static RdbStreamId Id(StreamId id) => new(id.Milliseconds, id.Sequence);
}
