using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.SlotMigration;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Server.Tests.Commands;
using RedisClone.Server.Tests.Replication;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>What CLUSTER MIGRATION refuses, what the stream of some slots has, and which keys clients do not see.</summary>
public sealed class SlotMigrationTests
{
    private const int MovedSlot = 0;
    private const string MovedKey = "{06S}1", OtherKey = "{06S}2", KeptKey = "foo";

    private readonly CommandHost _host = new(static config => config.ClusterEnabled = true);
    private readonly ClusterNode _other;

    public SlotMigrationTests()
    {
        _other = new ClusterNode(NodeId.New(), NodeFlags.Primary, 0);
        State.Add(_other);
        State.IsOk = true;
        for (int slot = 0; slot < KeySlot.Count; slot++) State.Assign(slot, State.Myself);
        Publish();
    }

    private ClusterMember Member => _host.Core.Cluster!;

    private ClusterState State => Member.State;

    [Theory]
    [InlineData("IMPORT 1", "ERR wrong number of arguments for 'cluster|migration' command")]
    [InlineData("IMPORT 1 2 3", "ERR wrong number of arguments for 'cluster|migration' command")]
    [InlineData("IMPORT 1 x", "ERR Invalid or out of range slot")]
    [InlineData("IMPORT 1 16384", "ERR Invalid or out of range slot")]
    [InlineData("IMPORT 2 1", "ERR start slot number 2 is greater than end slot number 1")]
    [InlineData("IMPORT 1 3 2 4", "ERR Slot 2 specified multiple times")]
    [InlineData("IMPORT 1 3", "ERR this node is already the owner of the slot range")]
    [InlineData("IMPORT 0 3", "ERR slots belong to different source nodes")]
    [InlineData("IMPORT 16383 16383", "ERR slot has no owner: 16383")]
    [InlineData("CANCEL ID", "ERR wrong number of arguments for 'cluster|migration' command")]
    [InlineData("CANCEL ALL 1", "ERR wrong number of arguments for 'cluster|migration' command")]
    [InlineData("CANCEL 1", "ERR unknown argument")]
    [InlineData("STATUS 1", "ERR unknown argument")]
    [InlineData("MOVE 1", "ERR unknown argument")]
    public void WrongArgumentsAreRefused(string arguments, string error)
    {
        State.Assign(MovedSlot, _other);
        State.Unassign(KeySlot.Count - 1);
        Assert.Contains(error, _host.Run($"CLUSTER MIGRATION {arguments}"), StringComparison.Ordinal);
    }

    [Fact]
    public void ASlotThatMovesByHandPreventsAMigration()
    {
        State.Assign(MovedSlot, _other);
        State.Migrating[5] = _other;
        Assert.Contains("ERR all slot states must be STABLE", _host.Run("CLUSTER MIGRATION IMPORT 0 0"), StringComparison.Ordinal);
    }

    [Fact]
    public void AMigrationIsShownAndCancelled()
    {
        State.Assign(MovedSlot, _other);
        string id = _host.Run("CLUSTER MIGRATION IMPORT 0 0").Trim('"');
        Assert.True(NodeId.IsValid(id), id);
        Assert.Contains("ERR overlapping import exists for slot range: 0-0", ReplyToSecondImport(), StringComparison.Ordinal);
        string status = _host.Run($"CLUSTER MIGRATION STATUS ID {id}");
        Assert.Contains("operation", status, StringComparison.Ordinal);
        Assert.Contains(_other.Name, status, StringComparison.Ordinal);
        Assert.Contains("0", _host.Run("CLUSTER MIGRATION CANCEL ID x"), StringComparison.Ordinal);
        Assert.Contains("1", _host.Run($"CLUSTER MIGRATION CANCEL ID {id}"), StringComparison.Ordinal);
        Assert.Contains("canceled", _host.Run("CLUSTER MIGRATION STATUS ALL"), StringComparison.Ordinal);
        Assert.Contains("0", _host.Run("CLUSTER MIGRATION CANCEL ALL"), StringComparison.Ordinal);
    }

    /// <summary>The attempt fails at once without a network; a failed one may be replaced.</summary>
    private string ReplyToSecondImport()
    {
        lock (Member.Gate)
        {
            foreach (SlotTask task in Member.Migrations.All) task.State = SlotTaskState.Connecting;
            return Member.Migrations.Import(SetOf(MovedSlot), out string error) is null ? $"ERR {error}" : "";
        }
    }

