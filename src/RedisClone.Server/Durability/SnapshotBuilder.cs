using Microsoft.Extensions.Logging;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Commands;
using RedisClone.Storage;

namespace RedisClone.Server.Durability;

/// <summary>Makes keys of what a snapshot says of them, on one thread.</summary>
internal sealed class SnapshotBuilder(ServerCore server, long now, bool replace)
{
    private readonly ValueReader _value = new();
    private readonly RdbReader _reader = new(ReadOnlyMemory<byte>.Empty);

    /// <summary>Collections without elements, which are no keys.</summary>
    public long Empty { get; private set; }

    /// <summary>Why <see cref="Run"/> could not go on, else null.</summary>
    public string? Failure { get; private set; }

    /// <summary>About where in the file that is.</summary>
    public long FailedAt { get; private set; }

    /// <summary>Null, or why it cannot go on.</summary>
    public string? Run(SnapshotBatch batch)
    {
        for (int i = 0; i < batch.Count; i++) FetchAhead.Bucket(server.Shards, batch.Database, batch[i].Hash);
        for (int i = 0; i < batch.Count; i++)
        {
            ref readonly SnapshotBatch.Part part = ref batch[i];
            _reader.Open(batch.ValueOf(part));
            switch (RdbValueReader.Read(_reader, (byte)part.Type, Begin(batch.Database, batch.NameOf(part), part.Hash, part.Expire)))
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

    /// <summary>Begins a key; its value goes to what is returned.</summary>
    public IRdbValueVisitor Begin(int database, ReadOnlySpan<byte> name, ulong hash, long expireMilliseconds)
    {
        ShardStore store = server.Shards.Of(hash).Store;
        store.Now = now;
        // In storage 0 is never: what expired in 1970 did so a millisecond later.
        long expiry = expireMilliseconds < 0 ? 0 : Math.Max(expireMilliseconds, 1);
        Keyspace keyspace = store.Database(database);
        if (replace && keyspace.Find(name, hash) is { Exists: true } old) keyspace.Remove(old);
        return _value.Start(keyspace, name, hash, expiry);
    }

    /// <summary>The next value is not to be taken at all, for this reason.</summary>
    public IRdbValueVisitor Reject(string reason) => _value.Reject(reason);

    /// <summary>The key that was begun last has no value after all.</summary>
    public void DropEmpty()
    {
        server.Log.LogInformation("Loading: skipping empty key: {Key}", _value.KeyText);
        _value.Drop();
        Empty++;
    }

    /// <summary>Removes what was built of a value that is damaged; why it is, if that is known here.</summary>
    public string? Drop()
    {
        _value.Drop();
        return _value.Refusal;
    }
}
