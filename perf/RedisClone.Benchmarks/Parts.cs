using System.Buffers;
using BenchmarkDotNet.Attributes;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Benchmarks;

/// <summary>Measures the parts of the execution of a request, each for a batch of thirty requests.</summary>
[MemoryDiagnoser]
public class Parts
{
    private readonly Engine _engine = new();
    private readonly RequestParser _parser = new(new RequestLimits());
    private readonly RequestBatch _batch = new();
    private readonly byte[][] _keys = [.. Enumerable.Range(0, Traffic.Keys).Select(i => System.Text.Encoding.ASCII.GetBytes(Traffic.Key(i)))];
    private int _next;

    [Benchmark(OperationsPerInvoke = Traffic.Pipeline)]
    public int Parse()
    {
        _parser.Parse(new ReadOnlySequence<byte>(NextBatch()), _batch, out _, out _);
        int count = _batch.Count;
        _batch.Clear();
        return count;
    }

    [Benchmark(OperationsPerInvoke = Traffic.Pipeline)]
    public int FindCommand()
    {
        int found = 0;
        for (int i = 0; i < Traffic.Pipeline; i++)
            if (_engine.Server.Commands.Find(i % 11 == 0 ? "SET"u8 : "GET"u8) is CommandRow) found++;
        return found;
    }

    [Benchmark(OperationsPerInvoke = Traffic.Pipeline)]
    public long LookUpKeys()
    {
        long bytes = 0;
        for (int i = 0; i < Traffic.Pipeline; i++)
        {
            byte[] key = _keys[_next++ % Traffic.Keys];
            ulong hash = KeyHash.Of(key);
            Entry entry = _engine.Server.Shards.Of(hash).Store.Database(0).Find(key, hash);
            bytes += entry.Value.Length;
        }
        return bytes;
    }

    [Benchmark(OperationsPerInvoke = Traffic.Pipeline)]
    public int WholeBatch() => _engine.Execute(NextBatch());

    private byte[] NextBatch() => Traffic.Batches[_next++ % Traffic.Batches.Length];
}
