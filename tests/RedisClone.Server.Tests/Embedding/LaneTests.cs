using RedisClone.Engine.Effects;
using RedisClone.Engine.Metrics;

namespace RedisClone.Server.Tests.Embedding;

public sealed class LaneTests
{
    [Fact]
    public void AThreadOfSeveralServersKeepsOneLaneInEach()
    {
        LaneSet first = new(1, new ErrorStatistics()), second = new(1, new ErrorStatistics());
        Lane lane = first.Current;
        for (int i = 0; i < 10; i++)
        {
            second.Current.Reads++;
            Assert.Same(lane, first.Current);
        }
        Assert.Equal(1, second.All.Length);
        Assert.Equal(10, second.Sum(of => of.Reads));
    }
}
