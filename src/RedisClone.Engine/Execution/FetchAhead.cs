using System.Runtime.CompilerServices;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Execution;

/// <summary>A request after its lookup and before its run.</summary>
internal struct Prepared
{
    public CommandRow? Row;

    /// <summary>The hash of its first key.</summary>
    public ulong Hash;

    /// <summary>
    /// The record that the request searches for a member, and the member's hash; 0 if there is nothing to fetch.
    /// </summary>
    public uint Record;
    public ulong Member;
}

/// <summary>
/// Prefetches the memory that a batch of requests will use before the first one runs, so that the latencies of all fetches
/// overlap: first the bucket of each key, then the record, and, shortly before their run, members of large collections.
/// </summary>
internal static class FetchAhead
{
    /// <summary>
    /// How many requests ahead of the current one a member's bucket and a member are prefetched. The distance is about one
    /// memory latency.
    /// </summary>
    private const int MemberBucketsAhead = 8, MembersAhead = 4;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Bucket(ShardMap shards, int database, ulong hash) =>
        shards.Of(hash).Store.ExistingDatabase(database)?.PrefetchBucket(hash);

    /// <summary>
    /// Prefetches the records, whose buckets are already prefetched. Returns true if <see cref="Members"/> must be called before
    /// each request.
    /// </summary>
    public static bool Records(ShardMap shards, int database, RequestBatch batch, Prepared[] prepared)
    {
        bool any = false;
        for (int i = 0; i < batch.Count; i++)
        {
            ref Prepared next = ref prepared[i];
            next.Record = 0;
            if (next.Row is null || next.Row.FirstKey == 0) continue;
            if (shards.Of(next.Hash).Store.ExistingDatabase(database) is not { } keyspace) continue;
            uint record = keyspace.PrefetchRecord(next.Hash);
            if (next.Row.FirstMember == 0 || next.Row.FirstMember >= batch[i].Count) continue;
            next.Record = record;
            // In a small batch, the members would not arrive in time.
            any = batch.Count > Limits.GatheredBatch;
        }
        if (!any) return false;
        for (int i = -MemberBucketsAhead; i < 0; i++) Members(shards, batch, prepared, i);
        return true;
    }

    /// <summary>
    /// Prefetches members of later requests at the right distance, because reading a line before it has arrived stalls. The
    /// method is not inlined, so that the calling loop keeps its registers for its own variables.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Members(ShardMap shards, RequestBatch batch, Prepared[] prepared, int current)
    {
        int at = current + MemberBucketsAhead;
        if (at < batch.Count && prepared[at].Record != 0)
        {
            ref Prepared next = ref prepared[at];
            ReadOnlySpan<byte> member = batch[at][next.Row!.FirstMember];
            if (!shards.Of(next.Hash).Store.PrefetchMemberBucket(next.Record, member, out next.Member)) next.Record = 0;
        }
        at = current + MembersAhead;
        if (at < 0 || at >= batch.Count || prepared[at].Record == 0) return;
        shards.Of(prepared[at].Hash).Store.PrefetchMember(prepared[at].Record, prepared[at].Member);
    }
}
