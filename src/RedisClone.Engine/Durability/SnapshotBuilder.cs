using RedisClone.Engine.Execution;
using RedisClone.Engine.Failures;
using RedisClone.Journal.Rdb;
using RedisClone.Storage;

namespace RedisClone.Engine.Durability;

/// <summary>Builds keys from their form in a snapshot, on one thread.</summary>
/// <param name="server">The server.</param>
/// <param name="now">The time of the load in Unix milliseconds.</param>
/// <param name="replace">Whether existing keys are replaced.</param>
/// <param name="stores">The stores of the shards that get the keys, or null for the present ones.</param>
internal sealed class SnapshotBuilder(ServerCore server, long now, bool replace, ShardStore[]? stores)
{
    private readonly ValueReader _value = new();
    private readonly RdbReader _reader = new(ReadOnlyMemory<byte>.Empty);

    /// <summary>The number of collections without elements, which are skipped.</summary>
    public long Empty { get; private set; }

    /// <summary>The reason why <see cref="Run"/> stopped, else null.</summary>
    public string? Failure { get; private set; }

    /// <summary>The approximate offset of the failure in the file.</summary>
    public long FailedAt { get; private set; }

    /// <summary>Builds the keys of a batch. Returns null, or the reason why loading cannot continue.</summary>
    public string? Run(SnapshotBatch batch)
    {
        for (int i = 0; i < batch.Count && stores is null; i++) FetchAhead.Bucket(server.Shards, batch.Database, batch[i].Hash);
        for (int i = 0; i < batch.Count; i++)
        {
            ref readonly SnapshotBatch.Part part = ref batch[i];
            switch (Read(batch, part))
            {
                case RdbResult.Empty:
                    DropEmpty();
                    break;
                case RdbResult.Damaged:
                    FailedAt = part.Offset + _reader.Offset;
                    return Failure = Drop() ?? _reader.Error;
            }
        }
        return null;
    }

    /// <summary>
    /// Reads a key, again if there was no memory for it: the heap may be full of garbage and holes, as it was not when the key was written.
    /// </summary>
    private RdbResult Read(SnapshotBatch batch, in SnapshotBatch.Part part)
    {
        for (int attempt = 0; ; attempt++)
        {
            ShardStore store = StoreOf(part.Hash);
            try
            {
                _reader.Open(batch.ValueOf(part));
                return RdbValueReader.Read(_reader, (byte)part.Type, Begin(batch.Database, batch.NameOf(part), part.Hash, part.Expire));
            }
            catch (OutOfMemoryException) when (!store.IsTorn && MemoryReserve.TryWait(attempt))
            {
                _value.Drop();
                LoadRoom.Make(store);
                LoadRoom.Wait(attempt);
            }
        }
    }

    private ShardStore StoreOf(ulong hash) => stores is null ? server.Shards.Of(hash).Store : stores[server.Shards.IndexOf(hash)];

    /// <summary>Begins a key and returns the visitor that builds its value.</summary>
    public IRdbValueVisitor Begin(int database, ReadOnlySpan<byte> name, ulong hash, long expireMilliseconds)
    {
        ShardStore store = StoreOf(hash);
        store.Now = now;
        // The storage uses 0 for no expiry, so an expiry of 0 becomes 1.
        long expiry = expireMilliseconds < 0 ? 0 : Math.Max(expireMilliseconds, 1);
        Keyspace keyspace = store.Database(database);
        if (replace && keyspace.Find(name, hash) is { Exists: true } old) keyspace.Remove(old);
        return _value.Start(keyspace, name, hash, expiry);
    }

    /// <summary>Returns a visitor that rejects the next value for this reason.</summary>
    public IRdbValueVisitor Reject(string reason) => _value.Reject(reason);

    /// <summary>Removes the key that was begun last because its collection has no elements.</summary>
    public void DropEmpty()
    {
        server.Log.LogInformation("Loading: skipping empty key: {Key}", _value.KeyText);
        _value.Drop();
        Empty++;
    }

    /// <summary>
    /// Removes the incomplete key of a damaged value. Returns the reason of the refusal if <see cref="ValueReader"/> knows
    /// it.
    /// </summary>
    public string? Drop()
    {
        _value.Drop();
        return _value.Refusal;
    }
}
