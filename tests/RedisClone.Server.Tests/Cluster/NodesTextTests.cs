using RedisClone.Engine.Cluster.State;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>nodes.conf: the form of redis-server, and files that are damaged.</summary>
public sealed class NodesTextTests
{
    private const string A = "a392f02942cee8b86498cb4be6b84678ca5decec", B = "cca2cbf0c6eb107ec129233052ea289ca24334cd";
    private const string C = "f0b01fbcbf2a6a80137fbc2bf9e5ceaba396615e", Shard = "46232594ca072fdb7da1eb16afc68b7b752aa199";

    private const string Text =
        $"{A} 127.0.0.1:23001@33001,one.example,nodename=one,shard-id={Shard} myself,master - 0 0 5 connected 0-99 101 [7->-{C}] [200-<-{C}]\n" +
        $"{B} 127.0.0.1:23002@33002 slave {A} 0 1795448671000 5 connected\n" +
        $"{C} 127.0.0.1:23003@33003, master,fail? - 1795448671001 1795448671000 3 disconnected 102-16383\n" +
        "vars currentEpoch 9 lastVoteEpoch 8 removable-slots 300-301,400-400\n";

    [Fact]
    public void AFileOfRedisIsRead()
    {
        ClusterState state = NodesText.Parse(Text, tls: false, now: 1000);
        ClusterNode myself = state.Myself, replica = state.Find(B)!, other = state.Find(C)!;
        Assert.Equal((A, "127.0.0.1", 23001, 33001, "one.example", "one", Shard),
            (myself.Name, myself.Ip, myself.Port, myself.BusPort, myself.HostName, myself.HumanName, myself.ShardId));
        Assert.Equal((9ul, 8ul, 5ul), (state.CurrentEpoch, state.LastVoteEpoch, myself.ConfigEpoch));
        Assert.Equal([(0, 99), (101, 101)], myself.Slots.Ranges());
        Assert.Equal([(300, 301), (400, 400)], state.Removable.Ranges());
        Assert.Equal((other, other), (state.Migrating[7], state.Importing[200]));
        Assert.Same(myself, replica.Primary);
        Assert.Equal(Shard, replica.ShardId);
        Assert.True(other.Has(NodeFlags.PossiblyFailed));
        Assert.Null(state.OwnerOf(100));
    }

    [Fact]
    public void WhatIsWrittenIsReadAgain()
    {
        ClusterState state = NodesText.Parse(Text, tls: false, now: 1000);
        string written = NodesText.Format(state, tls: false);
        Assert.Equal(written, NodesText.Format(NodesText.Parse(written, tls: false, now: 1000), tls: false));
    }

    /// <summary>A file that is cut anywhere is refused with a line and a reason, unless the cut leaves a whole file.</summary>
    [Fact]
    public void ACutFileIsRefused()
    {
        string whole = NodesText.Format(NodesText.Parse(Text, tls: false, now: 1000), tls: false);
        for (int length = 1; length < whole.Length; length++)
        {
            string cut = whole[..length];
            InvalidDataException damage = Assert.Throws<InvalidDataException>(() => NodesText.Parse(cut, tls: false, now: 0));
            Assert.Matches("^line [0-9]+: .+", damage.Message);
        }
    }

    [Theory]
    [InlineData("master - 0 0 5", "master - 0 0 x", "line 1: 'x' is no number")]
    [InlineData("myself,master", "myself,boss", "line 1: unknown flags 'myself,boss'")]
    [InlineData("myself,", "", "line 1: '[7->-" + C + "]' is no open slot")]
    [InlineData("0-99", "99-0", "line 1: '99-0' is no range of slots")]
    [InlineData("0-99", "0-16384", "line 1: '16384' is no slot")]
    [InlineData("102-16383", "101-16383", "line 3: slot 101 has two owners")]
    [InlineData("vars", "  \nvars", "line 4: the line has only spaces")]
    [InlineData("400-400", "400-300", "line 4: '400-300' is no range of slots")]
    [InlineData("shard-id=" + Shard, "shard-id=x", "line 1: unknown or invalid field 'shard-id=x'")]
    [InlineData("slave " + A, "slave " + B, "line 2: a node is its own master")]
    [InlineData("vars currentEpoch 9", "vars currentEpoch", "line 4: a variable has no value")]
    [InlineData("127.0.0.1:23002@33002", "127.0.0.1", "line 2: '127.0.0.1' is no address")]
    public void ADamagedFieldIsNamed(string field, string damaged, string message)
    {
        string text = Text.Replace(field, damaged, StringComparison.Ordinal);
        Assert.Equal(message, Assert.Throws<InvalidDataException>(() => NodesText.Parse(text, tls: false, now: 0)).Message);
    }
}
