using System.Text;
using RedisClone.Configuration;
using RedisClone.Journal.Disk;
using RedisClone.Server.Tests.Clients;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Net;

/// <summary>
/// Clients do not notice that their connections move between event loops: replies and messages keep their order, and none is lost.
/// </summary>
public sealed class MovedConnectionTests(ITestOutputHelper output) : IDisposable
{
    private const int Clients = 6, Rounds = 150;
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-moved-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task RepliesAndMessagesKeepTheirOrder(bool waitsForTheDisk)
    {
        int seed = Seed.Random(output).Next();
        await using RunningServer server = await RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop, config =>
        {
            (config.Dir, config.AppendOnly, config.AppendFsync) = (_folder, waitsForTheDisk, AppendFsync.Always);
            config.IoLoops = 3;
        }, RealDisk.Instance);
        Task[] work =
        [
            .. Enumerable.Range(0, Clients).Select(i => OwnThread.Run(() => Count(server, $"counter:{i}", new Random(seed + i)))),
            .. Enumerable.Range(0, Clients).Select(i => OwnThread.Run(() => PassOn(server, i))),
            .. Enumerable.Range(0, Clients).Select(i => OwnThread.Run(() => Publish(server, $"channel:{i}"))),
            OwnThread.Run(() => RunScripts(server)),
        ];
        var random = new Random(seed);
        while (!work.All(static task => task.IsCompleted))
        {
            server.Shuffle(random);
            await Task.Delay(random.Next(3));
        }
        await Task.WhenAll(work);
        Assert.True(server.Core.Loops().Sum(static loop => loop.Moved) > Clients, "no connection has moved");
        // A loop counts bytes as sent after the client may have them.
        Assert.True(SpinWait.SpinUntil(() => server.Core.Loops().Sum(static loop => loop.UnsentBytes) == 0, TimeSpan.FromMinutes(1)), "unsent bytes are left");
    }

    /// <summary>Pipelines of one command and of many, cut at random places.</summary>
    private static void Count(RunningServer server, string key, Random random)
    {
        using TestClient client = server.Connect();
        int sent = 0, received = 0;
        for (int round = 0; round < Rounds; round++)
        {
            var batch = new StringBuilder();
            for (int n = random.Next(1, random.Next(2, 80)); n > 0; n--, sent++) batch.Append($"*2\r\n$4\r\nINCR\r\n${key.Length}\r\n{key}\r\n");
            int cut = random.Next(batch.Length);
            client.SendRaw(batch.ToString(0, cut));
            if (random.Next(3) == 0) Thread.Sleep(1);
            client.SendRaw(batch.ToString(cut, batch.Length - cut));
            for (; received < sent; received++) Assert.Equal($"{received + 1}", client.Read());
        }
    }

    /// <summary>Each client waits for a number, and passes the next one on to a client that waits.</summary>
    private static void PassOn(RunningServer server, int i)
    {
        using TestClient client = server.Connect();
        if (i == 0) client.Run("RPUSH queue:0 0");
        for (int round = 0; round < Rounds; round++)
        {
            int number = round * Clients + i;
            Assert.Equal($"[queue:{i} {number}]", client.Run($"BLPOP queue:{i} 60"));
            client.Run($"RPUSH queue:{(i + 1) % Clients} {number + 1}");
        }
    }

    /// <summary>A subscriber gets all messages in order, its own replies between them.</summary>
    private static void Publish(RunningServer server, string channel)
    {
        using TestClient subscriber = server.Connect(), publisher = server.Connect();
        subscriber.Run($"SUBSCRIBE {channel}");
        for (int round = 0, expected = 0; round < Rounds; round++)
        {
            if (round % 4 == 0) subscriber.Send("PING");
            for (int n = 0; n < 5; n++) publisher.Send("PUBLISH", channel, $"{round * 5 + n}");
            for (int n = 0; n < 5; n++) Assert.Equal("1", publisher.Read());
            for (int pongs = round % 4 == 0 ? 1 : 0, end = expected + 5; expected < end || pongs > 0;)
            {
                string message = subscriber.Read();
                if (message == "[pong ]") pongs--;
                else Assert.Equal($"[message {channel} {expected++}]", message);
            }
        }
    }

    /// <summary>A script of some milliseconds hands its event loop over; a transaction and a command on a worker end elsewhere too.</summary>
    private static void RunScripts(RunningServer server)
    {
        using TestClient client = server.Connect();
        for (int round = 1; round <= 30; round++)
        {
            client.Send("EVAL", "local n = 0 for i = 1, 100000 do n = n + i end return redis.call('INCR', KEYS[1])", "1", "scripts");
            client.Send("MULTI");
            client.Send("INCR", "transactions");
            client.Send("KEYS", "scripts");
            client.Send("EXEC");
            Assert.Equal([$"{round}", "OK", "QUEUED", "QUEUED", $"[{round} [scripts]]"], Enumerable.Range(0, 5).Select(_ => client.Read()));
        }
    }
}
