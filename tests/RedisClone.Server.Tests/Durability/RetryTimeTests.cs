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
            retry.Failed(1000, doubles: true);
            Assert.False(retry.HasCome(1000 + delay - 1));
            Assert.True(retry.HasCome(1000 + delay));
        }
        retry.Succeeded();
        Assert.True(retry.HasCome(0));
        retry.Failed(0, doubles: true);
        Assert.True(retry.HasCome(5));
    }

    [Fact]
    public void AClockThatIsSetBackDelaysNothing()
    {
        var retry = new RetryTime(5, 60);
        retry.Failed(1000, doubles: true);
        Assert.True(retry.HasCome(900));
    }

    [Fact]
    public void CheapFailuresDoNotDoubleTheDelay()
    {
        var retry = new RetryTime(5, 60);
        retry.Failed(0, doubles: true);
        retry.Failed(0, doubles: true);
        for (int i = 0; i < 100; i++) retry.Failed(0, doubles: false);
        Assert.True(retry.HasCome(10));
    }
}
