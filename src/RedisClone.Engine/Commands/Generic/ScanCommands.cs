using System.Buffers.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Commands.Collections;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>Commands that iterate over the keys of a database.</summary>
internal static class ScanCommands
{
    /// <summary>
    /// The bits of a SCAN cursor for the index of the shard. The higher bits are the position within the shard.
    /// </summary>
    private const int ShardBits = 8;

    /// <summary>The number of buckets that SCAN visits at most for each requested key, as in Redis.</summary>
    private const int BucketsPerKey = 10;

    public static readonly CommandRow[] Rows =
    [
        new("SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]",
            -2, Keys.None, ReadOnly, "generic", "2.8.0", Scan, "Iterates over the keys of the database.")
            {
                Route = ShardsOfScan,
                Complexity = "O(1) for every call. O(N) for a complete iteration.",
                Tips = ["nondeterministic_output", "request_policy:special", "response_policy:special"]
            },
        new("KEYS pattern",
            2, Keys.None, ReadOnly | AllShards | Long, "generic", "1.0.0", KeysMatching, "Lists all keys that match a pattern.")
            {
                Categories = ["dangerous"],
                Complexity = "O(N) with N being the number of keys in the database",
                Tips = ["request_policy:all_shards", "nondeterministic_output_order"]
            },
        new("RANDOMKEY",
            1, Keys.None, ReadOnly | AllShards, "generic", "1.0.0", RandomKey, "Returns a random key of the database.")
            { Tips = ["request_policy:all_shards", "response_policy:special", "nondeterministic_output"] },
        new("DBSIZE", 1, Keys.None, ReadOnly | Fast | AllShards, "server", "1.0.0", DbSize, "Counts the keys of the database.")
            { Categories = ["keyspace"], Tips = ["request_policy:all_shards", "response_policy:agg_sum"] },
    ];

    private static ShardSet ShardsOfScan(in Request request, Session session)
    {
        ShardMap shards = session.Server.Shards;
        if (!TryCursor(request[1], out ulong cursor)) return default;
        int shard = ShardOf(cursor);
        if (shard >= shards.Count) return default;
        long wanted = ScanFilter.DefaultCount;
        for (int i = 2; i + 1 < request.Count; i++)
            if (System.Text.Ascii.EqualsIgnoreCase(request[i], "COUNT"u8) && RedisNumber.TryParseInt64(request[i + 1], out long count)) wanted = count;
        // The set has enough shards for COUNT keys. It is an estimate, because the key counts are read without holding the
        // shards.
        ShardSet set = ShardSet.Of(shard);
        while (wanted > 0 && shard + 1 < shards.Count)
        {
            wanted -= shards[shard].Store.ExistingDatabase(session.Database)?.Count ?? 0;
            set.Add(++shard);
        }
        return set;
    }

    private static void Scan(ref CommandContext c)
    {
        if (!TryCursor(c.Args[1], out ulong cursor))
        {
            c.Fail("ERR invalid cursor");
            return;
        }
        var filter = ScanFilter.Parse(ref c, 2, types: true);
        if (c.Failed) return;
        if (c.MoveToWorker(filter.Count)) return;

        var found = new List<(int Shard, uint Handle)>();
        int shard = ShardOf(cursor);
        ulong position = cursor >> ShardBits;
        long steps = filter.Count > long.MaxValue / BucketsPerKey ? long.MaxValue : filter.Count * BucketsPerKey;
        // The held shards may have too few keys, because other clients remove keys and a transaction can select another
        // database. The walk ends at the first shard that is not held.
        while (shard < c.Data.Shards.Count && c.Held.Contains(shard))
        {
            Keyspace keyspace = c.KeyspaceOf(c.Data.Shards[shard]);
            var visitor = new Collector(found, shard);
            do
            {
                position = keyspace.Scan(position, ref visitor);
            }
            while (position != 0 && --steps > 0 && found.Count < filter.Count);
            if (position != 0) break;
            shard++;
            if (found.Count >= filter.Count) break;
        }
        bool finished = shard >= c.Data.Shards.Count;
        Reply(ref c, finished ? 0 : position << ShardBits | (uint)shard, found, filter);
    }

    private static void Reply(ref CommandContext c, ulong cursor, List<(int Shard, uint Handle)> found, in ScanFilter filter)
    {
        Span<byte> text = stackalloc byte[20];
        Utf8Formatter.TryFormat(cursor, text, out int length);
        c.Reply.ArrayHeader(2);
        c.Reply.Bulk(text[..length]);
        DeferredReply keys = c.Reply.BeginDeferred();
        long count = 0;
        foreach ((int shard, uint handle) in found)
        {
            if (c.IsAbandoned) break;
            Keyspace keyspace = c.KeyspaceOf(c.Data.Shards[shard]);
            ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
            if (IsHidden(ref c, key) || !filter.Matches(c.Args, key)) continue;
            if (IsExpired(ref c, keyspace, handle))
            {
                // This frees the record of the key and moves no other record, so the collected handles stay valid.
                Expire(ref c, keyspace, key);
                continue;
            }
            if (filter.Type is { } type && keyspace.TypeOf(handle) != type || filter.UnknownType) continue;
            c.Reply.Bulk(key);
            count++;
        }
        c.Reply.EndArray(keys, count);
    }

