namespace RedisClone.Journal.Rdb;

/// <summary>The properties of a key in an RDB, without its value. The name is valid during the call.</summary>
public readonly ref struct RdbKey
{
    public required int Database { get; init; }

    public required ReadOnlySpan<byte> Name { get; init; }

    /// <summary>An absolute time, or -1.</summary>
    public required long ExpireMilliseconds { get; init; }

    /// <summary>Seconds since the last access, or -1.</summary>
    public required long IdleSeconds { get; init; }

    /// <summary>The logarithmic access counter, or -1.</summary>
    public required int Frequency { get; init; }
}

/// <summary>Receives the contents of an RDB in order.</summary>
public interface IRdbVisitor
{
    /// <summary>An auxiliary field of the file. Implementations must ignore unknown names.</summary>
    void Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value);

    /// <summary>The number of keys in the database that follows.</summary>
    void Resize(int database, long keys, long expiring);

    /// <summary>The source of a function library. Returns null, or the reason why it cannot be loaded.</summary>
    string? Function(ReadOnlySpan<byte> code);

    /// <summary>
    /// True to receive unparsed values through <see cref="Value"/> when they are completely in the buffer of the
    /// reader.
    /// </summary>
    bool TakesValues => false;

    /// <summary>
    /// A key with the unparsed bytes of its value. <see cref="RdbValueReader"/> can parse them during the call or
    /// later. Returns null, or the reason for a rejection.
    /// </summary>
    string? Value(in RdbKey key, RdbType type, ReadOnlySpan<byte> value) => null;

    /// <summary>
    /// A key. Its value goes to the returned visitor. If the result is null, the value is read and discarded.
    /// </summary>
    IRdbValueVisitor? Key(in RdbKey key);

    /// <summary>The value of the last key was an empty collection. The implementation must discard the key.</summary>
    void SkippedEmpty();
}
