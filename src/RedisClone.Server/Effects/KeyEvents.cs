using System.Buffers;
using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;
using RedisClone.Storage;

namespace RedisClone.Server;

/// <summary>
/// What happens besides when a key changes: transactions that watch it fail, clients blocked on it may be served, caching clients hear of
/// it, key events are published. Called under the hold of the key's shard.
/// </summary>
internal sealed class KeyEvents(ServerCore server)
{
    /// <summary>A key was changed or removed by a command of <paramref name="author"/>.</summary>
    public void Modified(
        Shard shard, ReadOnlySpan<byte> key, int database, NotifyFlags kind, string keyEvent, Session? author, Lane lane)
    {
        Touched(shard, key, database, author, lane, expires: kind == NotifyFlags.Expired);
        Notify(key, database, kind, keyEvent, lane);
    }

    /// <summary>The same without an event: the key may have changed.</summary>
    public void Touched(Shard shard, ReadOnlySpan<byte> key, int database, Session? author, Lane lane, bool expires = false)
    {
        if (shard.Keys.HasWatchers) shard.Keys.TouchWatched(database, key, expires);
        if (shard.Keys.HasWaiters && shard.Keys.WaitersOf(database, key) is not null)
            lane.AddReady(shard, new DatabaseKey(database, key.ToArray()));
        if (server.Invalidations.IsOn) server.Invalidations.Invalidate(shard, key, author, lane);
    }

    /// <summary>Publishes what happened to a key; if the command found it absent before, that it is new comes first.</summary>
    public void Notify(ReadOnlySpan<byte> key, int database, NotifyFlags kind, string keyEvent, Lane lane)
    {
        if ((server.Notifications.Enabled & (kind | NotifyFlags.New)) == 0) return;
        if (lane.TakeAbsent(database, key)) server.Notifications.Publish(NotifyFlags.New, "new", key, database);
        server.Notifications.Publish(kind, keyEvent, key, database);
    }

    /// <summary>Removes a key whose time has passed: an effect of its own, ahead of the command's that noticed it.</summary>
    public void Expire(in Entry entry, int database, Lane lane)
    {
        lane.ExpiredKeys++;
        Remove(entry, database, lane, NotifyFlags.Expired, "expired");
    }

    /// <summary>Removes a key for want of memory.</summary>
    public void Evict(in Entry entry, int database, Lane lane)
    {
        lane.EvictedKeys++;
        Remove(entry, database, lane, NotifyFlags.Evicted, "evicted");
    }

    /// <summary>
    /// Removes up to so many fields of a hash whose time has passed, and the hash's key with the last of them. The entry is not valid any more
    /// then.
    /// </summary>
    public int ExpireFields(in Entry entry, int limit, int database, Lane lane)
    {
        entry.Keyspace.Preserve(entry);
        ReadOnlySpan<byte> key = entry.Key;
        // The hash, and its key's bytes with it, may move to a smaller buffer while it shrinks.
        byte[] copy = ArrayPool<byte>.Shared.Rent(key.Length);
        key.CopyTo(copy);
        var visitor = new FieldDeletion(server.Effects.Wanted ? lane.Effects : null, database, copy.AsSpan(0, key.Length));
        int removed = HashValue.RemoveExpired(entry, limit, ref visitor);
        ArrayPool<byte>.Shared.Return(copy);
        FieldsExpired(entry, removed, database, lane);
        return removed;
    }

    /// <summary>
    /// Removes the fields that these arguments of a command name and whose time has passed. Their effect is one and complete
    /// before the first is removed. The entry is not valid any more then.
    /// </summary>
    public void DropFields(in Entry entry, in Request request, scoped ReadOnlySpan<int> arguments, int database, Lane lane)
    {
        entry.Keyspace.Preserve(entry);
        if (server.Effects.Wanted)
        {
            lane.Effects.Begin(database, arguments.Length + 2);
            lane.Effects.Add("HDEL"u8);
            lane.Effects.Add(entry.Key);
            foreach (int argument in arguments) lane.Effects.Add(request[argument]);
        }
        int removed = 0;
        foreach (int argument in arguments)
            if (HashValue.Remove(entry, request[argument])) removed++;
        FieldsExpired(entry, removed, database, lane);
    }

    /// <summary>Says that fields of a hash have expired, and removes its key with the last of them. The entry is not valid any more then.</summary>
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
            // The journal has removed the last field already, so the key goes even if an event fails.
            if (isEmpty) entry.Keyspace.Remove(entry);
        }
    }

    /// <summary>Writes each expired field down as removed.</summary>
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
        // The record holds the key's bytes, so it goes last. Until then nothing has happened: a failure takes the effect back.
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
