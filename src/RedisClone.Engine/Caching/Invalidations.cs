using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Scheduling;
using RedisClone.Storage;

namespace RedisClone.Engine.Caching;

/// <summary>
/// Client-side caching. Each shard has a table of the clients that have read its keys; when a key changes, these clients receive
/// an invalidation. The table is used only under the hold of its shard. The invalidation is queued at the client's connection
/// under that hold too, so it follows the reply that it concerns. Without tracking clients, the cost for a command is one test.
/// </summary>
internal sealed class Invalidations(ServerCore server)
{
    private readonly Prefixes _prefixes = new();
    private readonly Lock _registering = new();
    private int _clients;
    private long _keys, _items;

    /// <summary>The number of tracking clients.</summary>
    public int Clients => Volatile.Read(ref _clients);

    /// <summary>The number of tracked keys.</summary>
    public long Keys => Volatile.Read(ref _keys);

    /// <summary>The number of pairs of a tracked key and a client.</summary>
    public long Items => Volatile.Read(ref _items);

    public int PrefixCount => _prefixes.Count;

    /// <summary>Whether any client uses tracking.</summary>
    public bool IsOn => _clients != 0;

    /// <summary>Starts tracking for a client or replaces its options.</summary>
    internal void Enable(Session client, ClientTracking tracking)
    {
        lock (_registering)
        {
            if (tracking.Broadcasts) _prefixes.Replace(client.Tracking, tracking);
            if (client.Tracking is null) Interlocked.Increment(ref _clients);
            client.Tracking = tracking;
        }
    }

    /// <summary>
    /// Ends tracking for a client. Its entries are removed when their keys change, or when the last client ends tracking.
    /// </summary>
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

    /// <summary>
    /// Runs after a command of a tracking client while its shards are held: tracks the keys that the command read.
    /// </summary>
    internal void AfterCommand(ClientTracking tracking, ref CommandContext c)
    {
        RememberRead(tracking, ref c);
        EndCommand(tracking, c.Session, c.Row);
    }

    /// <summary>
    /// Runs before a client blocks: tracks the keys of the command as if it had ended, because the end of the wait may be a timeout.
    /// </summary>
    internal void BeforeWait(ref CommandContext c)
    {
        if (c.Session.Tracking is { } tracking) RememberRead(tracking, ref c);
    }

    private void RememberRead(ClientTracking tracking, ref CommandContext c)
    {
        // For a script, the commands that it calls count.
        if (tracking.Remembers && c.Row.Has(CommandFlags.ReadOnly) && c.Row.Group is not ("scripting" or "pubsub")) RememberKeys(tracking, ref c);
    }

    /// <summary>Ends the effect of CLIENT CACHING after the next command or transaction.</summary>
    internal static void EndCommand(ClientTracking tracking, Session session, CommandRow? row)
    {
        if (!session.InTransaction && session.Transaction is null && row?.Parent is not { Name: "client" }) tracking.CachingGiven = false;
    }

    /// <summary>
    /// Invalidates a changed or removed key. The caller holds its shard. The invalidations are sent at the end of the unit.
    /// </summary>
    internal void Invalidate(Shard shard, ReadOnlySpan<byte> key, Session? author, Lane lane)
    {
        PendingInvalidations pending = lane.Invalidations;
        if (shard.Keys.Readers is { Keys: > 0 } readers && readers.Take(key, server.Shards.HashOf(key), pending.Readers))
            NoteReaders(key, author?.Tracking, lane);
        if (_prefixes.Count == 0) return;
        // A client does not know what its script changes. As in Redis, NOLOOP then applies only without BCAST.
        pending.NoteChange(key, author is { Connection: not null } ? author.Tracking : null);
        lane.HasFollowUps = true;
    }

    /// <summary>Invalidates everything after whole databases were emptied or exchanged. The caller holds all shards.</summary>
    internal void InvalidateAll()
    {
        for (int i = 0; i < server.Shards.Count; i++) Forget(server.Shards[i]);
        foreach (Session session in server.Sessions.Unordered)
            if (session.Tracking is { } tracking) Send(tracking, Invalidation.Everything);
    }

    /// <summary>Sends the invalidations of a unit to clients in broadcast mode. The caller still holds its shards.</summary>
    internal void Broadcast(PendingInvalidations pending)
    {
        if (pending.Changed.Count == 0) return;
        _prefixes.Notify(pending.Changed, Send);
        pending.Changed.Reuse();
    }

    /// <summary>Applies a lowered limit on tracked keys: keys beyond it are invalidated and removed.</summary>
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

    /// <summary>
    /// Makes room: removes one key from the table and invalidates it, because its later changes will not be reported.
    /// </summary>
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
                Send(reader, message ??= new Invalidation(key));
            }
        }
        catch (OutOfMemoryException)
        {
            // A client that cannot receive the invalidation must not continue with a stale value.
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

    /// <summary>
    /// No read of the shard is in progress while the shard is held. If a client uses tracking again by now, the table stays; a
    /// client that begins later starts with an empty table.
    /// </summary>
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
        // The table is in the memory of the shard's store, which may have been replaced.
        shard.Keys.Readers = null;
    }

    private void Shrink(Shard shard)
    {
        if (shard.Keys.Readers is not { } table) return;
        Lane lane = server.Lanes.Current;
        while (IsOverLimit && table.Keys > 0) ForgetOne(table, lane);
    }

    private async Task VisitAllAsync(Action<Shard> visit) => await new ShardVisit(server.Shards, server.Shards.All, visit, PoolScheduler.Instance).RunAsync();
}
