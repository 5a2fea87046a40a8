using RedisClone.Configuration;
using RedisClone.Engine.Shards;

namespace RedisClone.Server.Tests.Clients;

/// <summary>A command waits for a shard while something happens to its client.</summary>
public sealed class WaitingCommandTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(8)]
    public async Task ACommandOfAKilledClientDoesNotRun(int commands)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.Auto);
        using TestClient killed = server.Connect(), other = server.Connect();
        string id = killed.Run("CLIENT ID");
        await WithWaitingAsync(server, killed, commands, () => Assert.Equal("1", other.Run($"CLIENT KILL ID {id}")));
        Assert.Equal("OK", other.Run("SET x new"));
        await other.UntilAsync("CLIENT LIST", list => !list.Contains($"id={id} ", StringComparison.Ordinal));
        Assert.Equal("new", other.Run("GET x"));
    }

    [Fact]
    public async Task ACommandOfAClientThatLostItsRightsIsRefused()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.Auto);
        using TestClient client = server.Connect(), other = server.Connect();
        other.Run("ACL SETUSER ann on nopass ~* +@all");
        client.Run("AUTH ann any");
        await WithWaitingAsync(server, client, 2, () => Assert.Equal("OK", other.Run("ACL SETUSER ann -set")));
        Assert.StartsWith("NOPERM", client.Read(), StringComparison.Ordinal);
        Assert.StartsWith("NOPERM", client.Read(), StringComparison.Ordinal);
        Assert.Equal("2", other.Run("INFO stats").Split('\n').First(line => line.StartsWith("acl_access_denied_cmd", StringComparison.Ordinal)).Trim()[^1..]);
        Assert.Equal("PONG", client.Run("PING"));
    }

    /// <summary>Sends SET commands that wait for a shard, runs the action, and lets the shard go.</summary>
    private static async Task WithWaitingAsync(RunningServer server, TestClient client, int commands, Action action)
    {
        ShardMap shards = server.Core.Shards;
        for (int i = 0; i < shards.Count; i++)
            while (!shards[i].TryEnter()) await Task.Delay(1);
        try
        {
            client.SendRaw(string.Concat(Enumerable.Repeat(TestClient.Encode("SET", "x", "ghost"), commands)));
            // Time for the command to begin its wait. If it has not, the action precedes it, and it must not run either.
            await Task.Delay(100);
            action();
        }
        finally
        {
            for (int i = 0; i < shards.Count; i++) shards[i].Exit();
        }
    }
}
