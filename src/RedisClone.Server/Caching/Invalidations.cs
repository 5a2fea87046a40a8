using RedisClone.Protocol;
using RedisClone.Server.Commands;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Transport;

namespace RedisClone.Server.Caching;

/// <summary>
/// Client-side caching: remembers which client has read which key, in tables that lie beside the keys in their shards, and tells it when
/// the key changes. Reading and writing the tables happens under the hold of the key's shard; a message is queued at the client's
/// connection under that hold too, behind the reply that it concerns. With nobody caching, a command pays one test.
/// </summary>
internal sealed class Invalidations(ServerCore server)
{
    private readonly Prefixes _prefixes = new();
    private readonly Lock _registering = new();
    private int _clients;
    private long _keys, _items;

    /// <summary>Clients that cache.</summary>
    public int Clients => Volatile.Read(ref _clients);

    /// <summary>Keys that somebody has read.</summary>
    public long Keys => Volatile.Read(ref _keys);

    /// <summary>The readers of all these.</summary>
    public long Items => Volatile.Read(ref _items);

    public int PrefixCount => _prefixes.Count;

    /// <summary>Whether anybody caches.</summary>
    public bool IsOn => _clients != 0;

    /// <summary>The client caches from now on, or otherwise than before.</summary>
    internal void Enable(Session client, ClientTracking tracking)
    {
        lock (_registering)
        {
            if (client.Tracking is null) Interlocked.Increment(ref _clients);
            if (tracking.Broadcasts) _prefixes.Replace(client.Tracking, tracking);
            client.Tracking = tracking;
        }
    }

    /// <summary>The client does not cache any more. What it has read is forgotten when that changes, or with the last client.</summary>
    internal void Disable(Session client)
    {
        if (client.Tracking is not { } tracking) return;
        lock (_registering)
        {
            if (tracking.Broadcasts) _prefixes.Replace(tracking, null);
            client.Tracking = null;
            Interlocked.Decrement(ref _clients);
        }
        if (!IsOn && Keys > 0) _ = VisitAllAsync(ForgetUnlessNeeded);
    }

    /// <summary>After a command of a client that caches, while the shards are held: the keys that it has read are remembered.</summary>
    internal void AfterCommand(ClientTracking tracking, ref CommandContext c)
    {
        // Of a script, the commands count that it calls.
        if (tracking.Remembers && c.Row.Has(CommandFlags.ReadOnly) && c.Row.Group is not ("scripting" or "pubsub")) RememberKeys(tracking, ref c);
        EndCommand(tracking, c.Session, c.Row);
    }

    /// <summary>CLIENT CACHING holds until the next command or transaction has ended.</summary>
    internal static void EndCommand(ClientTracking tracking, Session session, CommandRow? row)
    {
        if (!session.InTransaction && session.Transaction is null && row?.Parent is not { Name: "client" }) tracking.CachingGiven = false;
    }

    /// <summary>A key was changed or removed; its shard is held. Its readers are told at the end of the unit.</summary>
    internal void Invalidate(Shard shard, ReadOnlySpan<byte> key, Session? author, Lane lane)
    {
        PendingInvalidations pending = lane.Invalidations;
        if (shard.Keys.Readers is { Keys: > 0 } readers && readers.Take(key, KeyHash.Of(key), pending.Readers))
            NoteReaders(key, author?.Tracking, lane);
        if (_prefixes.Count == 0) return;
        pending.NoteChange(key, author?.Tracking);
        lane.HasFollowUps = true;
    }

    /// <summary>Whole databases were emptied or exchanged; all shards are held. Everybody forgets everything.</summary>
    internal void InvalidateAll(Lane lane)
    {
        for (int i = 0; i < server.Shards.Count; i++) Forget(server.Shards[i]);
        foreach (Session session in server.Sessions.Unordered)
        {
            if (session.Tracking is not { } tracking) continue;
            lane.Invalidations.Messages.Add((tracking, Invalidation.Everything));
            lane.HasFollowUps = true;
        }
    }

    /// <summary>Tells what a unit has made stale, once its effects have their place; the shards are still held.</summary>
    internal void Deliver(PendingInvalidations pending)
    {
        foreach ((ClientTracking client, Invalidation message) in pending.Messages) Send(client, message);
        if (pending.Changed.Count > 0) _prefixes.Tell(pending.Changed, Send);
        pending.Clear();
    }

