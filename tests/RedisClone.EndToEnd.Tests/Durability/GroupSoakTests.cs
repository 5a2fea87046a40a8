using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>A consumer group loses no entry when its consumers and the server die.</summary>
public sealed class GroupSoakTests(ITestOutputHelper output) : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(10);

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-groups-").FullName;
    private readonly Random _random = Seed.Random("groups");

    [Fact]
    public void EveryEntryIsProcessedAfterDeathsOfConsumersAndServer()
    {
        var crowd = new GroupCrowd(_random);
        int lives = LongRun.Times(4, 100);
        try
        {
            for (int life = 0; life < lives; life++)
            {
                using ServerProcess server = Start();
                using RespClient client = server.Connect();
                if (life == 0) GroupCrowd.Prepare(client);
                Work(crowd, server, client);
            }
            string digest = Drain(crowd);
            using ServerProcess last = Start();
            using RespClient asking = last.Connect();
            Assert.Equal(digest, Digest(asking));
            crowd.CheckNothingIsLost();
        }
        catch (Exception e)
        {
            throw new InvalidOperationException($"{Seed.Note}: {e.Message}; {crowd.Summary}", e);
        }
        output.WriteLine(crowd.Summary);
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private ServerProcess Start() =>
        ServerProcess.Ours("--dir", _folder, "--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes");

    /// <summary>Lets the clients work for a while and then stops the server.</summary>
    private void Work(GroupCrowd crowd, ServerProcess server, RespClient client)
    {
        crowd.Start(server, produce: true);
        try
        {
            long enough = crowd.Processed + _random.Next(100, 600);
            Wait(crowd, () => crowd.Processed >= enough);
            if (_random.Next(3) == 0) client.Send("BGREWRITEAOF");
            Thread.Sleep(_random.Next(20));
        }
        finally
        {
            crowd.Finish();
            if (_random.Next(4) == 0)
            {
                client.Send("SHUTDOWN", "NOSAVE");
                client.ReadToClose();
            }
            server.Kill();
            crowd.Join();
        }
    }

    /// <summary>Runs consumers that no longer die until no entry is left. Returns the digest of the remaining data.</summary>
    private string Drain(GroupCrowd crowd)
    {
        using ServerProcess server = Start();
        using RespClient client = server.Connect();
        crowd.Start(server, produce: false);
        try
        {
            Wait(crowd, () => GroupCrowd.IsDone(client));
        }
        finally
        {
            crowd.Finish();
            crowd.Join();
        }
        server.AssertWell();
        return Digest(client);
    }

    private static string Digest(RespClient client) => client.Call("DEBUG", "DIGEST").Text!;

    private static void Wait(GroupCrowd crowd, Func<bool> isSo)
    {
        long start = Environment.TickCount64;
        while (!isSo())
        {
            crowd.ThrowIfFailed();
            if (Environment.TickCount64 - start > s_patience.TotalMilliseconds)
                throw new TimeoutException("the clients make no progress");
            Thread.Sleep(5);
        }
    }
}
