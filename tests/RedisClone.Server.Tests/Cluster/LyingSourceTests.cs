using System.Globalization;
using System.Text;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Durability;
using RedisClone.Server.Tests.Commands;
using RedisClone.Server.Tests.Replication;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>A node that hands over slots sends writes of these slots. If it sends anything else, the import ends and leaves nothing.</summary>
public sealed class LyingSourceTests
{
    private const int MovedSlot = 0;
    private const string MovedKey = "{06S}1", OtherMovedKey = "{06S}2", KeptKey = "foo", End = "REPLCONF GETACK *";

    private readonly CommandHost _host = new(static config => (config.ClusterEnabled, config.EnableDebugCommand) = (true, Configuration.ProtectedAction.Yes));
    private readonly ClusterNode _other = new(NodeId.New(), NodeFlags.Primary, 0) { Ip = "127.0.0.1", Port = 1, BusPort = 2 };

    public LyingSourceTests()
    {
        State.Add(_other);
        State.IsOk = true;
        for (int slot = 0; slot < KeySlot.Count; slot++) State.Assign(slot, slot == MovedSlot ? _other : State.Myself);
        _host.Core.Cluster!.Served.Update(State, mayGain: true);
        _host.Run($"SET {KeptKey} mine");
    }

    private ClusterState State => _host.Core.Cluster!.State;

    /// <summary>The words are separated by blanks and the commands by semicolons.</summary>
    [Theory]
    [InlineData("FLUSHALL")]
    [InlineData("FLUSHDB")]
    [InlineData("SWAPDB 0 1")]
    [InlineData("DEL foo")]
    [InlineData("RENAME foo {06S}1")]
    [InlineData("SINTERSTORE {06S}1 foo foo")]
    [InlineData("MULTI;SET {06S}1 1;SET foo stolen;EXEC")]
    [InlineData("EVAL return(redis.call('set','foo','stolen')) 0")]
    [InlineData("EVAL return(1) 1 {06S}1")]
    [InlineData("SELECT 1;SET {06S}1 1")]
    [InlineData("SHUTDOWN NOSAVE")]
    [InlineData("CONFIG SET maxmemory 1")]
    [InlineData("ACL SETUSER default off")]
    [InlineData("CLUSTER RESET HARD")]
    [InlineData("CLUSTER DELSLOTSRANGE 1 8191")]
    [InlineData("FUNCTION FLUSH")]
    [InlineData("SCRIPT FLUSH")]
    [InlineData("PUBLISH {06S}1 1")]
    [InlineData("SPUBLISH {06S}1 1")]
    [InlineData("SUBSCRIBE {06S}1")]
    [InlineData("MONITOR")]
    [InlineData("GET {06S}1")]
    [InlineData("REPLICAOF 127.0.0.1 1")]
    [InlineData("DEBUG SET-ACTIVE-EXPIRE 0")]
    [InlineData("RESTORE {06S}1 0 garbage")]
    [InlineData("COPY {06S}1 {06S}2 DB 1")]
    [InlineData("MOVE {06S}1 1")]
    [InlineData("MIGRATE 127.0.0.1 1 {06S}1 0 10")]
    public void NothingButWritesOfTheSlotsIsApplied(string commands)
    {
        byte[] stream = ScriptedPeer.Commands([$"SET {MovedKey} 1", .. commands.Split(';'), End]);
        var peer = new ScriptedPeer("SLOTSTREAM", [.. Encoding.ASCII.GetBytes("$0\r\n"), .. stream]);
        string digest = _host.Run("DEBUG DIGEST");
        AwaitFailure(Import(peer));
        Until(() => RawKeys() == 1, "keys are left");
        Assert.Equal(digest, _host.Run("DEBUG DIGEST"));
        Assert.Contains("mine", _host.Run($"GET {KeptKey}"), StringComparison.Ordinal);
        Assert.Equal(_other, State.OwnerOf(MovedSlot));
    }

    /// <summary>The same holds for the snapshot, and an end within the snapshot is none.</summary>
    [Fact]
    public void TheSnapshotIsNotTrustedEither()
    {
        foreach (string[] lines in new string[][] { [$"SET {KeptKey} stolen"], [$"SET {MovedKey} 1", End] })
        {
            byte[] stream = ScriptedPeer.Commands(lines);
            string length = string.Create(CultureInfo.InvariantCulture, $"${stream.Length + 100}\r\n");
            AwaitFailure(Import(new ScriptedPeer("SLOTSTREAM", [.. Encoding.ASCII.GetBytes(length), .. stream])));
            Assert.Contains("mine", _host.Run($"GET {KeptKey}"), StringComparison.Ordinal);
            Until(() => RawKeys() == 1, "keys are left");
            Assert.Equal(_other, State.OwnerOf(MovedSlot));
            _host.Run("CLUSTER MIGRATION CANCEL ALL");
        }
    }

