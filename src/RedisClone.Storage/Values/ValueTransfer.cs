using RedisClone.Storage.Memory;
using RedisClone.Storage.Values.Hashes;

namespace RedisClone.Storage.Values;

/// <summary>Moves and copies values to another key, database or shard: RENAME, MOVE, COPY.</summary>
public static class ValueTransfer
{
    /// <summary>
    /// Moves a value and its expiry to an absent key and removes the source. Within a shard, the structures outside the record
    /// stay in place. Between shards they are copied, because each shard owns its buffers and the shared field names.
    /// </summary>
    public static void Move(in Entry source, Keyspace target, ReadOnlySpan<byte> key, ulong hash)
    {
        FaultPoint.Call();
        // A capture may need memory to take the source, so it does so before the copy exists.
        source.Keyspace.Preserve(source);
        if (source.Encoding is ValueEncoding.Large or ValueEncoding.Shaped && target.Store != source.Keyspace.Store)
        {
            CopyNow(source, target, key, hash);
            source.Keyspace.RemoveNow(source);
            return;
        }
        // The record is copied before it leaves its index, because leaving frees its bytes.
        uint handle = source.Handle;
        ulong sourceHash = source.Hash;
        Keyspace from = source.Keyspace;
        CopyRecord(source, target, key, hash);
        from.Detach(from.Locate(sourceHash, handle));
    }

    /// <summary>Copies a value and its expiry to an absent key.</summary>
    public static void Copy(in Entry source, Keyspace target, ReadOnlySpan<byte> key, ulong hash)
    {
        FaultPoint.Call();
        CopyNow(source, target, key, hash);
    }

    private static void CopyNow(in Entry source, Keyspace target, ReadOnlySpan<byte> key, ulong hash)
    {
        if (source.Encoding == ValueEncoding.Large)
        {
            LargeCopy.Make(source, target, key, hash);
            return;
        }
        if (!ShapedFields.Is(source))
        {
            CopyRecord(source, target, key, hash);
            return;
        }
        uint shape = ShapedFields.AcquireFor(target.Store, source);
        try
        {
            ShapedFields.SetShape(CopyRecord(source, target, key, hash), shape);
        }
        catch (OutOfMemoryException)
        {
            target.Store.Shapes.Release(shape);
            throw;
        }
    }

    private static Entry CopyRecord(in Entry source, Keyspace target, ReadOnlySpan<byte> key, ulong hash)
    {
        ReadOnlySpan<byte> value = source.Value;
        uint access = source.Access;
        Entry copy = target.Insert(key, hash, source.Type, source.Encoding, value.Length, source.Expiry);
        // The bytes of the source stay valid: an insert moves slots, never records.
        value.CopyTo(copy.Value);
        copy.Access = access;
        target.AdoptFieldExpiry(copy);
        return copy;
    }
}