    [Theory]
    [InlineData("START 0 0 0 0", "ERR invalid task ID")]
    [InlineData("START 0 0 0", "ERR wrong number of arguments")]
    [InlineData("OUTCOME 0", "ERR wrong number of arguments")]
    [InlineData("ACK x", "ERR value is not an integer")]
    [InlineData("SYNC 1", "ERR unknown argument")]
    public void WrongRequestsOfNodesAreRefused(string arguments, string error) =>
        Assert.Contains(error, _host.Run($"CLUSTER SLOTSTREAM {arguments}"), StringComparison.Ordinal);

    /// <summary>A node that has the slots has taken them over; one that has not gives them up.</summary>
    [Fact]
    public void TheOutcomeIsThatOfTheOwner()
    {
        Assert.Contains("TAKEN", _host.Run("CLUSTER SLOTSTREAM OUTCOME 1 0 3"), StringComparison.Ordinal);
        State.Assign(MovedSlot, _other);
        string id = _host.Run("CLUSTER MIGRATION IMPORT 0 0").Trim('"');
        Assert.Contains("NONE", _host.Run($"CLUSTER SLOTSTREAM OUTCOME {id} 0 0"), StringComparison.Ordinal);
        Assert.Contains("failed", _host.Run("CLUSTER MIGRATION STATUS ALL"), StringComparison.Ordinal);
    }

    /// <summary>Only replicas are told of slots that were taken over, until they know them or do not answer for too long.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void ReplicasAreToldFirst(bool answers)
    {
        var replica = new ClusterNode(NodeId.New(), NodeFlags.Replica, 0);
        State.Add(replica);
        ClusterState.Attach(replica, State.Myself);
        ClusterBus bus = Member.Bus;
        replica.Link = new BusLink(bus, replica, 0);
        _other.Link = new BusLink(bus, _other, 0);
        SlotAnnouncement announcement = Member.Migrations.Announcement;
        announcement.Begin(SetOf(MovedSlot));
        Assert.True(Tells(replica.Link));
        Assert.False(Tells(_other.Link));
        Assert.Contains("WAIT", _host.Run("CLUSTER SLOTSTREAM OUTCOME 1 0 3"), StringComparison.Ordinal);
        if (answers)
        {
            announcement.NoteKnown(replica, new byte[SlotSet.Length]);
            Assert.False(Tells(_other.Link));
            announcement.NoteKnown(replica, State.Myself.Slots.Bytes);
        }
        else
        {
            announcement.Tend();
            Assert.False(Tells(_other.Link));
            replica.Flags |= NodeFlags.PossiblyFailed;
            announcement.Tend();
        }
        Assert.True(Tells(_other.Link));
        Assert.Contains("TAKEN", _host.Run("CLUSTER SLOTSTREAM OUTCOME 1 0 3"), StringComparison.Ordinal);

        bool Tells(BusLink link) => SlotSet.Contains(bus.Messages.Ping(MessageType.Ping, link).AsSpan(MessageLayout.Slots), MovedSlot);
    }

    [Fact]
    public void KeysOfSlotsOfOtherNodesAreHidden()
    {
        Assert.Contains("OK", _host.Run($"SET {KeptKey} 1"), StringComparison.Ordinal);
        string digest = _host.Run("DEBUG DIGEST");
        Assert.Contains("OK", _host.Run($"SET {MovedKey} 1 EX 1"), StringComparison.Ordinal);
        Assert.NotEqual(digest, _host.Run("DEBUG DIGEST"));
        Assert.Contains("2", _host.Run("DBSIZE"), StringComparison.Ordinal);
        State.Assign(MovedSlot, _other);
        Publish();
        Assert.Contains("1", _host.Run("DBSIZE"), StringComparison.Ordinal);
        Assert.Equal(digest, _host.Run("DEBUG DIGEST"));
        Assert.DoesNotContain(MovedKey, _host.Run("KEYS *"), StringComparison.Ordinal);
        Assert.DoesNotContain(MovedKey, _host.Run("SCAN 0 COUNT 100"), StringComparison.Ordinal);
        for (int i = 0; i < 20; i++) Assert.DoesNotContain(MovedKey, _host.Run("RANDOMKEY"), StringComparison.Ordinal);
        Assert.Contains("0", _host.Run("CLUSTER COUNTKEYSINSLOT 0"), StringComparison.Ordinal);
        Assert.DoesNotContain(MovedKey, _host.Run("CLUSTER GETKEYSINSLOT 0 10"), StringComparison.Ordinal);
        Assert.Contains("keys=1,", _host.Run("INFO keyspace"), StringComparison.Ordinal);
        // An operator who imports the slot by hand sees its keys.
        State.Importing[MovedSlot] = _other;
        Publish();
        Assert.Contains(MovedKey, _host.Run("KEYS *"), StringComparison.Ordinal);
    }

