using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Durability;

/// <summary>A disk that is slower than the writes of clients. The clients wait for the disk, and memory does not grow.</summary>
public sealed class SlowDiskTests : IDisposable
{
    private const int Size = 1 << 20, Writes = 100;

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-slow-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task What_waits_to_be_written_is_bounded_and_readers_do_not_wait()
    {
        var disk = new WatchedDisk { FlushTime = TimeSpan.FromMilliseconds(500) };
        await using RunningServer server = await RunningServer.StartAsync(new ServerConfig(), TransportKind.Auto, config =>
        {
            config.Dir = _folder;
            config.AppendOnly = true;
            config.AppendFsync = AppendFsync.Everysec;
        }, disk);
        string value = new('x', Size);
        Task[] writers = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            using TestClient client = server.Connect();
            for (int i = 0; i < Writes / 4; i++) client.Send("SET", "k", value);
            for (int i = 0; i < Writes / 4; i++) Assert.Equal("OK", client.Read());
        }))];
        using TestClient reader = server.Connect();
        long most = 0;
        while (!Task.WhenAll(writers).IsCompleted)
        {
            most = Math.Max(most, server.Core.Journal!.Engine.BytesPending);
            Assert.Equal("PONG", reader.Run("PING"));
            await Task.Delay(5);
        }
        await Task.WhenAll(writers);
        Assert.InRange(most, 0, Limits.JournalBacklog + 16 * Size);
    }
}
