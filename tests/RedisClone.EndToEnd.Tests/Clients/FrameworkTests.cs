using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Clients;

/// <summary>Application frameworks, which use scripts, blocking pops, sorted sets and messages together.</summary>
public sealed class FrameworkTests
{
    [Theory]
    [InlineData("node", "bullmq.mjs", "eventloop")]
    [InlineData("node", "bullmq.mjs", "sockets")]
    [InlineData("node", "ioredis-scripts.mjs", "eventloop")]
    [InlineData("node", "ioredis-scripts.mjs", "sockets")]
    [InlineData("ruby", "sidekiq.rb", "eventloop")]
    [InlineData("/usr/bin/python3", "celery_tour.py", "eventloop")]
    public async Task TheFrameworkWorks(string program, string script, string transport)
    {
        using ServerProcess server = ServerProcess.Ours("--transport", transport);
        using var client = new ClientProgram(program, script, $"{server.Port}");
        Assert.EndsWith("tour complete\n", await client.Finish(), StringComparison.Ordinal);
        server.AssertWell();
    }
}
