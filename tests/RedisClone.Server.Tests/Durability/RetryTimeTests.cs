using RedisClone.Engine.Durability;

namespace RedisClone.Server.Tests.Durability;

public sealed class RetryTimeTests
{
    [Fact]
    public void TheDelayDoublesUpToTheLongest()
    {
        var retry = new RetryTime(5, 60);
        Assert.True(retry.HasCome(0));
        foreach (int delay in (int[])[5, 10, 20, 40, 60, 60])
        {
            retry.Failed(1000, isRequested: false);
            Assert.False(retry.HasCome(1000 + delay - 1));
            Assert.True(retry.HasCome(1000 + delay));
        }
        retry.Succeeded();
        Assert.True(retry.HasCome(0));
        retry.Failed(0, isRequested: false);
        Assert.True(retry.HasCome(5));
    }

    [Fact]
    public void AClockThatIsSetBackDelaysNothing()
    {
        var retry = new RetryTime(5, 60);
        retry.Failed(1000, isRequested: false);
        Assert.True(retry.HasCome(900));
    }

    [Fact]
    public void FailuresThatClientsCauseDoNotDoubleTheDelay()
    {
        var retry = new RetryTime(5, 60);
        retry.Failed(0, isRequested: false);
        retry.Failed(0, isRequested: false);
        for (int i = 0; i < 100; i++) retry.Failed(0, isRequested: true);
        Assert.True(retry.HasCome(10));
    }
}