    /// <summary>Keys that another node serves are not evicted. A sample of nothing else does not end the eviction.</summary>
    [Fact]
    public void KeysBesideManyKeysOfOtherNodesAreEvicted()
    {
        const int foreign = 60, own = 20;
        Shard shard = ShardOf(MovedKey);
        for (int i = 0; i < foreign; i++) _host.Run($"SET {{06S}}{i} 1");
        for (int i = 0, set = 0; set < own; i++)
        {
            if (ShardOf($"own:{i}") != shard) continue;
            _host.Run($"SET own:{i} 1");
            set++;
        }
        State.Assign(MovedSlot, _other);
        Publish();
        (_host.Core.Config.MaxMemoryPolicy, _host.Core.Config.MaxMemorySetting) = (MaxMemoryPolicy.AllKeysRandom, 1);
        _host.Core.Config.MaxMemoryEvictionTenacity = 100;
        for (int i = 0; i < 5; i++) _host.Core.Eviction.MakeRoom(_host.Core.Shards.All, _host.Core.Lanes.Current, _host.Now);
        _host.Core.Config.MaxMemorySetting = 0;
        Assert.Equal("0", _host.Run("DBSIZE"));
        State.Assign(MovedSlot, State.Myself);
        Publish();
        Assert.Equal($"{foreign}", _host.Run("DBSIZE"));
    }

    /// <summary>No command on the slots runs while another node may have taken them over.</summary>
    [Fact]
    public void UnsettledSlotsAreNotServed()
    {
        State.Unsettle(SetOf(MovedSlot));
        Publish();
        Assert.Contains("CLUSTERDOWN Hash slot not served", _host.Run($"GET {MovedKey}"), StringComparison.Ordinal);
        Assert.Contains("OK", _host.Run($"SET {KeptKey} 1"), StringComparison.Ordinal);
        State.Unsettle(null);
        Publish();
        Assert.Contains("OK", _host.Run($"SET {MovedKey} 1"), StringComparison.Ordinal);
    }

    /// <summary>
    /// Keys that an earlier ownership has left are older than those of the present owner. They are removed before the slot comes back by any
    /// way, and not only in the background.
    /// </summary>
    [Theory]
    [InlineData("SETSLOT 0 IMPORTING NODE")]
    [InlineData("SETSLOT 0 NODE MYSELF")]
    [InlineData("ADDSLOTS 0")]
    [InlineData("ADDSLOTSRANGE 0 0")]
    public void OldKeysAreRemovedBeforeASlotComesBack(string command)
    {
        LeaveOldKeys(count: 300);
        if (command.StartsWith('A')) State.Unassign(MovedSlot);
        Assert.Equal("OK", Cluster(command));
        Publish();
        Assert.Equal("1", _host.Run("DBSIZE"));
        Assert.DoesNotContain("06S", _host.Run("KEYS *"), StringComparison.Ordinal);
        // What an operator moves here from now on is the only copy.
        Assert.False(State.Removable.Contains(MovedSlot));
        Assert.False(Member.Drop.HasLeft(MovedSlot));
    }

    /// <summary>Keys that may be the only ones stay: an interrupted move by redis-cli has left them.</summary>
    [Fact]
    public void OtherKeysStayWhenASlotComesBack()
    {
        LeaveOldKeys(count: 3);
        State.Removable.Clear();
        Assert.Equal("OK", Cluster("SETSLOT 0 IMPORTING NODE"));
        Publish();
        Assert.Equal("4", _host.Run("DBSIZE"));
    }

    /// <summary>The removed keys are effects of their own, and a transaction is one unit.</summary>
    [Fact]
    public void ATransactionDoesNotTakeASlotWithOldKeys()
    {
        LeaveOldKeys(count: 3);
        _host.InTransaction = true;
        Assert.Contains("ERR Old keys of hash slot 0 are being removed", Cluster("SETSLOT 0 IMPORTING NODE"), StringComparison.Ordinal);
        Assert.Null(State.Importing[MovedSlot]);
    }

    [Fact]
    public void ASlotThatIsBeingImportedIsNotSetToImporting()
    {
        State.Assign(MovedSlot, _other);
        _host.Core.Role.Connector = new ScriptedPeer("SLOTSTREAM", "$100\r\n"u8.ToArray());
        (_other.Ip, _other.Port) = ("127.0.0.1", 1);
        string id = _host.Run("CLUSTER MIGRATION IMPORT 0 0").Trim('"');
        FollowingHost.Until(() => Member.Migrations.IsFilling(MovedSlot));
        foreach (string command in new[] { "SETSLOT 0 IMPORTING NODE", "SETSLOT 0 NODE MYSELF" })
            Assert.Contains("ERR Hash slot 0 is being imported", Cluster(command), StringComparison.Ordinal);
        Assert.Contains("1", _host.Run($"CLUSTER MIGRATION CANCEL ID {id}"), StringComparison.Ordinal);
        Assert.Equal("OK", Cluster("SETSLOT 0 IMPORTING NODE"));
    }

