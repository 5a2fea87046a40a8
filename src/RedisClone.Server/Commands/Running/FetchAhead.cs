using System.Runtime.CompilerServices;
using RedisClone.Protocol;
using RedisClone.Server.Shards;
using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>What is known of a request before it runs.</summary>
internal struct Prepared
{
    public CommandRow? Row;

    /// <summary>Of its first key.</summary>
    public ulong Hash;

    /// <summary>The record in which a member is looked for, and the hash of that; 0 where there is nothing to fetch.</summary>
    public uint Record;
    public ulong Member;
}

/// <summary>
/// Asks for what a batch of requests will touch before the first of them runs, so that memory latency is paid once for all of them: first the
/// cache line of each key's bucket, then the record, and, shortly before their turn, members of large collections.
/// </summary>
internal static class FetchAhead
{
    /// <summary>How many requests ahead a member's bucket is asked for, and a member: about as long as memory takes.</summary>
    private const int MemberBucketsAhead = 8, MembersAhead = 4;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Bucket(ShardMap shards, int database, ulong hash) =>
        shards.Of(hash).Store.ExistingDatabase(database)?.PrefetchBucket(hash);

    /// <summary>The records, their buckets having been asked for; true if <see cref="Members"/> is to be called before each request.</summary>
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
            // The memory of a small batch would not come in time.
            any = batch.Count > Limits.GatheredBatch;
        }
        if (!any) return false;
        for (int i = -MemberBucketsAhead; i < 0; i++) Members(shards, batch, prepared, i);
        return true;
    }

    /// <summary>
    /// Asks for what lies behind the records of requests further on, in time: reading earlier what was asked for would wait for it. Not inlined, lest the
    /// loop that calls it has no room for what every command needs.
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
