using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;

namespace RedisClone.Admin.Commands.Cluster;

/// <summary>The subcommands of CLUSTER on slots and their keys.</summary>
internal static class SlotCommands
{
    public static void AddSlots(ref CommandContext c, ClusterMember cluster) => Change(ref c, cluster, isAddition: true, areRanges: false);

    public static void AddRanges(ref CommandContext c, ClusterMember cluster) => Change(ref c, cluster, isAddition: true, areRanges: true);

    public static void RemoveSlots(ref CommandContext c, ClusterMember cluster) => Change(ref c, cluster, isAddition: false, areRanges: false);

    public static void RemoveRanges(ref CommandContext c, ClusterMember cluster) => Change(ref c, cluster, isAddition: false, areRanges: true);

    public static void Flush(ref CommandContext c, ClusterMember cluster)
    {
        if (c.Server.Snapshots.HasKeys)
        {
            c.Fail("ERR DB must be empty to perform CLUSTER FLUSHSLOTS.");
            return;
        }
        cluster.State.UnassignAll(cluster.State.Myself);
        cluster.State.Later(Pending.Health | Pending.Save);
        c.Reply.Ok();
    }

    public static void SlotOf(ref CommandContext c, ClusterMember cluster) => c.Reply.Integer(KeySlot.Of(c.Args[2]));

    /// <summary>The shard of the slot in the first argument of a subcommand.</summary>
    public static ShardSet ShardOfSlot(in Request request, Session session)
    {
        bool isSlot = RedisNumber.TryParseInt64(request[2], out long slot) && slot is >= 0 and < KeySlot.Count;
        ShardMap shards = session.Server.Shards;
        return isSlot && session.Server.Cluster is not null ? ShardSet.Of(shards.IndexOf(KeySlot.HashOf((int)slot))) : default;
    }

    public static void CountKeys(ref CommandContext c, ClusterMember cluster)
    {
        long slot = c.Int64(2);
        if (!c.Failed && slot is < 0 or >= KeySlot.Count) c.Fail("ERR Invalid slot");
        if (!c.Failed) c.Reply.Integer(cluster.Served.IsForeign((int)slot) ? 0 : SlotKeys.Count(c.Server, (int)slot));
    }

    public static void ListKeys(ref CommandContext c, ClusterMember cluster)
    {
        long slot = c.Int64(2), most = c.Int64(3);
        if (!c.Failed && (slot is < 0 or >= KeySlot.Count || most < 0)) c.Fail("ERR Invalid slot or number of keys");
        if (c.Failed) return;
        if (c.MoveToWorker(Math.Min(most, SlotKeys.Count(c.Server, (int)slot)))) return;
        List<byte[]> keys = cluster.Served.IsForeign((int)slot) ? [] : SlotKeys.List(c.Server, (int)slot, most);
        c.Reply.ArrayHeader(keys.Count);
        foreach (byte[] key in keys) c.Reply.Bulk(key);
    }

