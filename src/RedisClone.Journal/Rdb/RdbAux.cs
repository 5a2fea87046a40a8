namespace RedisClone.Journal.Rdb;

/// <summary>
/// The facts that a file of this server states of itself, beside Redis's own. Redis ignores what it does not know.
/// </summary>
public static class RdbAux
{
    /// <summary>The position in the global stream that the snapshot stands for, as decimal text. A base must have it.</summary>
    public static ReadOnlySpan<byte> JournalPosition => "rc1-lsn"u8;
}
