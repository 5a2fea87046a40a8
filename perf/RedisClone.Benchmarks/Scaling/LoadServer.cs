using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Shards;
using RedisClone.Server;
using RedisClone.Server.Net;

namespace RedisClone.Benchmarks.Scaling;

/// <summary>A server without sockets and background work, its data, and the threads that put load on it.</summary>
internal sealed class LoadServer
{
    private const int ClientsPerThread = 8;
    private readonly ServerCore _core;

    public LoadServer(Workload workload, int keys, int threads, string[] settings)
    {
        ConfigLoad load = ServerConfig.Load(settings, new Dictionary<string, string>());
        if (load.Config is null) throw new ArgumentException(load.Error, nameof(settings));
        _core = new ServerCore(load.Config, new ConfigTable(load.Config), new CommandTable(CommandFamilies.All), NullLogger<ServerCore>.Instance);
        var handler = new RedisConnectionHandler(_core);
        Run(handler, [.. Enumerable.Range(0, (keys + Workload.Pipeline - 1) / Workload.Pipeline).Select(i => Fill(i, keys))]);
        Threads = new LoadThread[threads];
        for (int i = 0; i < threads; i++)
        {
            (byte[][] batches, int[] replies) = workload.Batches(keys, seed: i + 1);
            Threads[i] = new LoadThread(handler, batches, replies, ClientsPerThread);
        }
    }

    public LoadThread[] Threads { get; }

    /// <summary>How often a thread found a shard busy and waited for it in place.</summary>
    public long ShortWaits => OfAllShards(static shard => shard.ShortWaits);

    /// <summary>How much work found its shard busy and waited in the mailbox of the shard.</summary>
    public long Waits => OfAllShards(static shard => shard.Waits);

    /// <summary>How many commands ran on a worker.</summary>
    public long Hops => _core.Lanes.Sum(static lane => lane.Hops);

    private long OfAllShards(Func<Shard, long> figure)
    {
        long sum = 0;
        for (int i = 0; i < _core.Shards.Count; i++) sum += figure(_core.Shards[i]);
        return sum;
    }

    private static byte[] Fill(int batch, int keys)
    {
        var text = new StringBuilder();
        for (int i = 0; i < Workload.Pipeline; i++) Workload.AppendSet(text, (batch * Workload.Pipeline + i) % keys);
        return Encoding.ASCII.GetBytes(text.ToString());
    }

    private static void Run(RedisConnectionHandler handler, byte[][] batches)
    {
        using var thread = new LoadThread(handler, batches, [.. batches.Select(_ => Workload.Pipeline * "+OK\r\n".Length)], clients: 1);
        thread.Start();
        while (thread.Batches < batches.Length) Thread.Sleep(10);
        thread.Stop();
        thread.Join();
    }
}
