using System.Globalization;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Commands.Transactions;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.Redirects;

/// <summary>
/// Decides whether this node serves the keys of a command, or which error sends the client elsewhere. It runs while the shards of the
/// command are held, so the answer holds until the command has run.
/// </summary>
internal sealed class Redirection(ServerCore server, ClusterMember cluster)
{
    private const string CrossSlot = "CROSSSLOT Keys in request don't hash to the same slot";
    private const string TryAgain = "TRYAGAIN Multiple keys request during rehashing of slot";
    private const string Down = "CLUSTERDOWN The cluster is down";
    private const string DownForWrites = "CLUSTERDOWN The cluster is down and only accepts read commands";
    private const string NotServed = "CLUSTERDOWN Hash slot not served";

    /// <summary>Returns the error that refuses a command, or null. <see cref="ClusterMember.Serves"/> has answered for most commands.</summary>
    public string? Refuse(ref CommandContext c)
    {
        CommandRow row = c.Row;
        if (c.Session.IsReplay || c.Session.IsPrimary) return null;
        int slot = -1;
        bool isServed = true;
        if (row.Handler != TransactionCommands.ExecHandler) isServed = AreServed(row, c.Args, ref slot);
        else if (c.Session.Transaction is not { NeedsShards: true } queue) return null;
        else
            foreach (Transaction.Queued queued in queue) isServed = isServed && IsServed(queued, ref slot);
        return isServed ? null : RefuseUnserved(ref c);
    }

    private bool IsServed(in Transaction.Queued queued, ref int slot)
    {
        bool hasHash = queued.HasSingleKey && queued.Row.Channels == ChannelUse.None;
        return hasHash ? IsServed(KeySlot.OfHash(queued.Hash), ref slot) : AreServed(queued.Row, queued.Request, ref slot);
    }

    /// <summary>Whether a further slot is the one of the keys before it, or the first one and served here.</summary>
    private bool IsServed(int next, ref int slot)
    {
        bool isServed = next == slot || slot < 0 && cluster.Served.Contains(next);
        slot = next;
        return isServed;
    }

    /// <summary>Whether all keys have one slot, and this node serves it. Most commands need no further look.</summary>
    private bool AreServed(CommandRow row, in Request request, ref int slot)
    {
        if (row.Keys.Length == 0 && row.FindKeys is null) return true;
        if (row.Channels != ChannelUse.None) return false;
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        bool areServed = true;
        if (row.CollectKeys(request, ref positions))
        {
            for (int i = 0; i < positions.Count && areServed; i++) areServed = IsServed(KeySlot.Of(request[positions[i]]), ref slot);
        }
        positions.Dispose();
        return areServed;
    }

    private string? RefuseUnserved(ref CommandContext c)
    {
        CommandRow row = c.Row;
        var keys = new RequestedKeys(c.Now);
        if (row.Handler == TransactionCommands.ExecHandler)
        {
            foreach (Transaction.Queued queued in c.Session.Transaction!) keys.Add(queued.Row, queued.Request);
        }
        else
        {
            keys.Add(row, c.Args);
        }
        return Judge(ref keys, c.Session, row, c.Flags, mayLook: true, cluster.State.IsOk);
    }

    /// <summary>
    /// Returns the error that refuses a command before it would be queued in a transaction, or before another error, or null. No shard is
    /// held, so it does not look for the keys of a slot that moves.
    /// </summary>
    public string? RefuseInAdvance(Session session, CommandRow row, in Request request)
    {
        int slot = -1;
        if (session.IsReplay || session.IsPrimary || row.Handler == TransactionCommands.ExecHandler || AreServed(row, request, ref slot)) return null;
        var keys = new RequestedKeys(0);
        keys.Add(row, request);
        return Judge(ref keys, session, row, row.FlagsFor(request, session), mayLook: false, cluster.State.IsOk);
    }

    /// <summary>Returns the error that refuses a command of a script, or null.</summary>
    public string? RefuseInScript(Session caller, CommandRow row, in Request request, bool mayCross, long now, ScriptSlots slots)
    {
        var keys = new RequestedKeys(now);
        keys.Add(row, request);
        if (keys.Slot < 0 || caller.IsPrimary || caller.IsReplay) return null;
        string? refusal = slots.AreServed(keys.Slot)
            ? keys.IsMixed ? CrossSlot : null
            : Judge(ref keys, caller, row, row.FlagsFor(request, caller), mayLook: true, slots.WasOk);
        switch (refusal)
        {
            case null: break;
            case CrossSlot: return "ERR Script attempted to access keys that do not hash to the same slot";
            case Down: return "ERR Script attempted to execute a command while the cluster is down";
            case DownForWrites: return "ERR Script attempted to execute a write command while the cluster is down and readonly";
            default: return "ERR Script attempted to access a non local key in a cluster node";
        }
        slots.Use(keys.Slot);
        return slots.First == keys.Slot || mayCross ? null : "ERR Script attempted to access keys that do not hash to the same slot";
    }

    private string? Judge(ref RequestedKeys keys, Session session, CommandRow row, CommandFlags flags, bool mayLook, bool isOk)
    {
        int slot = keys.Slot;
        if (slot < 0) return null;
        ClusterState state = cluster.State;
        ClusterNode myself = state.Myself;
        if (state.OwnerOf(slot) is not { } owner) return NotServed;
        if (keys.IsMixed) return CrossSlot;
        if (owner == myself && state.Unsettled?.Contains(slot) == true) return NotServed;
        bool isWrite = (flags & CommandFlags.Write) != 0;
        if (!isOk && RefuseWhileDown(keys.AreChannels, isWrite) is { } down) return down;
        ClusterNode? target = owner == myself ? Volatile.Read(ref state.Migrating[slot]) : null;
        bool isImport = target is null && Volatile.Read(ref state.Importing[slot]) is not null;
        if (target is not null || isImport)
        {
            if (row.Name == "migrate") return null;
            (int found, int missing) = mayLook && !keys.AreChannels ? Look(keys) : (1, 0);
            if (target is not null && missing > 0) return found > 0 ? TryAgain : Move("ASK", slot, target, session);
            if (isImport && (session.IsAsking || row.Name == "restore-asking")) return keys.HasSeveral && missing > 0 ? TryAgain : null;
        }
        if (owner == myself) return null;
        bool mayRead = (session.ReadsReplica || keys.AreChannels) && !isWrite;
        return mayRead && myself.IsReplica && myself.Primary == owner ? null : Move("MOVED", slot, owner, session);
    }

    private string? RefuseWhileDown(bool areChannels, bool isWrite)
    {
        if (areChannels) return server.Config.ClusterAllowPubSubShardWhenDown ? null : Down;
        if (!server.Config.ClusterAllowReadsWhenDown) return Down;
        return isWrite ? DownForWrites : null;
    }

    private (int Found, int Missing) Look(in RequestedKeys keys)
    {
        int found = 0;
        foreach (byte[] key in keys.All)
        {
            ulong hash = server.Shards.HashOf(key);
            ShardStore store = server.Shards.Of(hash).Store;
            Entry entry = store.Database(0).Find(key, hash);
            if (entry.Exists && (entry.Expiry == 0 || entry.Expiry > keys.Now)) found++;
        }
        return (found, keys.All.Count - found);
    }

    private string Move(string word, int slot, ClusterNode to, Session session) =>
        string.Create(CultureInfo.InvariantCulture,
            $"{word} {slot} {to.Endpoint(server.Config.ClusterPreferredEndpointType)}:{to.ClientPort(cluster.IsEncrypted(session))}");
}
