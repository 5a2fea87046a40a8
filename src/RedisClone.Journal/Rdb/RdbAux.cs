namespace RedisClone.Journal.Rdb;

/// <summary>The auxiliary fields that this server adds to those of Redis. Redis ignores unknown fields.</summary>
public static class RdbAux
{
    /// <summary>The stream position of the snapshot, as decimal text. Required in a base.</summary>
    public static ReadOnlySpan<byte> JournalPosition => "rc1-lsn"u8;

    /// <summary>The database that the replication stream after the snapshot is in, as decimal text.</summary>
    public static ReadOnlySpan<byte> StreamDatabase => "repl-stream-db"u8;
}
