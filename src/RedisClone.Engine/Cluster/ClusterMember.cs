using System.Globalization;
using System.Net;
using System.Runtime.CompilerServices;
using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.Failover;
using RedisClone.Engine.Cluster.Health;
using RedisClone.Engine.Cluster.Redirects;
using RedisClone.Engine.Cluster.SlotMigration;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Pubsub;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Disk;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster;

/// <summary>
/// This server as a node of a cluster. One lock protects the state of the cluster; it is taken after shards, never before. Commands on
/// keys do not take it.
/// </summary>
internal sealed class ClusterMember : IDisposable
{
    private readonly ServerCore _server;
    private readonly NodesFile _file;
    private readonly ClusterHealth _health;
    private readonly ClusterCron _cron;
    private readonly RoleKeeper _role;
    private readonly SlotUse _use = new();
    private Timer? _timer;
    private int _disposed;              // 1 once it is disposed of
    private int _cronRuns;              // 1 while a thread runs the periodic work

    public ClusterMember(ServerCore server)
    {
        _server = server;
        _file = new NodesFile(server);
        State = new ClusterState(NewMyself());
        Bus = new ClusterBus(server, this);
        Claims = new SlotClaims(server, this);
        Migrations = new SlotMigrations(server, this);
        Drop = new SlotDrop(server, this);
        Failures = new FailureReports(server, this);
        Votes = new Votes(server, this);
        Election = new Election(server, this);
        Takeover = new Takeover(server, this);
        ManualFailover = new ManualFailover(server, this);
        ReplicaMigration = new ReplicaMigration(server, this);
        Redirection = new Redirection(server, this);
        _health = new ClusterHealth(server, this);
        _cron = new ClusterCron(server, this);
        _role = new RoleKeeper(server, this);
    }

    /// <summary>The lock of the cluster.</summary>
    public Lock Gate { get; } = new();

    public ClusterState State { get; private set; }

    public ClusterBus Bus { get; }

    public SlotClaims Claims { get; }

    public SlotMigrations Migrations { get; }

    public SlotDrop Drop { get; }

    /// <summary>Whether a command runs here without a further look, as most do. The caller holds the shard of its key.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Serves(in CommandContext c) =>
        c.Row.HasSingleKey && Served.Contains(KeySlot.OfHash(c.HashOf(c.Row.FirstKey)));

    public FailureReports Failures { get; }

    public Votes Votes { get; }

    public Election Election { get; }

    public Takeover Takeover { get; }

    public ManualFailover ManualFailover { get; }

    public ReplicaMigration ReplicaMigration { get; }

    public Redirection Redirection { get; }

    public ServedSlots Served { get; } = new();

    /// <summary>What the commands on each slot cost; null if that is not counted.</summary>
    public SlotUse? Use => _server.Config.ClusterSlotStatsEnabled ? _use : null;

    /// <summary>Whether this node, or the primary that it follows, is the owner of a slot. May be called without the lock.</summary>
    public bool Has(int slot) => State.OwnerOf(slot) is { } owner && owner == State.Myself.Leader;

    /// <summary>Whether the data is loaded and the bus speaks.</summary>
    public bool HasBegun { get; private set; }

    /// <summary>Reads nodes.conf, or creates it. Null, or the reason why the server must not start.</summary>
    public string? Prepare()
    {
        if (_server.Config.ReplicaOf is not null) return "replicaof directive not allowed in cluster mode";
        if (_server.Config.BusPort is <= 0 or > ushort.MaxValue)
            return $"Redis port number too high for cluster mode: the bus needs port {_server.Config.BusPort}. Set cluster-port.";
        if (_file.Open(ServerCore.UnixMilliseconds(), out ClusterState? state) is { } refusal) return refusal;
        bool isNew = state is null;
        if (state is not null) State = state;
        _server.Log.LogInformation(isNew ? "No cluster configuration found, I'm {Node}" : "Node configuration loaded, I'm {Node}", State.Myself.Name);
        RefreshMyself();
        _server.Config.ReplicaOf = State.Myself is { IsReplica: true, Primary: { } primary } ? AddressOf(primary) : null;
        // A node that changes nothing starts on a full disk too.
        State.Later(isNew ? Pending.Save | Pending.Flush | Pending.Health : Pending.Health);
        lock (Gate) Finish();
        return null;
    }

    /// <summary>Begins to speak to other nodes, once the data is loaded. The caller holds every shard.</summary>
    public void Begin()
    {
        lock (Gate)
        {
            if (State.Myself.IsPrimary)
            {
                OpenSlotsOfData();
                RemoveKeysOf(State.Removable);
            }
            HasBegun = true;
            State.Later(Pending.Health);
            Finish();
        }
        _timer = new Timer(static self => ((ClusterMember)self!).RunCron(), this, ClusterCron.Period, ClusterCron.Period);
    }

