using System.Collections.Concurrent;
using BenchmarkDotNet.Attributes;
using RedisClone.Engine.Commands.Streams;
using RedisClone.Engine.Shards;

namespace RedisClone.Benchmarks;

/// <summary>
/// Measures the cost of access to a shard. The server enters the shard on the thread of the request. The alternatives are a
/// plain lock, and a design with one thread for each shard, to which every request is passed.
/// </summary>
[MemoryDiagnoser]
public class HopOrInline
{
    private const int Operations = 1000;
    private readonly Engine _engine = new();
    private readonly Lock _lock = new();
    private readonly ShardMap _shards;
    private long _counter;

    public HopOrInline() => _shards = _engine.Server.Shards;

    [Benchmark(Baseline = true, OperationsPerInvoke = Operations)]
    public long Inline()
    {
        for (int i = 0; i < Operations; i++)
        {
            Shard shard = _shards[i & 15];
            if (!shard.TryEnter()) continue;
            _counter++;
            shard.Exit();
        }
        return _counter;
    }

    [Benchmark(OperationsPerInvoke = Operations)]
    public long PlainLock()
    {
        for (int i = 0; i < Operations; i++)
            lock (_lock) _counter++;
        return _counter;
    }

    [Benchmark(OperationsPerInvoke = Operations)]
    public long AlwaysHop()
    {
        using var work = new BlockingCollection<int>();
        var executor = new Thread(() =>
        {
            foreach (int _ in work.GetConsumingEnumerable()) _counter++;
        });
        executor.Start();
        for (int i = 0; i < Operations; i++) work.Add(i);
        work.CompleteAdding();
        executor.Join();
        return _counter;
    }
}
