using System.Buffers.Binary;
using System.Net;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Effects;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.Bus;

/// <summary>Processes the messages of other nodes. Except for <see cref="TakePublished"/>, the caller holds the lock of the cluster.</summary>
internal sealed class Receiver(ServerCore server, ClusterMember cluster)
{
    private readonly GossipReader _gossip = new(server, cluster);

    private ClusterState State => cluster.State;

    private ClusterNode Myself => State.Myself;

    /// <summary>Delivers a message that was published at another node.</summary>
    public void TakePublished(BusLink link, in BusMessage message)
    {
        // Only a known node may publish. The pings of the link may have come before this node knew the sender.
        ClusterNode? sender = link.Node;
        if (sender is null)
        {
            lock (cluster.Gate) sender = link.IsClosed ? null : SenderOf(link, message);
        }
        if (sender is null) return;
        sender.DataReceived = ServerCore.UnixMilliseconds();
        ReadOnlySpan<byte> data = message.Data;
        int channel = (int)BinaryPrimitives.ReadUInt32BigEndian(data);
        data = data[MessageLayout.PublishLengths..];
        using HeldMessages.Together held = server.Lanes.Current.Messages.HoldTogether();
        if (message.Type == MessageType.Publish) server.Hub.Publish(data[..channel], data[channel..]);
        else server.Hub.PublishToShard(data[..channel], data[channel..]);
    }

    /// <summary>Processes a message; false if the link must be closed.</summary>
    public bool Take(BusLink link, in BusMessage message)
    {
        long now = ServerCore.UnixMilliseconds();
        ClusterNode? sender = SenderOf(link, message);
        bool isOwn = sender == Myself;
        if (sender is not null) sender.DataReceived = now;
        if (sender is { IsInHandshake: false } && !isOwn) NoteEpochs(sender, message, now);
        if (message.IsPing) return TakePing(link, message, sender, now);
        if (sender is null || isOwn) return true;
        switch (message.Type)
        {
            case MessageType.Fail:
                TakeFail(sender, message, now);
                break;
            case MessageType.AuthRequest:
                cluster.Votes.Consider(sender, message, now);
                break;
            case MessageType.AuthAck:
                cluster.Election.TakeVote(sender, message.CurrentEpoch);
                break;
            case MessageType.ManualFailoverStart:
                if (sender.Primary == Myself) cluster.ManualFailover.BeginFor(sender, link, now);
                break;
            case MessageType.Update:
                TakeUpdate(message);
                break;
        }
        return true;
    }

    private ClusterNode? SenderOf(BusLink link, in BusMessage message)
    {
        if (link.Node is { IsInHandshake: false } known) return known;
        ClusterNode? sender = State.Find(message.Sender);
        if (sender is null || link.Node is not null) return sender;
        if (sender.Inbound is { } former && former != link) former.Close();
        (sender.Inbound, link.Node) = (link, sender);
        return sender;
    }

    private void NoteEpochs(ClusterNode sender, in BusMessage message, long now)
    {
        State.CurrentEpoch = Math.Max(State.CurrentEpoch, message.CurrentEpoch);
        if (message.ConfigEpoch > sender.ConfigEpoch)
        {
            sender.ConfigEpoch = message.ConfigEpoch;
            State.Later(Pending.Save | Pending.Flush);
        }
        sender.ReplicationOffset = message.Offset;
        if (message.Has(MessageLayout.Paused) && Myself.Primary == sender) cluster.ManualFailover.NotePausedAt(message.Offset);
    }