    /// <summary>The limit on keys was lowered: what is beyond it is told and forgotten.</summary>
    internal void ApplyLimit()
    {
        if (IsOverLimit) _ = VisitAllAsync(Shrink);
    }

    private bool IsOverLimit => server.Config.TrackingTableMaxKeys is > 0 and var most && Keys > most;

    private void RememberKeys(ClientTracking tracking, ref CommandContext c)
    {
        if (c.Row.HasSingleKey)
        {
            Remember(tracking, c.Args[c.Row.FirstKey], c.HashOf(c.Row.FirstKey), c.Lane);
            return;
        }
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        if (c.Row.CollectKeys(c.Args, ref positions))
            for (int i = 0; i < positions.Count; i++) Remember(tracking, c.Args[positions[i]], c.HashOf(positions[i]), c.Lane);
        positions.Dispose();
    }

    private void Remember(ClientTracking tracking, ReadOnlySpan<byte> key, ulong hash, Lane lane)
    {
        Shard shard = server.Shards.Of(hash);
        ReaderTable table = shard.Keys.Readers ??= new ReaderTable(shard.Store);
        long readers = table.Add(key, hash, tracking.Client.Id);
        if (readers == 0) return;
        Interlocked.Increment(ref _items);
        if (readers == 1) Interlocked.Increment(ref _keys);
        else if (ReaderTable.IsPruneDue(readers)) Interlocked.Add(ref _items, -table.Prune(key, hash, IsCaching));
        if (IsOverLimit) ForgetOne(table, lane);
    }

    private bool IsCaching(long id) => server.Sessions.Find(id) is { Tracking: not null };

    /// <summary>Makes room by telling the readers of some key that it may change unnoticed from now on.</summary>
    private void ForgetOne(ReaderTable table, Lane lane) => NoteReaders(table.TakeRandom(lane.Invalidations.Readers), author: null, lane);

    private void NoteReaders(ReadOnlySpan<byte> key, ClientTracking? author, Lane lane)
    {
        PendingInvalidations pending = lane.Invalidations;
        Interlocked.Decrement(ref _keys);
        Interlocked.Add(ref _items, -pending.Readers.Count);
        Invalidation? message = null;
        try
        {
            foreach (long id in pending.Readers)
            {
                if (server.Sessions.Find(id)?.Tracking is not { Broadcasts: false } reader || reader.IsDeafTo(author)) continue;
                pending.Messages.Add((reader, message ??= new Invalidation(key)));
                lane.HasFollowUps = true;
            }
        }
        catch (OutOfMemoryException)
        {
            // A client that cannot be told must not go on with a stale value.
            foreach (long id in pending.Readers) server.Sessions.Find(id)?.Connection?.Kill();
        }
        pending.Readers.Clear();
    }

    private void Send(ClientTracking tracking, Invalidation message)
    {
        Session target = tracking.Client;
        if (tracking.Redirect != 0)
        {
            if (server.Sessions.Find(tracking.Redirect) is not { } other)
            {
                tracking.RedirectBroken = true;
                if (target.Reply.Version >= 3) target.Connection?.Push(Invalidation.RedirectBroken(tracking.Redirect));
                return;
            }
            target = other;
        }
        if (target.Reply.Version >= 3) target.Connection?.Push(message.Push);
        else if (tracking.Redirect != 0 && target.Subscriptions > 0) target.Connection?.Push(message.Published);
    }

    /// <summary>While the shard is held, nobody's read of it can be half way: whoever caches again by now keeps it, and who does later begins anew.</summary>
    private void ForgetUnlessNeeded(Shard shard)
    {
        if (!IsOn) Forget(shard);
    }

    private void Forget(Shard shard)
    {
        if (shard.Keys.Readers is not { } table) return;
        Interlocked.Add(ref _keys, -table.Keys);
        Interlocked.Add(ref _items, -table.Items);
        table.Clear();
    }

    private void Shrink(Shard shard)
    {
        if (shard.Keys.Readers is not { } table) return;
        Lane lane = server.Lanes.Current;
        while (IsOverLimit && table.Keys > 0) ForgetOne(table, lane);
        Deliver(lane.Invalidations);
    }

    private async Task VisitAllAsync(Action<Shard> visit) => await new ShardVisit(server.Shards, server.Shards.All, visit, PoolScheduler.Instance).RunAsync();
}
