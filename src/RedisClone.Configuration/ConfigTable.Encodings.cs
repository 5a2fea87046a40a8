namespace RedisClone.Configuration;

/// <summary>The parameters for the maximum sizes of packed values.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Encodings() =>
    [
        Long("hash-max-listpack-entries", 512, 0, static c => ref c.HashMaxListpackEntries,
            "Maximum number of fields of a packed hash.", "hash-max-ziplist-entries"),
        Bytes("hash-max-listpack-value", 64, 0, static c => ref c.HashMaxListpackValue,
            "Maximum length of a field or value in a packed hash.", "hash-max-ziplist-value"),
        Int("list-max-listpack-size", -2, int.MinValue, int.MaxValue, static c => ref c.ListMaxListpackSize,
            "Maximum number of elements in a node of a list; -1 to -5 limit its size to 4 to 64 kb.", "list-max-ziplist-size"),
        Int("list-compress-depth", 0, 0, int.MaxValue, static c => ref c.ListCompressDepth,
            "Uncompressed nodes at both ends of a list; 0 compresses none.", flags: TunesNothing),
        Long("set-max-intset-entries", 512, 0, static c => ref c.SetMaxIntsetEntries,
            "Maximum number of members of a packed set of integers."),
        Long("set-max-listpack-entries", 128, 0, static c => ref c.SetMaxListpackEntries,
            "Maximum number of members of a packed set."),
        Long("set-max-listpack-value", 64, 0, static c => ref c.SetMaxListpackValue,
            "Maximum length of a member of a packed set."),
        Long("zset-max-listpack-entries", 128, 0, static c => ref c.ZsetMaxListpackEntries,
            "Maximum number of members of a packed sorted set.", "zset-max-ziplist-entries"),
        Bytes("zset-max-listpack-value", 64, 0, static c => ref c.ZsetMaxListpackValue,
            "Maximum length of a member of a packed sorted set.", "zset-max-ziplist-value"),
        Bytes("hll-sparse-max-bytes", 3000, 0, static c => ref c.HllSparseMaxBytes, "Maximum size of a sparse HyperLogLog."),
        Bytes("stream-node-max-bytes", 4096, 0, static c => ref c.StreamNodeMaxBytes,
            "Maximum size of a node of a stream; 0 is no limit."),
        Long("stream-node-max-entries", 100, 0, static c => ref c.StreamNodeMaxEntries,
            "Maximum number of entries in a node of a stream; 0 is no limit."),
        Int("stream-idmp-duration", 100, 1, 86400, static c => ref c.StreamIdmpDuration,
            "Seconds that a stream remembers the IDs of idempotent producers."),
        Int("stream-idmp-maxsize", 100, 1, 10000, static c => ref c.StreamIdmpMaxSize,
            "IDs that a stream remembers for one producer."),
        Int("array-slice-size", 4096, 1, int.MaxValue, "Elements in a slice of an array.", flags: TunesNothing),
        Int("array-sparse-kmin", 5, 0, int.MaxValue, "Maximum number of elements of a sparse slice.", flags: TunesNothing),
        Int("array-sparse-kmax", 10, 0, int.MaxValue,
            "Number of elements at which a sparse slice becomes dense.", flags: TunesNothing),
    ];
}
