using System.Buffers.Binary;
using System.Security.Cryptography;
using RedisClone.Engine;
using RedisClone.Engine.Cluster.Redirects;
using RedisClone.Engine.Durability;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;
using RedisClone.Storage.Values.Strings;

namespace RedisClone.Admin.Commands;

/// <summary>
/// A digest that compares the data of two servers, or of one server before and after a restart. It does not depend on the
/// order of insertion, the encoding of values or the assignment of keys to shards.
/// </summary>
internal static class KeyspaceDigest
{
    public const int Length = 20;

    /// <summary>The digest of all keys that clients see. It is all zeros if there are none. The caller holds all shards.</summary>
    public static byte[] OfAll(ServerCore server)
    {
        byte[] sum = new byte[Length];
        for (int shard = 0; shard < server.Shards.Count; shard++)
        {
            ShardStore store = server.Shards[shard].Store;
            for (int database = 0; database < store.DatabaseCount; database++)
            {
                if (store.ExistingDatabase(database) is not { } keyspace) continue;
                var visitor = new KeyVisitor(keyspace, database, server.Cluster?.Served, sum);
                ulong cursor = 0;
                do cursor = keyspace.Scan(cursor, ref visitor);
                while (cursor != 0);
            }
        }
        return sum;
    }

    /// <summary>The digest of one value and of whether it expires, without the key.</summary>
    public static byte[] OfValue(in Entry entry)
    {
        byte[] sum = new byte[Length];
        if (entry.Exists) AddValue(entry, sum);
        return sum;
    }

    private static void AddValue(in Entry entry, Span<byte> sum)
    {
        Span<byte> scratch = stackalloc byte[IntegerText.MaxLength], other = stackalloc byte[IntegerText.MaxLength], number = stackalloc byte[8];
        Span<byte> chain = stackalloc byte[Length];
        switch (entry.Type)
        {
            case ValueType.String:
                Add(sum, "string"u8, StringValue.Bytes(entry, scratch));
                break;
            case ValueType.List:
                // The order of elements matters: each step hashes the element with the digest of all elements before it.
                chain.Clear();
                foreach (Element element in ListValue.Elements(entry)) Chain(chain, element.Text(scratch));
                Add(sum, "list"u8, chain);
                break;
            case ValueType.Set:
                foreach (Element member in SetValue.Members(entry)) Add(sum, "set"u8, member.Text(scratch));
                break;
            case ValueType.Hash:
                foreach (HashField field in HashValue.Fields(entry))
                {
                    BinaryPrimitives.WriteInt64LittleEndian(number, field.Expiry);
                    Add(sum, "hash"u8, field.Name.Text(scratch), field.Value.Text(other), number);
                }
                break;
            case ValueType.SortedSet:
                foreach (ScoredMember member in SortedSetValue.Members(entry))
                {
                    BinaryPrimitives.WriteDoubleLittleEndian(number, member.Score);
                    Add(sum, "zset"u8, member.Member.Text(scratch), number);
                }
                break;
            case ValueType.Stream:
                AddStream(entry, sum);
                break;
            default:
                throw new System.Diagnostics.UnreachableException($"a {entry.Type} has no digest");
        }
        if (entry.Expiry != 0) Add(sum, "expires"u8);
    }

    /// <summary>
    /// Adds the entries and the metadata of a stream, and the pending entries of its groups. It omits the times at which
    /// consumers were active and the idempotent messages, because these change with time alone.
    /// </summary>
    private static void AddStream(in Entry entry, Span<byte> sum)
    {
        Span<byte> scratch = stackalloc byte[IntegerText.MaxLength], numbers = stackalloc byte[32], chain = stackalloc byte[Length];
        chain.Clear();
        foreach (StreamEntry item in StreamValue.Entries(entry))
        {
            Chain(chain, Numbers(numbers, item.Id, item.FieldCount, 0));
            foreach (StreamFields field in item)
            {
                Chain(chain, field.Name.Text(scratch));
                Chain(chain, field.Value.Text(scratch));
            }
        }
        StreamState state = StreamValue.State(entry);
        Chain(chain, Numbers(numbers, state.Last, (long)state.Added, 0));
        Chain(chain, Numbers(numbers, state.HighestDeleted, 0, 0));
        // A serialized stream always has limits, so the usual ones count as none.
        if (StreamProducers.Of(entry) is { Exist: true } producers
            && (producers.Seconds, producers.Most) != (StreamValueWriter.DefaultSeconds, StreamValueWriter.DefaultMessages))
            Chain(chain, Numbers(numbers, StreamId.Min, producers.Seconds, producers.Most));
        for (long i = 0; i < StreamGroup.Count(entry); i++) AddGroup(StreamGroup.At(entry, i), chain);
        Add(sum, "stream"u8, chain);
    }