    /// <summary>The slot has moved to the other node, and the background has not removed its keys yet.</summary>
    private void LeaveOldKeys(int count)
    {
        _host.Run($"SET {KeptKey} 1");
        for (int i = 0; i < count; i++) _host.Run($"SET {{06S}}{i} 1");
        State.Assign(MovedSlot, _other);
        State.Removable.Add(MovedSlot);
        Publish();
    }

    private string Cluster(string command) =>
        _host.Run($"CLUSTER {command.Replace("NODE MYSELF", $"NODE {State.Myself.Name}").Replace("IMPORTING NODE", $"IMPORTING {_other.Name}")}").Trim('"');

    /// <summary>
    /// A replica that replaces a primary which has just lost a slot must not keep the old keys. The primary itself tells what it removes as
    /// soon as it knows of the loss.
    /// </summary>
    [Fact]
    public void AReplicaNotesTheSlotsThatItsPrimaryHasLost()
    {
        ClusterNode myself = State.Myself, primary = new(NodeId.New(), NodeFlags.Primary, 0) { ConfigEpoch = 1 };
        State.Add(primary);
        State.MoveAll(myself, primary);
        State.MakeMyselfReplicaOf(primary);
        ToldSlots removable = State.RemovableOfPrimary;
        var link = new BusLink(Member.Bus, primary, 0);
        removable.Begin(link, primary.Slots.Bytes);
        Lose();
        Assert.True(removable.Contains(MovedSlot));
        Assert.False(removable.Contains(MovedSlot + 1));
        // A message that the primary has sent before it knew of the loss.
        removable.Begin(link, AllSlots().Bytes);
        Assert.True(removable.Contains(MovedSlot));
        removable.Begin(link, primary.Slots.Bytes);
        Assert.False(removable.Contains(MovedSlot));

        // The primary knew of the loss before this node: its own word counts.
        State.Assign(MovedSlot, primary);
        State.NotClaimed.Add(MovedSlot);
        Lose();
        Assert.False(removable.Contains(MovedSlot));

        // The primary has the slot again.
        removable.NoteLost(MovedSlot);
        State.Assign(MovedSlot, primary);
        Assert.False(removable.Contains(MovedSlot));

        void Lose() => Member.Claims.Take(_other, epoch: 2, SetOf(MovedSlot).Bytes);
    }

    private static SlotSet AllSlots()
    {
        var slots = new SlotSet();
        for (int slot = 0; slot < KeySlot.Count; slot++) slots.Add(slot);
        return slots;
    }

    [Fact]
    public void TheStreamHasTheWritesOfItsSlotsOnly()
    {
        var feed = new SlotFeed(_host.Core, SetOf(MovedSlot));
        feed.Stream.Open();
        Append(feed, ["SET", KeptKey, "1"]);
        Assert.Equal(0, feed.Stream.Offset);
        Append(feed, ["SET", MovedKey, "1"]);
        long one = feed.Stream.Offset;
        Assert.True(one > 0);
        Append(feed, ["SET", MovedKey, "1"], ["SET", KeptKey, "1"], ["SET", OtherKey, "1"], ["PUBLISH", MovedKey, "1"]);
        Assert.Equal(3 * one, feed.Stream.Offset);
        Assert.Null(feed.Failure);
    }

    [Fact]
    public void AStreamThatWouldLackSomethingFails()
    {
        foreach (string[] effect in new string[][] { ["FLUSHALL"], ["DEL", MovedKey, KeptKey] })
        {
            var feed = new SlotFeed(_host.Core, SetOf(MovedSlot));
            feed.Stream.Open();
            Append(feed, effect);
            Assert.NotNull(feed.Failure);
        }
    }

    private static void Append(IEffectSink feed, params string[][] commands)
    {
        var unit = new EffectBuffer();
        foreach (string[] words in commands)
        {
            unit.Begin(database: 0, words.Length);
            foreach (string word in words) unit.Add(Encoding.ASCII.GetBytes(word));
        }
        feed.Append(unit);
    }

    private static SlotSet SetOf(int slot)
    {
        var slots = new SlotSet();
        slots.Add(slot);
        return slots;
    }

    private Shard ShardOf(string key) => _host.Core.Shards.Of(_host.Core.Shards.HashOf(Encoding.ASCII.GetBytes(key)));

    private void Publish() => Member.Served.Update(State, mayGain: true);
}
