namespace RedisClone.Server.Tests.Commands;

/// <summary>Frequent commands allocate nothing on the managed heap.</summary>
public sealed class AllocationTests
{
    private const int Rounds = 2000;
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("SET key:1 value-of-some-length", "GET key:1")]
    [InlineData("SET key:1 12345", "GET key:1")]
    [InlineData("SET key:1 v EX 100", "GETEX key:1 PX 5000")]
    [InlineData("INCR n", "INCRBY n 5")]
    [InlineData("INCRBYFLOAT f 0.5", "INCREX n BYINT 1 UBOUND 9000000 EX 10 ENX")]
    [InlineData("MSET a 1 b 2 c 3", "MGET a b c d")]
    [InlineData("SETBIT bits 1000 1", "BITCOUNT bits 0 100 BIT")]
    [InlineData("BITFIELD fields INCRBY u8 100 3 GET i5 3", "BITPOS bits 1")]
    [InlineData("SETRANGE key:2 5 abc", "GETRANGE key:2 0 4")]
    [InlineData("PFADD hll a b c", "PFCOUNT hll")]
    [InlineData("SET key:1 v IFNE w", "DIGEST key:1")]
    [InlineData("HSET h f v g 2", "HGET h f")]
    [InlineData("HINCRBY h n 1", "HGETALL h")]
    [InlineData("SADD s a 1 b", "SMEMBERS s")]
    [InlineData("SISMEMBER s a", "SINTER s t")]
    [InlineData("ZADD z 1 a 2.5 b", "ZRANGE z 0 -1 WITHSCORES")]
    [InlineData("ZINCRBY z 1 a", "ZRANGEBYSCORE z -inf +inf")]
    [InlineData("GEOADD g 13.3 38.1 a", "GEOSEARCH g FROMLONLAT 13 38 BYRADIUS 500 km ASC WITHDIST")]
    public void SteadyStateAllocatesNothing(string first, string second)
    {
        CommandHost.Prepared[] commands = [new(first.Split(' ')), new(second.Split(' '))];
        Run(commands);
        // The runtime may recompile a method during one attempt, but not during all attempts.
        long least = long.MaxValue;
        for (int attempt = 0; attempt < 10 && least > 0; attempt++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            Run(commands);
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        Assert.Equal(0, least);
    }

    private void Run(CommandHost.Prepared[] commands)
    {
        for (int i = 0; i < Rounds; i++)
        {
            foreach (CommandHost.Prepared command in commands) _host.Execute(command);
            _host.Forget();
        }
    }
}
