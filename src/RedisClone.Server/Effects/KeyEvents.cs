using RedisClone.Server.Admin;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;
using RedisClone.Storage;

namespace RedisClone.Server;

/// <summary>
/// What happens besides when a key changes: watchers are told, caching clients too, key events are published. Called under the
/// hold of the key's shard.
/// </summary>
public sealed class KeyEvents(ServerCore server)
{
    /// <summary>A key was changed or removed by a command of <paramref name="author"/>.</summary>
    public void Modified(Shard shard, ReadOnlySpan<byte> key, ulong hash, int database, NotifyFlags kind, string keyEvent, Session? author)
    {
        _ = shard;
        _ = hash;
        _ = author;
        Notify(key, database, kind, keyEvent);
    }

    public void Notify(ReadOnlySpan<byte> key, int database, NotifyFlags kind, string keyEvent) =>
        server.Notifications.Publish(kind, keyEvent, key, database);

    /// <summary>Removes a key whose time has passed: an effect of its own, ahead of the command's that noticed it.</summary>
    public void Expire(in Entry entry, int database, Lane lane)
    {
        ReadOnlySpan<byte> key = entry.Key;
        ulong hash = entry.Hash;
        if (server.Effects.Wanted) lane.Effects.AddDelete(database, key);
        lane.ExpiredKeys++;
        lane.Changes++;
        // The event is published while the record that holds the key's bytes still exists.
        Modified(server.Shards.Of(hash), key, hash, database, NotifyFlags.Expired, "expired", author: null);
        entry.Keyspace.Remove(entry);
    }
}
