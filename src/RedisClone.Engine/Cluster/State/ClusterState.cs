using System.Diagnostics.CodeAnalysis;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.State;

/// <summary>What has to be done at the end of a change of the cluster.</summary>
[Flags]
internal enum Pending
{
    None = 0,
    Health = 1,
    Save = 2,
    Flush = 4,
    Election = 8,
    ManualFailover = 16,
}

/// <summary>
/// The nodes, the owners of the slots and the epochs, as this node knows them. The caller holds the lock of the cluster; only
/// <see cref="OwnerOf"/> and <see cref="All"/> may be read without it.
/// </summary>
internal sealed class ClusterState
{
    /// <summary>Seconds for which a forgotten node is not added again.</summary>
    private const long ForgottenMilliseconds = 60_000;

    private readonly Dictionary<string, ClusterNode> _nodes = [];
    private readonly ClusterNode?[] _owners = new ClusterNode?[KeySlot.Count];
    private readonly Dictionary<string, long> _forgotten = [];
    private volatile ClusterNode[] _all = [];
    private SlotSet? _unsettled;

    public ClusterState(ClusterNode myself)
    {
        Myself = myself;
        Add(myself);
    }

    public ClusterNode Myself { get; }

    /// <summary>All nodes, including this one and those in a handshake.</summary>
    public ClusterNode[] All => _all;

    public ulong CurrentEpoch { get; set; }

    public ulong LastVoteEpoch { get; set; }

    public bool IsOk { get; set; }

    /// <summary>The number of primaries with slots.</summary>
    public int Size { get; set; } = 1;

    public ClusterNode?[] Migrating { get; } = new ClusterNode?[KeySlot.Count];

    public ClusterNode?[] Importing { get; } = new ClusterNode?[KeySlot.Count];

    /// <summary>
    /// The slots that their owner does not claim any more. Another node may claim them with any epoch, because the owner has given them
    /// away.
    /// </summary>
    public SlotSet NotClaimed { get; } = new();

    /// <summary>
    /// Slots of other nodes whose keys this node removes, also after a restart: slots that it has lost, and those of an import that is not
    /// complete. Keys of any other slot stay at a restart, because nodes.conf may be an old one.
    /// </summary>
    public SlotSet Removable { get; } = new();

    /// <summary>On a replica: the <see cref="Removable"/> of its primary, as far as it is known here.</summary>
    public ToldSlots RemovableOfPrimary { get; } = new();

    /// <summary>
    /// Slots of this node that another one may have taken over. They are not served until it is known. Null for none; the set does not
    /// change.
    /// </summary>
    public SlotSet? Unsettled => Volatile.Read(ref _unsettled);

    /// <summary>Slots that this node has taken over, and of which it tells only its replicas so far. Null for none.</summary>
    public SlotSet? Unannounced { get; set; }

    public Pending Pending { get; set; }

    public bool SlotsChanged { get; set; }

    public int Quorum => Size / 2 + 1;

    public ClusterNode? OwnerOf(int slot) => Volatile.Read(ref _owners[slot]);

    /// <summary>Whether another node serves a slot, and no operator moves it here. Keys of such a slot are left over, or are being imported.</summary>
    public bool IsForeign(int slot) => OwnerOf(slot) is { } owner && owner != Myself.Leader && Importing[slot] is null;

    public void Unsettle(SlotSet? slots)
    {
        Volatile.Write(ref _unsettled, slots);
        SlotsChanged = true;
    }

    public bool IsUnclaimed(int slot) => _owners[slot] is null || NotClaimed.Contains(slot);

    public ClusterNode? Find(string name) => _nodes.GetValueOrDefault(name);

    /// <summary>The node that serves the slots of a node's shard: the node itself, its primary, or the replica that has replaced it.</summary>
    public ClusterNode PrimaryOfShard(ClusterNode node)
    {
        if (node.IsReplica || !node.IsFailed) return node.Leader;
        return Array.Find(_all, other => other is { IsPrimary: true, IsFailed: false } && other.ShardId == node.ShardId) ?? node;
    }

    public void Later(Pending what) => Pending |= what;

    public void Add(ClusterNode node)
    {
        _nodes[node.Name] = node;
        _all = [.. _nodes.Values];
    }

    public void Rename(ClusterNode node, string name)
    {
        _nodes.Remove(node.Name);
        node.Name = name;
        Add(node);
    }

