using RedisClone.Engine;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.State;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>
/// A replica that has won an election takes over as soon as it holds all shards. If that is so late that its primary serves again, it
/// must not: it would lack the writes that the primary has confirmed since.
/// </summary>
public sealed class TakeoverTests
{
    private readonly CommandHost _host = new(static config => config.ClusterEnabled = true);
    private readonly ClusterNode _primary = new(NodeId.New(), NodeFlags.Primary, 0) { ConfigEpoch = 1 };

    public TakeoverTests()
    {
        State.Add(_primary);
        for (int slot = 0; slot < KeySlot.Count; slot++) State.Assign(slot, _primary);
        State.MakeMyselfReplicaOf(_primary);
    }

    private ClusterMember Member => _host.Core.Cluster!;

    private ClusterState State => Member.State;

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void AnElectionCountsWhileThePrimaryHasFailed(bool hasFailed)
    {
        _primary.Flags |= NodeFlags.Failed;
        Member.Takeover.Begin(isManual: false);
        if (!hasFailed) _primary.Flags &= ~NodeFlags.Failed;
        Finish();
        Assert.Equal(hasFailed, State.Myself.IsPrimary);
        Assert.Equal(hasFailed, State.OwnerOf(0) == State.Myself);
    }

    [Theory]
    [InlineData(0, true)]
    [InlineData(4600, false)]
    [InlineData(5001, false)]
    public void AManualFailoverCountsUntilItTimesOut(int age, bool takesOver)
    {
        Member.ManualFailover.Begin(ServerCore.UnixMilliseconds() - age, isForced: true);
        Member.Takeover.Begin(isManual: true);
        Member.ManualFailover.Tend(ServerCore.UnixMilliseconds());
        Assert.Equal(age <= 5000, Member.Takeover.IsPending);
        if (Member.Takeover.IsPending) Finish();
        Assert.Equal(takesOver, State.Myself.IsPrimary);
    }

    private void Finish()
    {
        lock (Member.Gate) Member.Takeover.Finish();
        Assert.False(Member.Takeover.IsPending);
    }
}