    public static void SetSlot(ref CommandContext c, ClusterMember cluster)
    {
        ClusterState state = cluster.State;
        if (state.Myself.IsReplica) c.Fail("ERR Please use SETSLOT only with masters.");
        int slot = c.Failed ? 0 : Slot(ref c, 2);
        if (c.Failed) return;
        if (c.Is(3, "migrating"u8) && c.Args.Count == 5) Migrate(ref c, state, slot);
        else if (c.Is(3, "importing"u8) && c.Args.Count == 5) Import(ref c, cluster, slot);
        else if (c.Is(3, "stable"u8) && c.Args.Count == 4) state.Importing[slot] = state.Migrating[slot] = null;
        else if (c.Is(3, "node"u8) && c.Args.Count == 5) Assign(ref c, cluster, slot);
        else c.Fail("ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
        if (c.Failed) return;
        state.SlotsChanged = true;
        state.Later(Pending.Health | Pending.Save);
        c.Reply.Ok();
    }

    private static void Migrate(ref CommandContext c, ClusterState state, int slot)
    {
        if (state.OwnerOf(slot) != state.Myself) c.Fail($"ERR I'm not the owner of hash slot {slot}");
        else if (Target(ref c, state, "ERR I don't know about node ") is { } target) state.Migrating[slot] = target;
    }

    private static void Import(ref CommandContext c, ClusterMember cluster, int slot)
    {
        ClusterState state = cluster.State;
        if (state.OwnerOf(slot) == state.Myself) c.Fail($"ERR I'm already the owner of hash slot {slot}");
        else if (Target(ref c, state, "ERR I don't know about node ") is { } source && MayTake(ref c, cluster, slot))
        {
            state.Importing[slot] = source;
            cluster.Keep(slot);
        }
    }

    /// <summary>
    /// Whether this node may take a slot of another node. Keys that an earlier ownership or import has left here are removed before:
    /// clients have changed and deleted them at the other node.
    /// </summary>
    private static bool MayTake(ref CommandContext c, ClusterMember cluster, int slot)
    {
        if (cluster.Migrations.IsFilling(slot)) c.Fail($"ERR Hash slot {slot} is being imported. Use CLUSTER MIGRATION CANCEL first");
        // The removed keys are units of effects of their own, which a transaction cannot contain.
        else if (cluster.Drop.HasLeft(slot) && (c.Session.InTransaction || !cluster.Drop.TryRunHeld(slot)))
            c.Fail($"ERR Old keys of hash slot {slot} are being removed, try again later");
        return !c.Failed;
    }

    private static void Assign(ref CommandContext c, ClusterMember cluster, int slot)
    {
        ClusterState state = cluster.State;
        ClusterNode myself = state.Myself;
        if (Target(ref c, state, "ERR Unknown node ") is not { } owner) return;
        bool wasMine = state.OwnerOf(slot) == myself;
        if (owner == myself && !wasMine && !MayTake(ref c, cluster, slot)) return;
        bool hasKeys = (wasMine || state.Migrating[slot] is not null) && SlotKeys.Count(c.Server, slot) > 0;
        if (wasMine && owner != myself && hasKeys)
        {
            c.Fail($"ERR Can't assign hashslot {slot} to a different node while I still hold keys for this hash slot.");
            return;
        }
        if (!hasKeys) state.Migrating[slot] = null;
        state.Assign(slot, owner);
        if (wasMine && owner != myself && myself.Slots.Count == 0 && c.Server.Config.ClusterAllowReplicaMigration)
        {
            c.Server.Log.LogInformation("Configuration change detected. Reconfiguring myself as a replica of {Node}", owner.Name);
            cluster.Follow(owner);
        }
        if (owner != myself || state.Importing[slot] is null) return;
        // The new epoch makes the other nodes accept the new owner at once.
        if (state.BumpEpoch()) c.Server.Log.LogInformation("configEpoch updated after importing slot {Slot}", slot);
        state.Importing[slot] = null;
        state.Later(Pending.Save | Pending.Flush);
        cluster.FinishAndTell();
    }

    /// <summary>The primary that the last argument names, or null with an error.</summary>
    private static ClusterNode? Target(ref CommandContext c, ClusterState state, string unknown)
    {
        ClusterNode? node = state.Find(c.Text(4));
        if (node is null) c.Fail(unknown + c.Echo(4));
        else if (node.IsReplica) c.Fail("ERR Target node is not a master");
        return c.Failed ? null : node;
    }

    private static void Change(ref CommandContext c, ClusterMember cluster, bool isAddition, bool areRanges)
    {
        ClusterState state = cluster.State;
        SlotSet? slots = areRanges
            ? RangesFrom(ref c, 2, slot => RefuseChange(state, slot, isAddition))
            : Collect(ref c, 2, areRanges: false, slot => RefuseChange(state, slot, isAddition));
        if (slots is null) return;
        for (int slot = 0; slot < KeySlot.Count && isAddition; slot++)
            if (slots.Contains(slot) && !MayTake(ref c, cluster, slot)) return;
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            if (!slots.Contains(slot)) continue;
            state.Importing[slot] = null;
            if (isAddition) state.Assign(slot, state.Myself);
            else state.Unassign(slot);
        }
        state.Later(Pending.Health | Pending.Save);
        c.Reply.Ok();
    }

    private static string? RefuseChange(ClusterState state, int slot, bool isAddition) =>
        state.OwnerOf(slot) is not null == isAddition ? $"ERR Slot {slot} is already {(isAddition ? "busy" : "unassigned")}" : null;

    /// <summary>The slots of pairs of a first and a last slot, up to the last argument; null with an error.</summary>
    public static SlotSet? RangesFrom(ref CommandContext c, int argument, Func<int, string?>? refuse = null)
    {
        bool hasPairs = c.Args.Count > argument && (c.Args.Count - argument) % 2 == 0;
        if (hasPairs) return Collect(ref c, argument, areRanges: true, refuse);
        c.Fail(Errors.WrongArity(c.Row.FullName));
        return null;
    }

    private static SlotSet? Collect(ref CommandContext c, int argument, bool areRanges, Func<int, string?>? refuse)
    {
        var slots = new SlotSet();
        for (int i = argument; i < c.Args.Count && !c.Failed; i += areRanges ? 2 : 1)
        {
            int first = Slot(ref c, i), last = areRanges ? Slot(ref c, i + 1) : first;
            if (!c.Failed && first > last) c.Fail($"ERR start slot number {first} is greater than end slot number {last}");
            for (int slot = first; slot <= last && !c.Failed; slot++)
            {
                if (refuse?.Invoke(slot) is { } refusal) c.Fail(refusal);
                else if (!slots.Add(slot)) c.Fail($"ERR Slot {slot} specified multiple times");
            }
        }
        return c.Failed ? null : slots;
    }

    internal static int Slot(ref CommandContext c, int argument) => (int)c.Int64(argument, 0, KeySlot.Count - 1, "ERR Invalid or out of range slot");
}
