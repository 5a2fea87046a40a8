using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// Writes a stream entry by entry, as <see cref="RdbType.Stream2"/> (Redis 7.0) or a later form; see
/// <see cref="RdbStreamReader"/>. The number of nodes precedes the nodes, so every node but the last has the same
/// number of entries.
/// </summary>
/// <remarks>
/// Call order: <see cref="Begin"/>, and for each entry <see cref="BeginEntry"/> and its fields; or
/// <see cref="BeginNodes"/>, and <see cref="Node"/> for each node. Then <see cref="EndEntries"/>. For each group:
/// <see cref="Group"/>, its pending entries, <see cref="Consumers"/>, and for each consumer <see cref="Consumer"/> and
/// its pending IDs. From <see cref="RdbType.Stream5"/> on, each group ends with <see cref="Returned"/> and the returned
/// IDs. From <see cref="RdbType.Stream4"/> on, the stream ends with <see cref="Producers"/>, for each producer
/// <see cref="Producer"/> and its messages, and <see cref="EndProducers"/>.
/// </remarks>
public sealed class RdbStreamWriter(RdbWriter writer)
{
    private const int EntriesPerNode = 100;

    private readonly ListpackWriter _node = new();
    private readonly List<byte[]> _masterFields = [];
    private readonly List<(byte[] Bytes, int Length)> _words = [];
    private RdbType _type;
    private RdbStreamId _master;
    private RdbStreamId _entry;
    private int _wordCount;
    private int _nodeEntries;
    private long _left;

    /// <summary>
    /// Begins a stream of <paramref name="entries"/> entries, none of which is deleted. The caller writes the type
    /// byte, before the key.
    /// </summary>
    public void Begin(long entries)
    {
        _left = entries;
        _wordCount = _nodeEntries = 0;
        writer.Length((ulong)((entries + EntriesPerNode - 1) / EntriesPerNode));
    }

    /// <summary>Begins a stream whose entries already are in nodes.</summary>
    public void BeginNodes(long nodes)
    {
        _wordCount = 0;
        writer.Length((ulong)nodes);
    }

    public void Node(RdbStreamId master, ReadOnlySpan<byte> listpack)
    {
        BeginNode(master);
        writer.String(listpack);
    }

    /// <summary>Begins a node. Its listpack follows as a string.</summary>
    public void BeginNode(RdbStreamId master)
    {
        Span<byte> key = stackalloc byte[16];
        BinaryPrimitives.WriteUInt64BigEndian(key, master.Milliseconds);
        BinaryPrimitives.WriteUInt64BigEndian(key[8..], master.Sequence);
        writer.BeginString(key.Length);
        writer.Raw(key);
    }

    public void BeginEntry(RdbStreamId id)
    {
        WriteEntry();
        _entry = id;
    }

    public void Field(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        Keep(field);
        Keep(value);
    }

    /// <summary>
    /// Ends the entries of a stream of this type. Another writer may have written the beginning, so what follows depends on nothing before.
    /// </summary>
    public void EndEntries(RdbType type, in RdbStreamState state, long groups)
    {
        _type = type;
        WriteEntry();
        writer.Length(state.Length);
        Id(state.Last);
        Id(state.First);
        Id(state.HighestDeleted);
        writer.Length(state.EntriesAdded);
        writer.Length((ulong)groups);
    }

    /// <summary><paramref name="entriesRead"/> is -1 if it is not known.</summary>
    public void Group(ReadOnlySpan<byte> name, RdbStreamId last, long entriesRead, long pending)
    {
        writer.String(name);
        Id(last);
        writer.Length(unchecked((ulong)entriesRead));
        writer.Length((ulong)pending);
    }

    public void Pending(RdbStreamId id, long deliveredMilliseconds, ulong deliveries)
    {
        writer.RawStreamId(id.Milliseconds, id.Sequence);
        writer.Milliseconds(deliveredMilliseconds);
        writer.Length(deliveries);
    }

