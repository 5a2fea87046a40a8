using System.Collections.Concurrent;
using BenchmarkDotNet.Attributes;
using RedisClone.Engine.Commands.Streams;
using RedisClone.Engine.Shards;

namespace RedisClone.Benchmarks;

/// <summary>
/// What it costs to reach a shard: entered inline by the thread that brings the work, as the server does; by a plain lock; or by
/// handing every request to another thread, as a design with one thread a shard would.
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
