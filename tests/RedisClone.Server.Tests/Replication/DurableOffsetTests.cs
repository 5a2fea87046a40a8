using RedisClone.Engine.Replication.Following;

namespace RedisClone.Server.Tests.Replication;

public sealed class DurableOffsetTests
{
    [Fact]
    public void TheOffsetFollowsTheJournal()
    {
        var offset = new DurableOffset();
        Assert.Equal(0, offset.At(100));
        offset.Note(100, 1000);
        offset.Note(100, 1014);
        offset.Note(107, 1500);
        Assert.Equal(0, offset.At(99));
        Assert.Equal(1014, offset.At(106));
        Assert.Equal(1500, offset.At(200));
        Assert.Equal(1500, offset.At(-1));
    }

    /// <summary>With a slow disk, steps are merged: the offset is never ahead of the journal.</summary>
    [Fact]
    public void ManyStepsAreMerged()
    {
        var offset = new DurableOffset();
        for (int i = 1; i <= 10_000; i++) offset.Note(i, i * 10);
        for (int lsn = 0; lsn <= 10_000; lsn += 7) Assert.True(offset.At(lsn) <= lsn * 10);
        Assert.Equal(100_000, offset.At(10_000));
    }
}