    private static void KeysMatching(ref CommandContext c)
    {
        ReadOnlySpan<byte> pattern = c.Args[1];
        bool all = pattern.SequenceEqual("*"u8);
        DeferredReply keys = c.Reply.BeginDeferred();
        long count = 0;
        var found = new List<(int Shard, uint Handle)>();
        for (int i = 0; i < c.Data.Shards.Count; i++)
        {
            Keyspace keyspace = c.KeyspaceOf(c.Data.Shards[i]);
            var visitor = new Collector(found, i);
            ulong position = 0;
            do
            {
                found.Clear();
                position = keyspace.Scan(position, ref visitor);
                foreach ((_, uint handle) in found)
                {
                    // A match of one long key can take long.
                    if (c.IsAbandoned) break;
                    ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
                    if (IsExpired(ref c, keyspace, handle) || IsHidden(ref c, key) || !all && !Glob.Matches(pattern, key)) continue;
                    c.Reply.Bulk(key);
                    count++;
                }
            }
            while (position != 0 && !c.IsAbandoned);
            if (c.IsAbandoned) break;
        }
        c.Reply.EndArray(keys, count);
    }

    private static void RandomKey(ref CommandContext c)
    {
        const int tries = 100; // If almost all keys have expired, the reply is an expired one.
        for (int i = 0; i < tries; i++)
        {
            long total = Count(ref c);
            if (total == 0) break;
            long chosen = Random.Shared.NextInt64(total);
            int shard = 0;
            while (chosen >= c.KeyspaceOf(c.Data.Shards[shard]).Count) chosen -= c.KeyspaceOf(c.Data.Shards[shard++]).Count;
            Keyspace keyspace = c.KeyspaceOf(c.Data.Shards[shard]);
            uint handle = keyspace.RandomHandle(Random.Shared);
            if (IsHidden(ref c, keyspace.KeyOf(handle))) continue;
            if (IsExpired(ref c, keyspace, handle) && i < tries - 1)
            {
                Expire(ref c, keyspace, keyspace.KeyOf(handle));
                continue;
            }
            c.Reply.Bulk(keyspace.KeyOf(handle));
            return;
        }
        c.Reply.Null();
    }

    private static void DbSize(ref CommandContext c) => c.Reply.Integer(Count(ref c) - SlotKeys.CountForeign(c.Session.Server));

    private static long Count(ref CommandContext c)
    {
        long count = 0;
        for (int i = 0; i < c.Data.Shards.Count; i++) count += c.Data.Shards[i].Store.ExistingDatabase(c.Session.Database)?.Count ?? 0;
        return count;
    }

    /// <summary>Whether another node of the cluster serves the slot of a key: the key is being imported, or removed after its slot has moved.</summary>
    private static bool IsHidden(ref CommandContext c, ReadOnlySpan<byte> key) => c.Data.Cluster is { } cluster && cluster.Served.IsForeign(KeySlot.Of(key));

    private static bool IsExpired(ref CommandContext c, Keyspace keyspace, uint handle)
    {
        long expiry = keyspace.ExpiryOf(handle);
        return expiry != 0 && c.IsOver(expiry);
    }

    /// <summary>
    /// Removes an expired key that a walk has found. The removal is a unit of its own and not a part of the walk, unless the
    /// walk is part of a transaction or a script.
    /// </summary>
    private static void Expire(ref CommandContext c, Keyspace keyspace, ReadOnlySpan<byte> key)
    {
        ulong hash = c.Data.Shards.HashOf(key);
        c.ExpireFound(keyspace.Find(key, hash), hash);
    }

    private static int ShardOf(ulong cursor) => (int)(cursor & ((1 << ShardBits) - 1));

    /// <summary>
    /// Parses a cursor, which must not be negative. Text that is not a canonical number is parsed like C's strtoull, as in
    /// Redis: white space, a sign and leading zeros are allowed.
    /// </summary>
    internal static bool TryCursor(ReadOnlySpan<byte> text, out ulong cursor)
    {
        int end = text.IndexOf((byte)0);
        if (end >= 0) text = text[..end];
        if (RedisNumber.TryParseInt64(text, out long number))
        {
            cursor = (ulong)number;
            return number >= 0;
        }
        text = text.TrimStart(" \t\n\v\f\r"u8);
        bool negative = text is [(byte)'-', ..];
        if (text is [(byte)'-' or (byte)'+', ..]) text = text[1..];
        bool all = Utf8Parser.TryParse(text, out cursor, out int used) && used == text.Length;
        if (negative) cursor = 0 - cursor;
        return all;
    }

    private readonly struct Collector(List<(int Shard, uint Handle)> found, int shard) : IScanVisitor
    {
        public void Visit(uint handle) => found.Add((shard, handle));
    }
}