    /// <summary>Removes a node and everything that refers to it.</summary>
    public void Remove(ClusterNode node)
    {
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            if (Importing[slot] == node) Importing[slot] = null;
            if (Migrating[slot] == node) Migrating[slot] = null;
            if (_owners[slot] == node) Unassign(slot);
        }
        SlotsChanged = true;
        foreach (ClusterNode other in _all) other.RemoveFailureReport(node);
        foreach (ClusterNode replica in node.Replicas) replica.Primary = null;
        node.Replicas.Clear();
        Detach(node);
        if (_nodes.GetValueOrDefault(node.Name) == node) _nodes.Remove(node.Name);
        _all = [.. _nodes.Values];
        node.Link?.Close();
        node.Inbound?.Close();
    }

    public void Assign(int slot, ClusterNode node)
    {
        if (_owners[slot] is not null) Unassign(slot);
        node.Slots.Add(slot);
        if (node.IsMyself) Removable.Remove(slot);
        if (node == Myself.Primary) RemovableOfPrimary.Remove(slot);
        Volatile.Write(ref _owners[slot], node);
        // A primary that gets its first slot may also get replicas of others, like all primaries that have replicas.
        if (node.Slots.Count == 1 && Array.Exists(_all, static other => other.Replicas.Count > 0)) node.Flags |= NodeFlags.MigrateTo;
        SlotsChanged = true;
    }

    public void Unassign(int slot)
    {
        if (_owners[slot] is not { } owner) return;
        owner.Slots.Remove(slot);
        Volatile.Write(ref _owners[slot], null);
        NotClaimed.Remove(slot);
        SlotsChanged = true;
    }

    public int UnassignAll(ClusterNode node)
    {
        int count = node.Slots.Count;
        for (int slot = 0; slot < KeySlot.Count; slot++)
            if (_owners[slot] == node) Unassign(slot);
        return count;
    }

    public int MoveAll(ClusterNode from, ClusterNode to)
    {
        int count = from.Slots.Count;
        for (int slot = 0; slot < KeySlot.Count; slot++)
            if (_owners[slot] == from) Assign(slot, to);
        return count;
    }

    public void CloseAllSlots()
    {
        Array.Clear(Migrating);
        Array.Clear(Importing);
        SlotsChanged = true;
    }

    /// <summary>Makes a node a replica of a primary.</summary>
    public static void Attach(ClusterNode replica, ClusterNode primary)
    {
        Detach(replica);
        replica.Primary = primary;
        replica.ShardId = primary.ShardId;
        primary.Replicas.Add(replica);
        primary.Flags |= NodeFlags.MigrateTo;
    }

    /// <summary>Makes a node a primary in the table of nodes.</summary>
    public void MakePrimary(ClusterNode node)
    {
        if (node.IsPrimary) return;
        if (node.Primary is not null && node != Myself) node.Flags |= NodeFlags.MigrateTo;
        Detach(node);
        node.Flags = node.Flags & ~NodeFlags.Replica | NodeFlags.Primary;
        SlotsChanged = true;
        Later(Pending.Save | Pending.Health);
    }

    /// <summary>Makes this node a replica in the table of nodes.</summary>
    public void MakeMyselfReplicaOf(ClusterNode primary)
    {
        if (Myself.IsPrimary)
        {
            Myself.Flags = Myself.Flags & ~(NodeFlags.Primary | NodeFlags.MigrateTo) | NodeFlags.Replica;
            CloseAllSlots();
        }
        if (Myself.Primary != primary) RemovableOfPrimary.Clear();
        Attach(Myself, primary);
        SlotsChanged = true;
        Later(Pending.Save | Pending.Health | Pending.Flush);
    }

    private static void Detach(ClusterNode node)
    {
        if (node.Primary is not { } primary) return;
        primary.Replicas.Remove(node);
        if (primary.Replicas.Count == 0) primary.Flags &= ~NodeFlags.MigrateTo;
        node.Primary = null;
    }

    public ulong HighestEpoch()
    {
        ulong highest = CurrentEpoch;
        foreach (ClusterNode node in _all) highest = Math.Max(highest, node.ConfigEpoch);
        return highest;
    }

    /// <summary>Gives this node the highest configuration epoch without a vote; false if it has it already.</summary>
    public bool BumpEpoch()
    {
        ulong highest = HighestEpoch();
        if (Myself.ConfigEpoch != 0 && Myself.ConfigEpoch == highest) return false;
        TakeNextEpoch();
        return true;
    }

    /// <summary>Gives this node an epoch that is higher than all it has heard of.</summary>
    public void TakeNextEpoch()
    {
        CurrentEpoch = HighestEpoch() + 1;
        Myself.ConfigEpoch = CurrentEpoch;
        Later(Pending.Save | Pending.Flush);
    }

    /// <summary>Two primaries with the same epoch get different ones: the one with the lower name takes the next epoch.</summary>
    public void ResolveCollision(ClusterNode sender)
    {
        if (sender.ConfigEpoch != Myself.ConfigEpoch || !sender.IsPrimary || !Myself.IsPrimary) return;
        if (string.CompareOrdinal(sender.Name, Myself.Name) <= 0) return;
        Myself.ConfigEpoch = ++CurrentEpoch;
        Later(Pending.Save | Pending.Flush);
    }

    // ---- forgotten nodes

    public void Forget(string name, long now) => _forgotten[name] = now + ForgottenMilliseconds;

    public void ForgetUntil(string name, long until) => _forgotten[name] = until;

    public bool IsForgotten(string name, long now)
    {
        foreach ((string forgotten, long until) in _forgotten)
            if (until < now) _forgotten.Remove(forgotten);
        return _forgotten.ContainsKey(name);
    }

    /// <summary>The forgotten nodes and the milliseconds for which they stay forgotten.</summary>
    public IEnumerable<(string Name, long Left)> Forgotten(long now)
    {
        foreach ((string name, long until) in _forgotten)
            if (until > now) yield return (name, until - now);
    }

    public bool TryFind(string name, [NotNullWhen(true)] out ClusterNode? node) => _nodes.TryGetValue(name, out node);
}