    public void Consumers(long count) => writer.Length((ulong)count);

    public void Consumer(ReadOnlySpan<byte> name, long seenMilliseconds, long activeMilliseconds, long pending)
    {
        writer.String(name);
        writer.Milliseconds(seenMilliseconds);
        if (_type >= RdbType.Stream3) writer.Milliseconds(activeMilliseconds);
        writer.Length((ulong)pending);
    }

    public void ConsumerPending(RdbStreamId id) => writer.RawStreamId(id.Milliseconds, id.Sequence);

    /// <summary>
    /// The number of the group's pending entries that were returned. Their IDs follow in the order in which they are to
    /// be delivered.
    /// </summary>
    public void Returned(long count) => writer.Length((ulong)count);

    public void ReturnedId(RdbStreamId id) => writer.RawStreamId(id.Milliseconds, id.Sequence);

    public void Producers(long seconds, long maxMessages, long count)
    {
        writer.Length((ulong)seconds);
        writer.Length((ulong)maxMessages);
        writer.Length((ulong)count);
    }

    public void Producer(ReadOnlySpan<byte> name, long messages)
    {
        writer.String(name);
        writer.Length((ulong)messages);
    }

    public void ProducerMessage(ReadOnlySpan<byte> name, RdbStreamId id)
    {
        writer.String(name);
        Id(id);
    }

    public void EndProducers(long added, long duplicates)
    {
        writer.Length((ulong)added);
        writer.Length((ulong)duplicates);
    }

    private void WriteEntry()
    {
        if (_wordCount == 0) return;
        if (_nodeEntries == 0) BeginNode();
        bool isSame = HasMasterFields();
        _node.Append(isSame ? RdbStreamNode.SameFields : 0);
        _node.Append(unchecked((long)(_entry.Milliseconds - _master.Milliseconds)));
        _node.Append(unchecked((long)(_entry.Sequence - _master.Sequence)));
        if (!isSame) _node.Append(_wordCount / 2);
        for (int i = isSame ? 1 : 0; i < _wordCount; i += isSame ? 2 : 1) _node.Append(Word(i));
        _node.Append(isSame ? _wordCount / 2 + 3 : _wordCount + 4);
        _wordCount = 0;
        _left--;
        if (++_nodeEntries == Math.Min(EntriesPerNode, _nodeEntries + _left)) EndNode();
    }

    /// <summary>Begins a node. The fields of the first entry become the shared fields.</summary>
    private void BeginNode()
    {
        _master = _entry;
        _masterFields.Clear();
        for (int i = 0; i < _wordCount; i += 2) _masterFields.Add(Word(i).ToArray());
        _node.Clear();
        _node.Append(Math.Min(EntriesPerNode, _left));
        _node.Append(0);
        _node.Append(_masterFields.Count);
        foreach (byte[] field in _masterFields) _node.Append(field);
        _node.Append(0);
    }

    private void EndNode()
    {
        Node(_master, _node.Finish());
        _nodeEntries = 0;
    }

    private bool HasMasterFields()
    {
        if (_wordCount != _masterFields.Count * 2) return false;
        for (int i = 0; i < _masterFields.Count; i++)
            if (!Word(i * 2).SequenceEqual(_masterFields[i])) return false;
        return true;
    }

    private void Keep(ReadOnlySpan<byte> word)
    {
        if (_wordCount == _words.Count) _words.Add(([], 0));
        byte[] bytes = _words[_wordCount].Bytes;
        if (bytes.Length < word.Length) bytes = new byte[Math.Max(64, word.Length)];
        word.CopyTo(bytes);
        _words[_wordCount++] = (bytes, word.Length);
    }

    private ReadOnlySpan<byte> Word(int index) => _words[index].Bytes.AsSpan(0, _words[index].Length);

    private void Id(RdbStreamId id)
    {
        writer.Length(id.Milliseconds);
        writer.Length(id.Sequence);
    }
}
