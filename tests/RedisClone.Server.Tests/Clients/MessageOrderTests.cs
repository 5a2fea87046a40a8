using RedisClone.Configuration;
using RedisClone.Engine.Pubsub;
using RedisClone.Journal.Disk;

namespace RedisClone.Server.Tests.Clients;

/// <summary>
/// Clients publish from several event loops at once. All subscribers see the messages that they have in common in one order, and the messages
/// of a transaction or a script follow each other.
/// </summary>
public sealed class MessageOrderTests : IDisposable
{
    private const int Publishers = 6, Rounds = 200;
    private const string PublishTwice = "for i = 1, 2 do redis.call('PUBLISH', i == 1 and 'a' or 'b', ARGV[1] .. i) end";

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-order-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task SubscribersSeeOneOrder(bool journal)
    {
        await using RunningServer server = await RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop, config =>
        {
            (config.Dir, config.AppendOnly, config.AppendFsync) = (_folder, journal, AppendFsync.No);
            config.IoLoops = 4;
        }, RealDisk.Instance);
        string[] begins = ["SUBSCRIBE a b", "SUBSCRIBE b a", "PSUBSCRIBE [ab]", "SUBSCRIBE a", "SUBSCRIBE b"];
        Task<List<string>>[] seen = [.. begins.Select(begin => Listen(server, begin))];
        Assert.True(SpinWait.SpinUntil(() => Subscriptions(server) == 7, TimeSpan.FromSeconds(60)));
        await Task.WhenAll(Enumerable.Range(0, Publishers).Select(i => OwnThread.Run(() => Publish(server, i))));
        using TestClient last = server.Connect();
        last.Run("MULTI");
        last.Run("PUBLISH a end");
        last.Run("PUBLISH b end");
        last.Run("EXEC");
        List<string>[] messages = await Task.WhenAll(seen);
        Assert.Equal(Publishers * Rounds * 5, messages[0].Count);
        Assert.Equal(messages[0], messages[1]);
        Assert.Equal(messages[0], messages[2]);
        Assert.Equal(messages[0].Where(static text => text.StartsWith("a ", StringComparison.Ordinal)), messages[3]);
        Assert.Equal(messages[0].Where(static text => text.StartsWith("b ", StringComparison.Ordinal)), messages[4]);
        for (int i = 0; i < messages[0].Count; i++)
            if (messages[0][i].Split('-') is [['a', ..] first, "1"]) Assert.Equal($"b{first[1..]}-2", messages[0][i + 1]);
    }

    private static int Subscriptions(RunningServer server) =>
        server.Core.Hub[SubscriptionKind.Channel].All.Concat(server.Core.Hub[SubscriptionKind.Pattern].All).Sum(static entry => entry.Value.Length);

    /// <summary>Returns the messages up to the last as lines of channel and text.</summary>
    private static Task<List<string>> Listen(RunningServer server, string begin)
    {
        TestClient client = server.Connect();
        return OwnThread.Run(() =>
        {
            using (client)
            {
                var messages = new List<string>();
                client.Send(begin.Split(' '));
                for (int ends = begin.Split(' ') is [_, "a" or "b"] ? 1 : 2; ends > 0;)
                {
                    string[] words = client.Read().Trim('[', ']').Split(' ');
                    if (!words[0].EndsWith("message", StringComparison.Ordinal)) continue;
                    if (words[^1] == "end") ends--;
                    else messages.Add($"{words[^2]} {words[^1]}");
                }
                return messages;
            }
        });
    }

    private static void Publish(RunningServer server, int number)
    {
        using TestClient client = server.Connect();
        for (int round = 0; round < Rounds; round++)
        {
            string name = $"{number}.{round}";
            client.Send("PUBLISH", "a", $"{name}");
            client.Send("MULTI");
            client.Send("PUBLISH", "a", $"{name}m-1");
            client.Send("PUBLISH", "b", $"{name}m-2");
            client.Send("EXEC");
            client.Send("EVAL", PublishTwice, "0", $"{name}s-");
            for (int reply = 0; reply < 6; reply++) client.Read();
        }
    }
}
