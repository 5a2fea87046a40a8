using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Shards;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;

namespace RedisClone.Engine.Effects;

/// <summary>
/// The consequences of a change of a key: transactions that watch it fail, clients that are blocked on it may be served,
/// clients with tracking receive invalidations, and key events are published. It is called while the shard of the key is
/// held.
/// </summary>
internal sealed class KeyEvents(ServerCore server)
{
    /// <summary>Reports that a command of <paramref name="author"/> changed or removed a key.</summary>
    public void Modified(
        Shard shard, ReadOnlySpan<byte> key, int database, NotifyFlags kind, string keyEvent, Session? author, Lane lane)
    {
        Touched(shard, key, database, author, lane, expires: kind == NotifyFlags.Expired);
        Notify(key, database, kind, keyEvent, lane);
    }

    /// <summary>Reports that a key may have changed, without a key event.</summary>
    public void Touched(Shard shard, ReadOnlySpan<byte> key, int database, Session? author, Lane lane, bool expires = false)
    {
        if (shard.Keys.HasWatchers) shard.Keys.TouchWatched(database, key, expires);
        if (shard.Keys.HasWaiters && shard.Keys.WaitersOf(database, key) is { } waiters) lane.NoteReady(shard, waiters, database, key);
        if (server.Invalidations.IsOn) server.Invalidations.Invalidate(shard, key, author, lane);
    }

    /// <summary>
    /// Publishes a key event. If the command found the key absent before, the event <c>new</c> is published first.
    /// </summary>
    public void Notify(ReadOnlySpan<byte> key, int database, NotifyFlags kind, string keyEvent, Lane lane)
    {
        if ((server.Notifications.Enabled & (kind | NotifyFlags.New)) == 0) return;
        if (lane.TakeAbsent(database, key)) server.Notifications.Publish(NotifyFlags.New, "new", key, database);
        server.Notifications.Publish(kind, keyEvent, key, database);
    }

    /// <summary>
    /// Removes an expired key. Its effect is a command of its own, before the effect of the command that found the key
    /// expired.
    /// </summary>
    public void Expire(in Entry entry, int database, Lane lane)
    {
        lane.ExpiredKeys++;
        Remove(entry, database, lane, NotifyFlags.Expired, "expired");
    }

    /// <summary>Removes a key to free memory.</summary>
    public void Evict(in Entry entry, int database, Lane lane)
    {
        lane.EvictedKeys++;
        Remove(entry, database, lane, NotifyFlags.Evicted, "evicted");
    }

    /// <summary>Removes a key whose slot another node of the cluster serves now.</summary>
    public void Drop(in Entry entry, int database, Lane lane) => Remove(entry, database, lane, NotifyFlags.Generic, "del");

    /// <summary>
    /// Removes up to <paramref name="limit"/> expired fields of a hash, and the key with its last field. If the key is
    /// removed, the entry becomes invalid.
    /// </summary>
    public int ExpireFields(in Entry entry, int limit, int database, Lane lane)
    {
        entry.Keyspace.Preserve(entry);
        ReadOnlySpan<byte> key = entry.Key;
        // The record, which contains the key, may move to a smaller buffer while the hash shrinks.
        byte[] copy = RentedArrays.Rent<byte>(key.Length);
        key.CopyTo(copy);
        var visitor = new FieldDeletion(server.Effects.Wanted ? lane.Effects : null, database, copy.AsSpan(0, key.Length));
        int removed;
        using (lane.Effects.Unmute()) removed = HashValue.RemoveExpired(entry, limit, ref visitor);
        RentedArrays.Return(copy);
        FieldsExpired(entry, removed, database, lane);
        return removed;
    }

    /// <summary>
    /// Removes the expired fields that these arguments of a command name, and the key with its last field. One effect names
    /// all of the fields and is complete before the first is removed. If the key is removed, the entry becomes invalid.
    /// </summary>
    public void DropFields(in Entry entry, in Request request, scoped ReadOnlySpan<int> arguments, int database, Lane lane)
    {
        entry.Keyspace.Preserve(entry);
        if (server.Effects.Wanted)
        {
            using EffectBuffer.Unmuting unmuted = lane.Effects.Unmute();
            lane.Effects.Begin(database, arguments.Length + 2);
            lane.Effects.Add("HDEL"u8);
            lane.Effects.Add(entry.Key);
            foreach (int argument in arguments) lane.Effects.Add(request[argument]);
        }
        // Remove returns whether a field was alive, and these are not.
        long before = HashValue.Count(entry);
        foreach (int argument in arguments) HashValue.Remove(entry, request[argument]);
        FieldsExpired(entry, (int)(before - HashValue.Count(entry)), database, lane);
    }

    /// <summary>
    /// Reports that fields of a hash have expired, and removes the key if no field is left. The entry then becomes invalid.
    /// </summary>
    public void FieldsExpired(in Entry entry, int removed, int database, Lane lane)
    {
        if (removed == 0) return;
        lane.ExpiredFields += removed;
        lane.Changes += removed;
        ReadOnlySpan<byte> key = entry.Key;
        bool isEmpty = HashValue.Count(entry) == 0;
        try
        {
            Modified(server.Shards.Of(entry.Hash), key, database, NotifyFlags.Hash, "hexpired", author: null, lane);
            if (isEmpty) Notify(key, database, NotifyFlags.Generic, "del", lane);
        }
        finally
        {
            // The effects already remove the last field, so the key must go even if an event fails.
            if (isEmpty) entry.Keyspace.Remove(entry);
        }
    }

    /// <summary>Writes an HDEL effect for each expired field.</summary>
    private readonly ref struct FieldDeletion(EffectBuffer? effects, int database, ReadOnlySpan<byte> key) : IElementVisitor
    {
        private readonly ReadOnlySpan<byte> _key = key;

        public void Visit(scoped Element element)
        {
            if (effects is null) return;
            Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
            effects.Begin(database, 3);
            effects.Add("HDEL"u8);
            effects.Add(_key);
            effects.Add(element.Text(digits));
        }
    }

    private void Remove(in Entry entry, int database, Lane lane, NotifyFlags kind, string keyEvent)
    {
        ReadOnlySpan<byte> key = entry.Key;
        // The record contains the key's bytes, so it is removed last. Nothing has changed until then, so a failure rolls the
        // effect back.
        EffectMark mark = lane.Effects.Mark();
        try
        {
            if (server.Effects.Wanted) lane.Effects.AddDelete(database, key);
            Modified(server.Shards.Of(entry.Hash), key, database, kind, keyEvent, author: null, lane);
            entry.Keyspace.Remove(entry);
        }
        catch (OutOfMemoryException)
        {
            lane.Effects.Rollback(mark);
            throw;
        }
        lane.Changes++;
    }
}