    private static void AddGroup(StreamGroup group, Span<byte> chain)
    {
        Span<byte> numbers = stackalloc byte[32];
        Chain(chain, group.Name);
        Chain(chain, Numbers(numbers, group.Last, group.EntriesRead, group.ConsumerCount));
        for (long i = 0; i < group.ConsumerCount; i++) Chain(chain, group.ConsumerAt(i).Name);
        bool more = true;
        for (StreamId next = StreamId.Min; more && group.TryNextPending(next, out PendingEntry pending); more = pending.Id.TryNext(out next))
        {
            Chain(chain, Numbers(numbers, pending.Id, pending.Delivered, pending.Deliveries));
            Chain(chain, pending.HasConsumer ? group.ConsumerOf(pending).Name : default);
        }
    }

    private static ReadOnlySpan<byte> Numbers(Span<byte> into, StreamId id, long first, long second)
    {
        BinaryPrimitives.WriteUInt64LittleEndian(into, id.Milliseconds);
        BinaryPrimitives.WriteUInt64LittleEndian(into[8..], id.Sequence);
        BinaryPrimitives.WriteInt64LittleEndian(into[16..], first);
        BinaryPrimitives.WriteInt64LittleEndian(into[24..], second);
        return into;
    }

    /// <summary>Adds the digest of some parts to a sum that does not depend on the order of additions.</summary>
    private static void Add(
        Span<byte> sum, ReadOnlySpan<byte> kind,
        ReadOnlySpan<byte> first = default, ReadOnlySpan<byte> second = default, ReadOnlySpan<byte> third = default)
    {
        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        Hash(digest, kind, first, second, third);
        for (int i = 0; i < Length; i++) sum[i] ^= digest[i];
    }

    private static void Chain(Span<byte> chain, ReadOnlySpan<byte> next)
    {
        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        Hash(digest, chain, next, default, default);
        digest[..Length].CopyTo(chain);
    }

    /// <summary>Hashes the parts and their lengths, so that different lists of parts never produce the same input.</summary>
    private static void Hash(Span<byte> digest, ReadOnlySpan<byte> a, ReadOnlySpan<byte> b, ReadOnlySpan<byte> c, ReadOnlySpan<byte> d)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        Span<byte> lengths = stackalloc byte[16];
        BinaryPrimitives.WriteInt32LittleEndian(lengths, a.Length);
        BinaryPrimitives.WriteInt32LittleEndian(lengths[4..], b.Length);
        BinaryPrimitives.WriteInt32LittleEndian(lengths[8..], c.Length);
        BinaryPrimitives.WriteInt32LittleEndian(lengths[12..], d.Length);
        hash.AppendData(lengths);
        hash.AppendData(a);
        hash.AppendData(b);
        hash.AppendData(c);
        hash.AppendData(d);
        hash.GetHashAndReset(digest);
    }

    private readonly ref struct KeyVisitor(Keyspace keyspace, int database, ServedSlots? slots, Span<byte> sum) : IScanVisitor
    {
        private readonly Span<byte> _sum = sum;

        public void Visit(uint handle)
        {
            ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
            if (slots is not null && slots.IsForeign(KeySlot.Of(key))) return;
            Span<byte> value = stackalloc byte[Length], number = stackalloc byte[sizeof(int)];
            value.Clear();
            AddValue(keyspace.Find(key, keyspace.Store.HashOf(key)), value);
            BinaryPrimitives.WriteInt32LittleEndian(number, database);
            Add(_sum, "key"u8, number, key, value);
        }
    }
}
