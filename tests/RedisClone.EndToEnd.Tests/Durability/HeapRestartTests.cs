using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Hostile;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// A small heap that stays full: clients write, grow and delete values of all types, and the server is killed while they do. Each time it
/// starts again in the same heap, with every write that was acknowledged.
/// </summary>
public sealed class HeapRestartTests
{
    private const int Clients = 3;
    private const string Durable = "--save '' --appendonly yes --appendfsync always --auto-aof-rewrite-min-size 64mb";

    [Theory]
    [InlineData("0x6000000", 1_000_000)]
    [InlineData("0x6000000", 300_000)]
    [InlineData("0x8000000", 1_000_000)]
    public void AKilledServerStartsInTheSameHeap(string limit, int longest)
    {
        string data = Directory.CreateTempSubdirectory("redisclone-heap-").FullName;
        try
        {
            var random = Seed.Random($"heap {limit} {longest}");
            var acknowledged = new long[Clients];
            for (int kill = LongRun.Times(2, 100); kill > 0; kill--)
            {
                using ShellServer server = Start(limit, data);
                // It is killed while clients write, and sometimes while no client does.
                using var ended = new CancellationTokenSource(random.Next(1000, 4000));
                var writers = new Thread[Clients];
                for (int i = 0; i < Clients; i++)
                {
                    var writer = new Writer(server.Port, i, new Random(random.Next()), longest, ended.Token);
                    (int client, bool isQuiet) = (i, random.Next(2) == 0);
                    writers[i] = new Thread(() => acknowledged[client] = Math.Max(acknowledged[client], writer.Run(isQuiet)));
                    writers[i].Start();
                }
                ended.Token.WaitHandle.WaitOne();
                server.Kill();
                foreach (Thread writer in writers) writer.Join();
                using ShellServer again = Start(limit, data);
                using RespClient reader = again.Connect();
                for (int i = 0; i < Clients; i++)
                {
                    long stored = long.Parse(reader.Call("GET", $"count:{i}").Text ?? "0");
                    Assert.True(stored >= acknowledged[i], $"{Seed.Note}: client {i} has {stored}, and {acknowledged[i]} was acknowledged");
                }
            }
        }
        finally
        {
            Directory.Delete(data, recursive: true);
        }
    }

    private static ShellServer Start(string limit, string data)
    {
        var server = new ShellServer($"export DOTNET_GCHeapHardLimit={limit}; exec SERVER > log", Durable, $"--dir '{data}'");
        server.Connect().Dispose();
        return server;
    }

    /// <summary>A client that writes until the server is killed, or until shortly before that.</summary>
    private sealed class Writer(int port, int number, Random random, int longest, CancellationToken ended)
    {
        private readonly string _text = new('v', longest);
        private long _acknowledged;

        /// <summary>Returns the last acknowledged value of the client's counter.</summary>
        public long Run(bool isQuiet)
        {
            while (!ended.IsCancellationRequested)
            {
                try
                {
                    using var client = new RespClient(port);
                    while (!ended.IsCancellationRequested || !isQuiet) Write(client);
                }
                catch (Exception e) when (e is IOException or SocketException or EndOfStreamException or ObjectDisposedException)
                {
                    // The server was killed, or it disconnects a client that holds more than its part of the heap.
                }
            }
            return _acknowledged;
        }

        private void Write(RespClient client)
        {
            Reply count = client.Call("INCR", $"count:{number}");
            if (count.Type == ':') _acknowledged = count.Integer;
            string key = $"{random.Next(60)}", value = _text[..random.Next(1, random.Next(2) == 0 ? longest : 20_000)];
            string[] command = random.Next(12) switch
            {
                0 => ["SET", "string:" + key, value],
                1 => ["APPEND", "string:" + key, value],
                2 => ["SETRANGE", "string:" + key, $"{random.Next(longest)}", value],
                3 => ["RPUSH", "list:" + key, value, value[..(value.Length / 2)]],
                4 => ["LPOP", "list:" + key],
                5 => ["HSET", "hash:" + key, $"{random.Next(5)}", value],
                6 => ["XADD", "stream:" + key, "MAXLEN", "5", "*", "field", value],
                7 => ["ZADD", "zset:" + key, $"{random.Next(100)}", value],
                8 => ["BITOP", "NOT", "string:" + key, $"string:{random.Next(60)}"],
                9 => ["COPY", "list:" + key, $"list:{random.Next(60)}", "REPLACE"],
                _ => ["DEL", "string:" + key, $"list:{random.Next(60)}", "hash:" + key, "stream:" + key, "zset:" + key],
            };
            client.Call(command);
        }
    }
}
