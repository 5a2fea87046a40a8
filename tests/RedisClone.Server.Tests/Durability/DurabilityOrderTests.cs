using System.Net.Sockets;
using RedisClone.Configuration;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// With <c>appendfsync always</c> no client learns of a write before the fsync that covers the write has returned: neither the
/// writer, nor readers, nor subscribers. With <c>no</c> the same holds for the write to the file. The disk knows which writes have
/// come so far. Every client checks all marks that it receives.
/// </summary>
public sealed class DurabilityOrderTests : IDisposable
{
    private const int Writes = 400;

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-order-").FullName;
    private readonly WatchedDisk _disk = new() { FlushTime = TimeSpan.FromMilliseconds(1), WriteTime = TimeSpan.FromMilliseconds(1) };
    private Func<string, bool> _isSafe = static _ => false;
    private readonly List<Thread> _threads = [];
    private volatile Exception? _failure;
    private volatile bool _ends;
    private int _lastMark;
    private int _seen;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData(TransportKind.Auto, true)]
    [InlineData(TransportKind.Sockets, true)]
    [InlineData(TransportKind.Auto, false)]
    [InlineData(TransportKind.Sockets, false)]
    public async Task NothingIsSeenBeforeItIsSafe(TransportKind transport, bool always)
    {
        _isSafe = always ? _disk.IsDurable : _disk.IsWritten;
        await using RunningServer server = await RunningServer.StartAsync(new ServerConfig(), transport, config =>
        {
            config.Dir = _folder;
            config.AppendOnly = true;
            config.AppendFsync = always ? AppendFsync.Always : AppendFsync.No;
            config.NotifyKeyspaceEvents = NotifyFlags.All | NotifyFlags.Keyevent | NotifyFlags.Keyspace;
        }, _disk);

        using TestClient listener = server.Connect();
        listener.Run("PSUBSCRIBE *");
        Random random = Seed.Random("reader");
        var watchers = new List<Thread> { Start(server, client => Look(client.Run($"GET key:{random.Next(8)}"))) };
        watchers.Add(Start(server, client => Look(client.Run("LRANGE list 0 2"))));
        watchers.Add(Start(server, client => Look(client.Run("BLPOP queue 1"))));
        watchers.Add(Start(server, client => Look(client.Run("EVAL return{redis.call('GET','key:1'),redis.call('GET','key:2')} 0"))));
        watchers.Add(Start(() =>
        {
            // The loop ends when the connection is closed.
            while (!_ends) Look(listener.Read());
        }));
        for (int writer = 0; writer < 3; writer++) _threads.Add(Start(server, Write, Writes));
        foreach (Thread thread in _threads) thread.Join();
        _ends = true;
        using (TestClient client = server.Connect()) client.Run("PUBLISH end end");
        foreach (Thread thread in watchers) thread.Join();
        if (_failure is not null) throw new InvalidOperationException($"{Seed.Note}: {_failure.Message}", _failure);
        Assert.True(_seen > Writes, $"{_seen} marks were seen");
    }

    /// <summary>
    /// Writes a mark in one of several ways. The writer learns of the mark at once, and in most cases other clients do, too.
    /// </summary>
    private void Write(TestClient client)
    {
        int number = Interlocked.Increment(ref _lastMark);
        Random random = Seed.Random(number);
        string mark = WatchedDisk.MarkOf(number), key = $"key:{random.Next(8)}";
        switch (random.Next(7))
        {
            case 0:
                client.Run($"SET {key} {mark}");
                break;
            case 1:
                client.Run($"LPUSH list {mark}");
                break;
            case 2:
                client.Run($"RPUSH queue {mark}");
                break;
            case 3:
                // The event contains the name of the key, so a subscriber of the event sees the mark.
                client.Run($"SET {mark} x");
                client.Run($"DEL {mark}");
                return;
            case 4:
                client.Run($"EVAL redis.call('SET',KEYS[1],ARGV[1])redis.call('PUBLISH','news',ARGV[1])return{{ARGV[1]}} 1 {key} {mark}");
                break;
            case 5:
                client.SendRaw(
                    TestClient.Encode("MULTI") + TestClient.Encode("SET", key, mark) +
                    TestClient.Encode("PUBLISH", "news", mark) + TestClient.Encode("EXEC"));
                for (int i = 0; i < 4; i++) client.Read();
                break;
            default:
                client.SendRaw(TestClient.Encode("SET", key, mark) + TestClient.Encode("GET", key) + TestClient.Encode("LRANGE", "list", "0", "0"));
                for (int i = 0; i < 3; i++) Look(client.Read());
                break;
        }
        Assert.True(_isSafe(mark), $"{mark} was acknowledged and is not safe");
        Interlocked.Increment(ref _seen);
    }

    private void Look(string reply)
    {
        foreach (string mark in WatchedDisk.MarksIn(reply))
        {
            Assert.True(_isSafe(mark), $"{mark} was shown and is not safe: {reply}");
            Interlocked.Increment(ref _seen);
        }
    }

    private Thread Start(RunningServer server, Action<TestClient> act, int times = int.MaxValue) => Start(() =>
    {
        using TestClient client = server.Connect();
        for (int i = 0; i < times && _failure is null && !_ends; i++) act(client);
    });

    private Thread Start(Action work)
    {
        var thread = new Thread(() =>
        {
            try
            {
                work();
            }
            catch (Exception e) when (e is not SocketException || !_ends)
            {
                _failure ??= e;
            }
        })
        { IsBackground = true };
        thread.Start();
        return thread;
    }
}
