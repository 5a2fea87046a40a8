using RedisClone.Storage.Memory;
using RedisClone.Storage.Values.Hashes;

namespace RedisClone.Storage.Values;

/// <summary>Moves and copies values to another key, database or shard: RENAME, MOVE, COPY.</summary>
public static class ValueTransfer
{
    private const int BytesPerElement = 16;

    /// <summary>The bytes of a record that are copied in the time of one element.</summary>
    private const int BytesOfRecord = 256;

    /// <summary>
    /// Moves a value and its expiry to a key, in place of the value that the key has, and removes the source. Within a shard, the structures
    /// outside the record stay in place. Between shards they are copied, because each shard owns its buffers and the shared field names.
    /// </summary>
    public static void Move(in Entry source, in Entry target, ReadOnlySpan<byte> key)
    {
        FaultPoint.Call();
        // A capture may need memory to take the source, so it does so before the copy exists.
        source.Keyspace.Preserve(source);
        if (source.Encoding is ValueEncoding.Large or ValueEncoding.Shaped && target.Keyspace.Store != source.Keyspace.Store)
        {
            CopyNow(source, target, key);
            source.Keyspace.RemoveNow(source);
            return;
        }
        // The record is copied before it leaves its index, because leaving frees its bytes.
        uint handle = source.Handle;
        ulong sourceHash = source.Hash;
        Keyspace from = source.Keyspace;
        if (target.Exists) Exchange(CopyRecord(source, target.Keyspace.Store.Scratch, key, target.Hash), target, ownsValue: false);
        else CopyRecord(source, target.Keyspace, key, target.Hash);
        from.Detach(from.Locate(sourceHash, handle));
    }

    /// <summary>The work of a copy in elements, roughly.</summary>
    public static long WorkOfCopy(in Entry source) =>
        ValueInfo.IsWalkedForUsage(source) ? long.MaxValue : ValueInfo.MemoryUsage(source) / BytesPerElement;

    /// <summary>The work of a move to another key, which copies a value unless the structures outside its record can stay.</summary>
    public static long WorkOfMove(in Entry source, bool isToOtherShard) =>
        isToOtherShard && source.Encoding == ValueEncoding.Large ? WorkOfCopy(source) : source.Value.Length / BytesOfRecord;

    /// <summary>The work of a change between a key that expires and one that does not, which have records of different sizes.</summary>
    public static long WorkOfExpiry(in Entry entry, long expiry) => entry.Expiry != 0 == (expiry != 0) ? 0 : entry.Value.Length / BytesOfRecord;

    /// <summary>Copies a value and its expiry to a key, in place of the value that the key has.</summary>
    public static void Copy(in Entry source, in Entry target, ReadOnlySpan<byte> key)
    {
        FaultPoint.Call();
        CopyNow(source, target, key);
    }

    private static void CopyNow(in Entry source, in Entry target, ReadOnlySpan<byte> key)
    {
        // Also for an absent key: a copy that fails halfway has changed nothing.
        Keyspace scratch = target.Keyspace.Store.Scratch;
        CopyNow(source, scratch, key, target.Hash);
        Exchange(scratch.Find(key, target.Hash), target, ownsValue: true);
    }

    /// <summary>Puts a copy in the place of a value. The copy was built elsewhere, because memory for it could have been missing.</summary>
    private static void Exchange(in Entry copy, in Entry target, bool ownsValue)
    {
        try
        {
            target.Keyspace.Adopt(copy, target);
        }
        catch
        {
            if (ownsValue) copy.Keyspace.RemoveNow(copy);
            else copy.Keyspace.Detach(copy);
            throw;
        }
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
