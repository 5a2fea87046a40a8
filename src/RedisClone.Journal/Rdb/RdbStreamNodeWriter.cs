namespace RedisClone.Journal.Rdb;

/// <summary>Appends one node of a stream without deleted entries to a listpack; see <see cref="RdbStreamNode"/>. Reusable.</summary>
/// <remarks>
/// Call order: <see cref="Begin"/> and the shared fields as words; <see cref="EndFields"/>; for each entry
/// <see cref="BeginEntry"/>, its words and <see cref="EndEntry"/>.
/// </remarks>
public sealed class RdbStreamNodeWriter(IListpack listpack)
{
    private readonly IListpack _node = listpack;
    private RdbStreamId _master;
    private int _entryBegan;

    /// <summary>Begins a node with the given numbers of entries and of shared fields.</summary>
    public void Begin(RdbStreamId master, int entries, int fields)
    {
        _master = master;
        _node.Append(entries);
        _node.Append(0);
        _node.Append(fields);
    }

    public void EndFields() => _node.Append(0);

    /// <summary>
    /// Begins an entry. Its words are the values if it has the shared fields, otherwise alternating fields and values.
    /// </summary>
    public void BeginEntry(RdbStreamId id, bool hasSharedFields, int fields)
    {
        _entryBegan = _node.Count;
        _node.Append(hasSharedFields ? RdbStreamNode.SameFields : 0);
        _node.Append(unchecked((long)(id.Milliseconds - _master.Milliseconds)));
        _node.Append(unchecked((long)(id.Sequence - _master.Sequence)));
        if (!hasSharedFields) _node.Append(fields);
    }

    public void EndEntry() => _node.Append(_node.Count - _entryBegan);

    public void Word(ReadOnlySpan<byte> text) => _node.Append(text);

    public void Word(long number) => _node.Append(number);
}
