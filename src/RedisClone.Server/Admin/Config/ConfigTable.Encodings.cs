namespace RedisClone.Server.Admin;

/// <summary>Where the packed form of a small value ends.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Encodings() =>
    [
        Long("hash-max-listpack-entries", 512, 0, static c => ref c.HashMaxListpackEntries, "Fields of a hash that is still packed.", "hash-max-ziplist-entries"),
        Bytes("hash-max-listpack-value", 64, 0, static c => ref c.HashMaxListpackValue, "Longest field or value of a hash that is still packed.", "hash-max-ziplist-value"),
        Int("list-max-listpack-size", -2, int.MinValue, int.MaxValue, static c => ref c.ListMaxListpackSize, "Elements of a list's node, or from -1 to -5 its size from 4 to 64 kb.", "list-max-ziplist-size"),
        Int("list-compress-depth", 0, 0, int.MaxValue, static c => ref c.ListCompressDepth, "Nodes at both ends of a list that are not compressed; 0 compresses none.", flags: TunesNothing),
        Long("set-max-intset-entries", 512, 0, static c => ref c.SetMaxIntsetEntries, "Members of a set of integers that is still packed."),
        Long("set-max-listpack-entries", 128, 0, static c => ref c.SetMaxListpackEntries, "Members of a set that is still packed."),
        Long("set-max-listpack-value", 64, 0, static c => ref c.SetMaxListpackValue, "Longest member of a set that is still packed."),
        Long("zset-max-listpack-entries", 128, 0, static c => ref c.ZsetMaxListpackEntries, "Members of a sorted set that is still packed.", "zset-max-ziplist-entries"),
        Bytes("zset-max-listpack-value", 64, 0, static c => ref c.ZsetMaxListpackValue, "Longest member of a sorted set that is still packed.", "zset-max-ziplist-value"),
        Bytes("hll-sparse-max-bytes", 3000, 0, static c => ref c.HllSparseMaxBytes, "Size of a HyperLogLog that is still sparse."),
        Bytes("stream-node-max-bytes", 4096, 0, static c => ref c.StreamNodeMaxBytes, "Size of a stream's node; 0 is no limit."),
        Long("stream-node-max-entries", 100, 0, static c => ref c.StreamNodeMaxEntries, "Entries of a stream's node; 0 is no limit."),
        Int("stream-idmp-duration", 100, 1, 86400, static c => ref c.StreamIdmpDuration, "Seconds that a stream remembers the ids of idempotent producers."),
        Int("stream-idmp-maxsize", 100, 1, 10000, static c => ref c.StreamIdmpMaxSize, "Ids that it remembers of one producer."),
        Int("array-slice-size", 4096, 1, int.MaxValue, "Elements of an array's slice.", flags: TunesNothing),
        Int("array-sparse-kmin", 5, 0, int.MaxValue, "Elements up to which a slice becomes sparse.", flags: TunesNothing),
        Int("array-sparse-kmax", 10, 0, int.MaxValue, "Elements from which a sparse slice becomes dense.", flags: TunesNothing),
    ];
}
