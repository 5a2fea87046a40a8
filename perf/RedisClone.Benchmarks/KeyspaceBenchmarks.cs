using BenchmarkDotNet.Attributes;
using RedisClone.Engine.Commands;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using ValueType = RedisClone.Storage.ValueType;

namespace RedisClone.Benchmarks;

/// <summary>Measures the operations on the keyspace of a shard that every command needs.</summary>
public class KeyspaceBenchmarks
{
    private const int Batch = 32;

    private readonly byte[] _key = new byte[Names.Length];
    private readonly byte[] _batch = new byte[Names.Length * Batch];
    private readonly ulong[] _hashes = new ulong[Batch];
    private Keyspace _keyspace = null!;
    private int[] _order = [];
    private int _next;

    [Params(1_000, 1_000_000)]
    public int Keys { get; set; }

    [Params(16, 256)]
    public int ValueBytes { get; set; }

    [GlobalSetup]
    public void Fill()
    {
        _keyspace = new ShardStore(1, 1).Database(0);
        _order = Names.Shuffled(Keys);
        foreach (int number in _order) Insert(number);
    }

    [Benchmark(Baseline = true)]
    public int Find() => _keyspace.Find(NextKey(), KeyHash.Of(_key)).Value.Length;

    /// <summary>Prefetches the buckets and then the records before the lookups, as the server does for a pipeline.</summary>
    [Benchmark(OperationsPerInvoke = Batch)]
    public int FindPrefetched()
    {
        for (int i = 0; i < Batch; i++)
        {
            NextKey().CopyTo(_batch.AsSpan(i * Names.Length));
            _keyspace.PrefetchBucket(_hashes[i] = KeyHash.Of(_key));
        }
        for (int i = 0; i < Batch; i++) _keyspace.PrefetchRecord(_hashes[i]);
        int sum = 0;
        for (int i = 0; i < Batch; i++) sum += _keyspace.Find(_batch.AsSpan(i * Names.Length, Names.Length), _hashes[i]).Value.Length;
        return sum;
    }

    [Benchmark]
    public void Replace()
    {
        Entry entry = _keyspace.Find(NextKey(), KeyHash.Of(_key));
        _keyspace.Replace(entry, ValueType.String, ValueEncoding.Raw, ValueBytes, expiry: 0);
        entry.Value.Fill(2);
    }

    [Benchmark]
    public void RemoveAndInsert()
    {
        _keyspace.Remove(_keyspace.Find(NextKey(), KeyHash.Of(_key)));
        Insert(_order[_next]);
    }

    private ReadOnlySpan<byte> NextKey()
    {
        if (++_next == _order.Length) _next = 0;
        Names.Write(_key, _order[_next]);
        return _key;
    }

    private void Insert(int number)
    {
        Names.Write(_key, number);
        _keyspace.Insert(_key, KeyHash.Of(_key), ValueType.String, ValueEncoding.Raw, ValueBytes).Value.Fill(1);
    }
}