    [Fact]
    public void WritesOfTheSlotsAreApplied()
    {
        byte[] stream = ScriptedPeer.Commands(
            $"SET {MovedKey} 1", $"XGROUP CREATE {OtherMovedKey} group 0 MKSTREAM", "MULTI", $"INCR {MovedKey}", $"PEXPIREAT {MovedKey} 99999999999999", "EXEC",
            End);
        var peer = new ScriptedPeer("SLOTSTREAM", [.. Encoding.ASCII.GetBytes("$0\r\n"), .. stream]);
        string id = Import(peer);
        Until(() => Field(id).Contains("completed", StringComparison.Ordinal), "the import is not complete");
        Assert.Equal(State.Myself, State.OwnerOf(MovedSlot));
        Assert.Contains("2", _host.Run($"GET {MovedKey}"), StringComparison.Ordinal);
    }

    /// <summary>The source removes its keys after the takeover, so a node whose journal keeps nothing does not take slots over.</summary>
    [Fact]
    public void ANodeWhoseJournalHasNotBegunTakesNothing()
    {
        _host.Core.Config.AppendOnly = true;
        byte[] stream = [.. Encoding.ASCII.GetBytes("$0\r\n"), .. ScriptedPeer.Commands($"SET {MovedKey} 1", End)];
        string id = Import(new ScriptedPeer("SLOTSTREAM", stream));
        Until(() => Field(id).Contains(JournalRewrites.NotBegun, StringComparison.Ordinal), "the import does not fail");
        Assert.Equal(_other, State.OwnerOf(MovedSlot));
    }

    /// <summary>
    /// The destination has its epoch, which all nodes know, when the keys begin to arrive. At the switch it takes another one only if the
    /// source has a higher one now.
    /// </summary>
    [Fact]
    public void TheEpochIsTakenBeforeTheKeys()
    {
        byte[] snapshot = [.. Encoding.ASCII.GetBytes("$0\r\n"), .. ScriptedPeer.Commands($"SET {MovedKey} 1")];
        _other.ConfigEpoch = State.CurrentEpoch = 7;
        string id = Import(new ScriptedPeer("SLOTSTREAM", snapshot));
        Until(() => State.Myself.ConfigEpoch == 8, "the node takes no epoch");
        Assert.Equal(8UL, State.CurrentEpoch);
        Until(() => RawKeys() == 2, "the key does not arrive");
        _host.Run("CLUSTER MIGRATION CANCEL ALL");
        foreach (ulong epoch in new ulong[] { 7, 9 })
        {
            State.Assign(MovedSlot, _other);
            // The keys of a slot that was lost may be removed.
            State.Removable.Add(MovedSlot);
            if (epoch > 7) _other.ConfigEpoch = State.CurrentEpoch = epoch;
            id = Import(new ScriptedPeer("SLOTSTREAM", [.. snapshot, .. ScriptedPeer.Commands(End)]));
            Until(() => Field(id).Contains("completed", StringComparison.Ordinal), "the import is not complete");
            Assert.Equal(epoch + 1, State.Myself.ConfigEpoch);
        }
    }

    private string Import(ScriptedPeer peer)
    {
        _host.Core.Role.Connector = peer;
        return _host.Run("CLUSTER MIGRATION IMPORT 0 0").Trim('"');
    }

    private void AwaitFailure(string id) => Until(() => Field(id).Contains("failed", StringComparison.Ordinal), "the import does not fail");

    private string Field(string id) => _host.Run($"CLUSTER MIGRATION STATUS ID {id}");

    /// <summary>The keys that are stored, also those that clients do not see.</summary>
    private int RawKeys()
    {
        int count = 0;
        for (int i = 0; i < _host.Core.Shards.Count; i++)
            for (int database = 0; database < _host.Core.Config.Databases; database++)
                count += (int)(_host.Core.Shards[i].Store.ExistingDatabase(database)?.Count ?? 0);
        return count;
    }

    private static void Until(Func<bool> condition, string message) => Assert.True(SpinWait.SpinUntil(condition, TimeSpan.FromSeconds(30)), message);
}