    public void Dispose()
    {
        if (Interlocked.Exchange(ref _disposed, 1) != 0) return;
        _timer?.Dispose();
        Bus.CloseAll();
        // The periodic work has not come to it.
        lock (Gate)
            if (HasBegun && (State.Pending & Pending.Save) != 0) Save(flush: false);
        _file.Dispose();
    }

    /// <summary>
    /// Ends a change of the state: elections that are due, the health, nodes.conf, and what commands read. The caller holds the lock.
    /// </summary>
    /// <param name="maySaveLater">
    /// Whether nodes.conf may wait for the next round of periodic work if it need not reach the disk. Otherwise each of many messages
    /// would replace the file while the others wait for the lock.
    /// </param>
    public void Finish(bool maySaveLater = false)
    {
        Pending pending = State.Pending;
        long now = ServerCore.UnixMilliseconds();
        State.Pending = Pending.None;
        try
        {
            Finish(ref pending, now, maySaveLater);
        }
        catch (OutOfMemoryException)
        {
            // The next round tries again.
            State.Pending |= pending;
            throw;
        }
    }

    /// <summary>
    /// Ends a change that this node tells all others about. nodes.conf has it before they hear of it: after a crash between the two, they
    /// would believe what this node does not know. The caller holds the lock.
    /// </summary>
    public void FinishAndTell()
    {
        Finish();
        Bus.BroadcastPong();
    }

    private void Finish(ref Pending pending, long now, bool maySaveLater)
    {
        if ((pending & Pending.ManualFailover) != 0 && State.Myself.IsReplica) ManualFailover.Advance();
        if (((pending | State.Pending) & Pending.Election) != 0) Election.Advance(now);
        pending |= State.Pending;
        if ((pending & Pending.Health) != 0) _health.Update(now);
        if (State.SlotsChanged) PublishSlots(mayGain: false);
        Migrations.Look();
        bool flush = (pending & Pending.Flush) != 0;
        Pending later = maySaveLater && !flush ? pending & Pending.Save : Pending.None;
        if (later == Pending.None && (pending & Pending.Save) != 0) Save(flush);
        State.Pending = State.Pending & Pending.Election | later;
        if (State.SlotsChanged) PublishSlots(mayGain: true);
        State.SlotsChanged = false;
        _role.Look();
    }

    /// <summary>Writes nodes.conf. Without it a restart could vote twice or claim slots of others, so a failure ends the process.</summary>
    private void Save(bool flush)
    {
        try
        {
            _file.Write(State, flush);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            Fatal.End("The cluster configuration file cannot be written", failure);
        }
    }