    private bool TakePing(BusLink link, in BusMessage message, ClusterNode? sender, long now)
    {
        if (message.Type != MessageType.Pong)
        {
            LearnOwnAddress(link, message);
            if (sender is null && message.Type == MessageType.Meet) Introduce(link, message, now);
            cluster.Bus.SendPing(link, MessageType.Pong);
        }
        if (!link.IsInbound && !CheckName(link, message, sender)) return false;
        // Another process that has this node's name cannot tell this node its role, its slots or its epoch.
        if (sender == Myself) return true;
        if (sender is not null)
        {
            sender.Flags = sender.Flags & ~NodeFlags.NoFailover | message.Flags & NodeFlags.NoFailover;
            if (message.Type == MessageType.Ping && !sender.IsInHandshake && UpdateAddress(sender, link, message)) State.Later(Pending.Save | Pending.Health);
        }
        if (!link.IsInbound && message.Type == MessageType.Pong) NoteAnswer(link.Node!, now);
        if (sender is null) return true;
        NoteRole(sender, message);
        if (sender.Primary == Myself) cluster.Migrations.Announcement.NoteKnown(sender, message.Slots);
        ClusterNode? leader = sender.IsPrimary ? sender : sender.Primary;
        bool differs = leader is not null && !leader.Slots.Bytes.SequenceEqual(message.Slots);
        if (differs && sender.IsPrimary) cluster.Claims.Take(sender, message.ConfigEpoch, message.Slots);
        // Voters would refuse a replica that has not heard of its primary's epoch.
        bool isBehind = sender.IsReplica && leader is not null && leader.ConfigEpoch > message.ConfigEpoch;
        if (differs || isBehind) Correct(sender, message);
        if (sender.IsPrimary && Myself.IsPrimary && message.ConfigEpoch == Myself.ConfigEpoch) State.ResolveCollision(sender);
        _gossip.TakeRows(sender, message, now);
        _gossip.TakeExtensions(sender, link, message, now);
        return !link.IsClosed;
    }

    /// <summary>The address by which another node reached this one is the address of this node.</summary>
    private void LearnOwnAddress(BusLink link, in BusMessage message)
    {
        if (message.Type != MessageType.Meet && Myself.Ip.Length > 0 || server.Config.ClusterAnnounceIp.Length > 0) return;
        if (link.LocalIp.Length == 0 || link.LocalIp == Myself.Ip) return;
        Myself.Ip = link.LocalIp;
        server.Log.LogInformation("IP address for this node updated to {Ip}", Myself.Ip);
        State.Later(Pending.Save);
    }

    /// <summary>Begins a handshake with an unknown node that sent MEET.</summary>
    private void Introduce(BusLink link, in BusMessage message, long now)
    {
        string ip = AddressOf(link, message);
        if (ip.Length == 0 || cluster.IsInHandshakeWith(ip, message.BusPort)) return;
        var node = new ClusterNode(NodeId.New(), NodeFlags.Handshake, now) { Ip = ip, BusPort = message.BusPort };
        TakePorts(node, message.Port, message.OtherPort);
        State.Add(node);
        State.Later(Pending.Save);
    }

    /// <summary>Ends a handshake, and detects a node that answers under another name. False if the link must be closed.</summary>
    private bool CheckName(BusLink link, in BusMessage message, ClusterNode? sender)
    {
        ClusterNode node = link.Node!;
        if (node.IsInHandshake)
        {
            if (sender is not null)
            {
                if (UpdateAddress(sender, link, message)) State.Later(Pending.Save | Pending.Health);
                State.Remove(node);
                return false;
            }
            if (!NodeId.IsValid(message.Sender)) return false;
            State.Rename(node, message.Sender);
            node.Flags = node.Flags & ~NodeFlags.Handshake | message.Flags & (NodeFlags.Primary | NodeFlags.Replica);
            State.Later(Pending.Save);
            return true;
        }
        if (node.Name == message.Sender) return true;
        node.Flags |= NodeFlags.NoAddress;
        (node.Ip, node.Port, node.TlsPort, node.BusPort) = ("", 0, 0, 0);
        State.Later(Pending.Save);
        return false;
    }

    private void NoteAnswer(ClusterNode node, long now)
    {
        node.PongReceived = now;
        node.PingSent = 0;
        if (node.Has(NodeFlags.PossiblyFailed))
        {
            node.Flags &= ~NodeFlags.PossiblyFailed;
            State.Later(Pending.Save | Pending.Health);
        }
        else if (node.IsFailed)
        {
            cluster.Failures.ClearIfPossible(node, now);
        }
    }

