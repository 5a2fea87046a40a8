using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>The fields of a new entry.</summary>
public interface IStreamFields
{
    int Count { get; }

    ReadOnlySpan<byte> Name(int index);

    ReadOnlySpan<byte> Value(int index);
}

/// <summary>An entry in memory. Valid until the stream or its keyspace changes.</summary>
public readonly ref struct StreamEntry
{
    private readonly ReadOnlySpan<byte> _names, _words;
    private readonly bool _shared;

    internal StreamEntry(StreamId id, int fields, ReadOnlySpan<byte> names, ReadOnlySpan<byte> words)
    {
        Id = id;
        FieldCount = fields;
        _names = names;
        _words = words;
        _shared = !names.IsEmpty;
    }

    public StreamId Id { get; }

    public int FieldCount { get; }

    /// <summary>Whether the entry uses the shared field names of its block.</summary>
    public bool SharesNames => _shared;

    public StreamFields GetEnumerator() => new(FieldCount, _names, _words);
}

/// <summary>Walks the fields of an entry.</summary>
public ref struct StreamFields
{
    private readonly ReadOnlySpan<byte> _names, _words;
    private int _left, _name, _word;

    internal StreamFields(int count, ReadOnlySpan<byte> names, ReadOnlySpan<byte> words)
    {
        _left = count;
        _names = names;
        _words = words;
    }

    public Element Name { get; private set; }

    public Element Value { get; private set; }

    public readonly StreamFields Current => this;

    public bool MoveNext()
    {
        if (_left-- <= 0) return false;
        Name = _names.IsEmpty ? StreamWords.Read(_words, ref _word) : StreamWords.Read(_names, ref _name);
        Value = StreamWords.Read(_words, ref _word);
        return true;
    }
}

/// <summary>Walks the shared field names of a block.</summary>
public ref struct StreamNames
{
    private readonly ReadOnlySpan<byte> _names;
    private int _left, _at;

    internal StreamNames(ReadOnlySpan<byte> names, int count)
    {
        _names = names;
        _left = Count = count;
    }

    public int Count { get; }

    public Element Current { get; private set; }

    public readonly StreamNames GetEnumerator() => this;

    public bool MoveNext()
    {
        if (_left-- <= 0) return false;
        Current = StreamWords.Read(_names, ref _at);
        return true;
    }
}