    /// <summary>Writes nodes.conf for CLUSTER SAVECONFIG. Null, or the reason of the failure.</summary>
    public string? TrySave()
    {
        try
        {
            _file.Write(State, flush: true);
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }

    /// <summary>Takes the addresses and names of the configuration.</summary>
    public void RefreshMyself()
    {
        ServerConfig config = _server.Config;
        ClusterNode myself = State.Myself;
        string ip = config.ClusterAnnounceIp.Length > 0 ? config.ClusterAnnounceIp : myself.Ip;
        int port = config.ClusterAnnouncePort > 0 ? config.ClusterAnnouncePort : Math.Max(0, config.Port);
        int tlsPort = config.ClusterAnnounceTlsPort > 0 ? config.ClusterAnnounceTlsPort : config.TlsPort;
        int busPort = config.ClusterAnnounceBusPort > 0 ? config.ClusterAnnounceBusPort : config.BusPort;
        NodeFlags flags = config.ClusterReplicaNoFailover ? myself.Flags | NodeFlags.NoFailover : myself.Flags & ~NodeFlags.NoFailover;
        if ((myself.Ip, myself.Port, myself.TlsPort, myself.BusPort, myself.Flags) == (ip, port, tlsPort, busPort, flags)
            && myself.HostName == config.ClusterAnnounceHostname && myself.HumanName == config.ClusterAnnounceHumanNodename) return;
        (myself.Ip, myself.Port, myself.TlsPort, myself.BusPort, myself.Flags) = (ip, port, tlsPort, busPort, flags);
        (myself.HostName, myself.HumanName) = (config.ClusterAnnounceHostname, config.ClusterAnnounceHumanNodename);
        State.Later(Pending.Save);
    }

    /// <summary>Takes the names and addresses after a change of the configuration.</summary>
    public void Announce()
    {
        lock (Gate)
        {
            RefreshMyself();
            Finish();
        }
    }

    /// <summary>Decides about the health again after a change of the configuration.</summary>
    public void Reconsider()
    {
        lock (Gate)
        {
            State.Later(Pending.Health);
            Finish();
        }
    }

    /// <summary>Begins a handshake with a node; false if the address is invalid.</summary>
    public bool Meet(string ip, int port, int busPort)
    {
        if (!IPAddress.TryParse(ip, out IPAddress? address) || port is <= 0 or > ushort.MaxValue || busPort is <= 0 or > ushort.MaxValue) return false;
        ip = address.ToString();
        if (IsInHandshakeWith(ip, busPort)) return true;
        var node = new ClusterNode(NodeId.New(), NodeFlags.Handshake | NodeFlags.Meet, ServerCore.UnixMilliseconds()) { Ip = ip, BusPort = busPort };
        if (_server.Config.TlsCluster) node.TlsPort = port;
        else node.Port = port;
        State.Add(node);
        return true;
    }

    public bool IsInHandshakeWith(string ip, int busPort) =>
        Array.Exists(State.All, node => node.IsInHandshake && node.Ip == ip && node.BusPort == busPort);

    /// <summary>Whether a client is connected to the port for TLS, so that redirections name the ports for TLS.</summary>
    public bool IsEncrypted(Session session) =>
        _server.Config.TlsPort > 0 && (session.Connection is null ? _server.Config.TlsCluster
            : session.LocalName.EndsWith(string.Create(CultureInfo.InvariantCulture, $":{_server.Config.TlsPort}"), StringComparison.Ordinal));

    // ---- roles

    /// <summary>Makes this node a replica of another one. Its replication follows as soon as all shards are held.</summary>
    public void Follow(ClusterNode primary)
    {
        // A takeover that still waits for the shards was that of another primary's slots.
        Takeover.Drop();
        if (primary.ShardId != State.Myself.ShardId) _server.Role.ForgetAge();
        State.MakeMyselfReplicaOf(primary);
        // Writes that wait for a manual failover must find their slots gone.
        PublishSlots(mayGain: false);
        ManualFailover.Reset();
    }

    /// <summary>Makes this node the primary of its shard. The caller holds the lock and every shard.</summary>
    public void ReplacePrimary()
    {
        Takeover.Drop();
        if (!State.Myself.IsReplica || State.Myself.Primary is not { } former) return;
        try
        {
            State.MakePrimary(State.Myself);
            _server.Role.Lead();
            State.MoveAll(former, State.Myself);
        }
        catch (OutOfMemoryException failure)
        {
            // A primary without the slots of its shard would keep them down.
            Fatal.End("this node could not take over the slots of its primary", failure);
        }
        State.Later(Pending.Health | Pending.Save | Pending.Flush);
        ManualFailover.Reset();
        SettleForeignKeys();
        FinishAndTell();
    }

    /// <summary>The address at which a replica follows a node; null if it is not known.</summary>
    public ReplicaOf? AddressOf(ClusterNode primary)
    {
        int port = primary.ClientPort(_server.Config.TlsReplication);
        return primary.Ip.Length > 0 && port > 0 ? new ReplicaOf(primary.Ip, port) : null;
    }

    /// <summary>
    /// Leaves the cluster: no slots, no other nodes, and with <paramref name="hard"/> another name and the first epoch. The caller holds
    /// the lock and every shard.
    /// </summary>
    public void Reset(bool hard)
    {
        if (State.Myself.IsReplica)
        {
            State.MakePrimary(State.Myself);
            _server.Role.Lead();
        }
        Takeover.Drop();
        State.CloseAllSlots();
        ManualFailover.Reset();
        State.Removable.Clear();
        for (int slot = 0; slot < KeySlot.Count; slot++) State.Unassign(slot);
        foreach (ClusterNode node in State.All)
            if (!node.IsMyself) State.Remove(node);
        if (hard)
        {
            State.Rename(State.Myself, NodeId.New());
            State.Myself.ShardId = NodeId.New();
            State.CurrentEpoch = State.LastVoteEpoch = State.Myself.ConfigEpoch = 0;
            _server.Log.LogInformation("Node hard reset, now I'm {Node}", State.Myself.Name);
        }
        State.Later(Pending.Health | Pending.Save | Pending.Flush);
    }

    /// <summary>
    /// Removes the keys of slots that other nodes serve; the removal goes on after a restart. A replica that replaces this node must know
    /// that the keys are old, so it is told at once. The caller holds the lock.
    /// </summary>
    public void RemoveKeysOf(SlotSet slots)
    {
        if (slots.Count == 0) return;
        State.Removable.UnionWith(slots);
        State.Later(Pending.Save | Pending.Flush);
        try
        {
            TellReplicas();
        }
        finally
        {
            Drop.Start(slots);
        }
    }

    /// <summary>
    /// The keys of these slots are removed for good. An import may add new ones already, and some of the slots may be removed again by a later run.
    /// </summary>
    public void KeysAreGone(SlotSet slots)
    {
        lock (Gate)
        {
            bool isChanged = false;
            foreach ((int first, int last) in slots.Ranges())
                for (int slot = first; slot <= last; slot++)
                    isChanged |= !Migrations.IsFilling(slot) && !Drop.IsQueued(slot) && State.Removable.Remove(slot);
            if (isChanged) State.Later(Pending.Save);
            Finish();
            if (isChanged) TellReplicas();
        }
    }

    /// <summary>
    /// From now on, the keys of a slot are not left over: an operator moves them here one by one, and deletes them at the other node. A
    /// replica that replaces this node must know it. The caller holds the lock.
    /// </summary>
    public void Keep(int slot)
    {
        if (!State.Removable.Remove(slot)) return;
        State.Later(Pending.Save | Pending.Flush);
        TellReplicas();
    }

    /// <summary>
    /// Whether the replicas that may replace this node have its stream up to an offset: also one whose link is down, or that is being copied to.
    /// </summary>
    /// <param name="offset">The offset in the stream.</param>
    /// <param name="without">The flags of replicas that are not waited for.</param>
    public bool HaveReplicas(long offset, NodeFlags without)
    {
        int expected;
        lock (Gate) expected = State.Myself.Replicas.Count(replica => !replica.Has(without));
        // The addresses that replicas announce in the cluster and to their primary may differ, so they are counted.
        return _server.Replicas.HaveAll(offset) && _server.Replicas.CountAt(offset) >= expected;
    }

    private void TellReplicas() => Bus.BroadcastPong(node => node.Primary == State.Myself);

    /// <summary>
    /// Removes the keys of an import that ended with the former primary. Other keys of slots that other nodes serve stay, and the slots are
    /// set to importing: redis-cli moves slots key by key, and the keys that it has moved are only here.
    /// </summary>
    private void SettleForeignKeys()
    {
        var removable = new SlotSet();
        foreach (int slot in SlotKeys.Occupied(_server))
        {
            if (!State.IsForeign(slot)) continue;
            if (State.Removable.Contains(slot) || State.RemovableOfPrimary.Contains(slot)) removable.Add(slot);
            else OpenSlot(slot, State.OwnerOf(slot)!);
        }
        if (removable.Count > 0) _server.Log.LogWarning("Keys of {Count} slots that other nodes serve are removed.", removable.Count);
        RemoveKeysOf(removable);
    }

    /// <summary>
    /// Keys of a slot without an owner give the slot to this node. Keys of a slot of another node stay, and the slot is set to importing:
    /// if nodes.conf is an old one, they may be the only ones.
    /// </summary>
    private void OpenSlotsOfData()
    {
        foreach (int slot in SlotKeys.Occupied(_server))
        {
            ClusterNode? owner = State.OwnerOf(slot);
            if (owner == State.Myself || State.Importing[slot] is not null || owner is not null && State.Removable.Contains(slot)) continue;
            if (owner is null)
            {
                State.Assign(slot, State.Myself);
                _server.Log.LogWarning("I have keys for slot {Slot}, but the slot is unassigned. Taking it.", slot);
            }
            else
            {
                OpenSlot(slot, owner);
            }
            State.Later(Pending.Save | Pending.Flush);
        }
    }

    private void OpenSlot(int slot, ClusterNode owner)
    {
        State.Importing[slot] = owner;
        State.SlotsChanged = true;
        State.Later(Pending.Save | Pending.Flush);
        _server.Log.LogWarning("I have keys for slot {Slot}, but the slot is assigned to {Node}. Setting it to importing.", slot, owner.Label);
    }

    /// <summary>Lets commands see the change. Blocked clients and subscribers whose keys or channels moved learn of it.</summary>
    private void PublishSlots(bool mayGain)
    {
        Use?.KeepOwned(State);
        foreach ((byte[] channel, Session[] sessions) in _server.Hub[SubscriptionKind.Shard].All)
        {
            if (Has(KeySlot.Of(channel))) continue;
            foreach (Session session in sessions) session.Connection!.EndForeignSubscriptions();
        }
        if (!Served.Update(State, mayGain)) return;
        foreach (Session session in _server.Sessions.Unordered)
            if (session.Waiter is { Keys.Count: > 0 } waiter) waiter.Wake(WakeReason.Again);
    }

    private void RunCron()
    {
        if (_server.Debug.IsAsleep || Interlocked.Exchange(ref _cronRuns, 1) != 0) return;
        try
        {
            lock (Gate)
            {
                _cron.Run(ServerCore.UnixMilliseconds());
                Finish();
            }
        }
        catch (Exception bug)
        {
            _server.Failures.WorkFailed("The periodic work of the cluster failed", bug);
        }
        finally
        {
            Volatile.Write(ref _cronRuns, 0);
        }
    }

    private static ClusterNode NewMyself() => new(NodeId.New(), NodeFlags.Myself | NodeFlags.Primary, ServerCore.UnixMilliseconds());
}
