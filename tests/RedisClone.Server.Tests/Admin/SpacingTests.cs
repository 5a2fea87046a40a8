using RedisClone.Admin.Info;

namespace RedisClone.Server.Tests.Admin;

/// <summary>Work that is spaced by its own cost.</summary>
public sealed class SpacingTests
{
    [Fact]
    public void ThePauseHasALeastLength()
    {
        var spacing = new Spacing(least: TimeSpan.FromHours(1), mostOfTime: 1);
        Assert.True(spacing.IsDue);
        spacing.Begin().Dispose();
        Assert.False(spacing.IsDue);
    }

    [Fact]
    public void ThePauseGrowsWithTheCost()
    {
        // The work takes some time, and may take a billionth of the time.
        var rare = new Spacing(TimeSpan.Zero, mostOfTime: 1e-9);
        using (rare.Begin()) Thread.Sleep(10);
        Assert.False(rare.IsDue);
        var often = new Spacing(TimeSpan.Zero, mostOfTime: double.PositiveInfinity);
        using (often.Begin()) Thread.Sleep(10);
        Assert.True(often.IsDue);
    }
}