    /// <summary>Takes over a change of the sender's role.</summary>
    private void NoteRole(ClusterNode sender, in BusMessage message)
    {
        string primaryName = message.Primary;
        if (primaryName.Length == 0)
        {
            State.MakePrimary(sender);
            return;
        }
        ClusterNode? primary = State.Find(primaryName);
        if (sender.IsPrimary)
        {
            // A failover in a shard moves the slots at once. Otherwise another node claims them.
            if (primary is not null && primary.ShardId == sender.ShardId)
            {
                if (sender.ConfigEpoch <= message.ConfigEpoch)
                {
                    State.MoveAll(sender, primary);
                    State.MakePrimary(primary);
                    primary.ConfigEpoch = message.ConfigEpoch;
                }
            }
            else
            {
                State.UnassignAll(sender);
            }
            sender.Flags = sender.Flags & ~(NodeFlags.Primary | NodeFlags.MigrateTo) | NodeFlags.Replica;
            State.Later(Pending.Save | Pending.Health);
        }
        else if (!sender.IsReplica)
        {
            sender.Flags |= NodeFlags.Replica;
        }
        if (primary is null || sender.Primary == primary || primary == sender) return;
        ClusterState.Attach(sender, primary);
        State.Later(Pending.Save);
    }

    /// <summary>Tells a sender that another node, or the primary of a replica, serves one of its slots in a later epoch.</summary>
    private void Correct(ClusterNode sender, in BusMessage message)
    {
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            if (!SlotSet.Contains(message.Slots, slot) || State.OwnerOf(slot) is not { } owner || owner == sender || State.IsUnclaimed(slot)) continue;
            if (owner.ConfigEpoch <= message.ConfigEpoch) continue;
            // The former owner removes its keys when it learns of this, so the replicas must know of it before.
            if (owner.IsMyself && State.Unannounced?.Contains(slot) == true) continue;
            cluster.Bus.Send(sender.Link, MessageType.Update, cluster.Bus.Messages.Update(owner));
            return;
        }
    }

    private void TakeFail(ClusterNode sender, in BusMessage message, long now)
    {
        if (State.Find(BusMessage.Text(message.Data)) is not { } failing || failing.Has(NodeFlags.Failed | NodeFlags.Myself)) return;
        server.Log.LogInformation("FAIL message received from {Sender} about {Node}", sender.Label, failing.Label);
        failing.Flags = failing.Flags & ~NodeFlags.PossiblyFailed | NodeFlags.Failed;
        failing.FailedAt = now;
        State.Later(Pending.Save | Pending.Health);
    }

    private void TakeUpdate(in BusMessage message)
    {
        ulong epoch = BinaryPrimitives.ReadUInt64BigEndian(message.Data);
        string name = BusMessage.Text(message.Data.Slice(MessageLayout.UpdateName, NodeId.Length));
        if (State.Find(name) is not { } owner || owner.ConfigEpoch >= epoch) return;
        if (owner.IsReplica && owner != Myself) State.MakePrimary(owner);
        owner.ConfigEpoch = epoch;
        State.Later(Pending.Save | Pending.Flush);
        cluster.Claims.Take(owner, epoch, message.Data.Slice(MessageLayout.UpdateSlots, SlotSet.Length));
    }

    /// <summary>Takes a new address of a node. Only the connection of the node itself shows it.</summary>
    private bool UpdateAddress(ClusterNode node, BusLink link, in BusMessage message)
    {
        if (link == node.Link) return false;
        string ip = AddressOf(link, message);
        (int port, int tlsPort) = server.Config.TlsCluster ? (message.OtherPort, message.Port) : (message.Port, message.OtherPort);
        if (ip.Length == 0 || node.Ip == ip && node.Port == port && node.TlsPort == tlsPort && node.BusPort == message.BusPort) return false;
        node.Ip = ip;
        TakePorts(node, message.Port, message.OtherPort);
        node.BusPort = message.BusPort;
        node.Flags &= ~NodeFlags.NoAddress;
        node.Link?.Close();
        server.Log.LogWarning("Address updated for node {Node}, now {Ip}:{Port}", node.Label, node.Ip, node.Port);
        return true;
    }

    private void TakePorts(ClusterNode node, int port, int other) =>
        (node.Port, node.TlsPort) = server.Config.TlsCluster ? (other, port) : (port, other);

    /// <summary>The address that the sender announces, or else that of its connection.</summary>
    private static string AddressOf(BusLink link, in BusMessage message)
    {
        string announced = message.Ip;
        return announced.Length > 0 && IPAddress.TryParse(announced, out _) ? announced : link.PeerIp;
    }
}
