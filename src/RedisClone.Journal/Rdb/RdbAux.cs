namespace RedisClone.Journal.Rdb;

/// <summary>Auxiliary fields of a snapshot. Redis ignores those that it does not know.</summary>
public static class RdbAux
{
    /// <summary>The stream position of the snapshot, as decimal text. Required in a base.</summary>
    public static ReadOnlySpan<byte> JournalPosition => "rc1-lsn"u8;

    /// <summary>The database that the replication stream after the snapshot is in, as decimal text.</summary>
    public static ReadOnlySpan<byte> StreamDatabase => "repl-stream-db"u8;

    /// <summary>The name of the history that the data belongs to.</summary>
    public static ReadOnlySpan<byte> History => "repl-id"u8;

    /// <summary>The offset of the stream at the snapshot, as decimal text.</summary>
    public static ReadOnlySpan<byte> StreamOffset => "repl-offset"u8;
}
