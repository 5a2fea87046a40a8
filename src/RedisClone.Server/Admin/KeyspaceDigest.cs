using System.Buffers.Binary;
using System.Security.Cryptography;
using System.Text;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Admin;

/// <summary>
/// A digest of data that tells whether two servers, or one before and after a restart, hold the same: equal for equal data whatever the
/// order in which they came, the form that they are kept in and the shard that holds them.
/// </summary>
internal static class KeyspaceDigest
{
    public const int Length = 20;

    /// <summary>All databases; the caller holds all shards. Nothing at all gives zeros.</summary>
    public static byte[] OfAll(ServerCore server)
    {
        var sum = new byte[Length];
        for (int shard = 0; shard < server.Shards.Count; shard++)
        {
            ShardStore store = server.Shards[shard].Store;
            for (int database = 0; database < store.DatabaseCount; database++)
            {
                if (store.ExistingDatabase(database) is not { } keyspace) continue;
                var visitor = new KeyVisitor(keyspace, database, sum);
                ulong cursor = 0;
                do cursor = keyspace.Scan(cursor, ref visitor);
                while (cursor != 0);
            }
        }
        return sum;
    }

    /// <summary>One value, with whether it expires, without its key.</summary>
    public static byte[] OfValue(in Entry entry)
    {
        var sum = new byte[Length];
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
                // Each element on top of all before it: here the order matters.
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
            default:
                Add(sum, Encoding.ASCII.GetBytes(entry.Type.ToString()), entry.Value);
                break;
        }
        if (entry.Expiry != 0) Add(sum, "expires"u8);
    }

    /// <summary>Adds the digest of some parts to a sum in which the order of additions does not matter.</summary>
    private static void Add(Span<byte> sum, ReadOnlySpan<byte> kind, ReadOnlySpan<byte> first = default, ReadOnlySpan<byte> second = default, ReadOnlySpan<byte> third = default)
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

    /// <summary>The parts with their lengths, so that no two lists of parts are one text.</summary>
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

    private readonly ref struct KeyVisitor(Keyspace keyspace, int database, Span<byte> sum) : IScanVisitor
    {
        private readonly Span<byte> _sum = sum;

        public void Visit(uint handle)
        {
            ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
            Span<byte> value = stackalloc byte[Length], number = stackalloc byte[sizeof(int)];
            value.Clear();
            AddValue(keyspace.Find(key, KeyHash.Of(key)), value);
            BinaryPrimitives.WriteInt32LittleEndian(number, database);
            Add(_sum, "key"u8, number, key, value);
        }
    }
}
