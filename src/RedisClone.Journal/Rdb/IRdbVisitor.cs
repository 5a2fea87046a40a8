namespace RedisClone.Journal.Rdb;

/// <summary>What an RDB says of a key, beside its value. The name is valid during the call.</summary>
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

/// <summary>Receives what an RDB holds, in order.</summary>
public interface IRdbVisitor
{
    /// <summary>A fact about the file; unknown ones are to be ignored.</summary>
    void Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value);

    /// <summary>How many keys the database that follows has.</summary>
    void Resize(int database, long keys, long expiring);

    /// <summary>A function library's source; null, or why it cannot be loaded.</summary>
    string? Function(ReadOnlySpan<byte> code);

    /// <summary>Whether values that lie whole in the reader's buffer are wanted as they are (<see cref="Value"/>).</summary>
    bool TakesValues => false;

    /// <summary>
    /// A key and its value's bytes, nothing of which was looked at: <see cref="RdbValueReader"/> reads them, now or later. Null, or why it cannot be
    /// taken.
    /// </summary>
    string? Value(in RdbKey key, RdbType type, ReadOnlySpan<byte> value) => null;

    /// <summary>A key; its value goes to the visitor returned. Null skips it: the value is read, and dropped.</summary>
    IRdbValueVisitor? Key(in RdbKey key);

    /// <summary>The key named last has no value after all (it was empty): forget it.</summary>
    void SkippedEmpty();
}
