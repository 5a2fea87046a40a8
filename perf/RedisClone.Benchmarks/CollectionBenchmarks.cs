using BenchmarkDotNet.Attributes;
using RedisClone.Engine.Commands.Streams;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;

namespace RedisClone.Benchmarks;

/// <summary>Measures operations on packed collections of 20 elements and on large collections of a million.</summary>
public class CollectionBenchmarks
{
    private readonly byte[] _name = new byte[Names.Length];
    private readonly Random _random = new(2);
    private Keyspace _keyspace = null!;
    private int[] _order = [];
    private int _next;

    [Params(20, 1_000_000)]
    public int Elements { get; set; }

    private Entry Hash => Find("hash"u8);

    private Entry List => Find("list"u8);

    private Entry Set => Find("set"u8);

    private Entry SortedSet => Find("sorted set"u8);

    [GlobalSetup]
    public void Fill()
    {
        _keyspace = new ShardStore(1, 1).Database(0);
        _order = Names.Shuffled(Elements);
        HashValue.Create(_keyspace, "hash"u8, KeyHash.Of("hash"u8));
        ListValue.Create(_keyspace, "list"u8, KeyHash.Of("list"u8));
        SetValue.Create(_keyspace, "set"u8, KeyHash.Of("set"u8));
        SortedSetValue.Create(_keyspace, "sorted set"u8, KeyHash.Of("sorted set"u8));
        for (int i = 0; i < Elements; i++)
        {
            NextName();
            HashValue.Set(Hash, _name, "value"u8);
            ListValue.Push(List, ListEnd.Tail, _name);
            SetValue.Add(Set, _name);
            SortedSetValue.Set(SortedSet, _name, _random.Next(Elements), out _);
        }
    }

    [Benchmark]
    public bool HashGet() => HashValue.TryGet(Hash, NextName(), out _);

    [Benchmark]
    public bool HashSet() => HashValue.Set(Hash, NextName(), "other"u8);

    [Benchmark]
    public void ListPushPop()
    {
        ListValue.Push(List, ListEnd.Head, NextName());
        ListValue.Pop(List, ListEnd.Tail);
    }

    [Benchmark]
    public bool ListIndex() => ListValue.TryGet(List, _random.Next(Elements), out _);

    [Benchmark]
    public bool SetContains() => SetValue.Contains(Set, NextName());

    [Benchmark]
    public int SetRandom() => SetValue.Random(Set).Length;

    [Benchmark]
    public bool SortedSetScore() => SortedSetValue.TryGetScore(SortedSet, NextName(), out _);

    [Benchmark]
    public bool SortedSetUpdate() => SortedSetValue.Set(SortedSet, NextName(), _random.Next(Elements), out _);

    [Benchmark]
    public bool SortedSetRank() => SortedSetValue.TryGetRank(SortedSet, NextName(), out _, out _);

    [Benchmark(OperationsPerInvoke = 10)]
    public int SortedSetRange()
    {
        int sum = 0;
        foreach (ScoredMember member in SortedSetValue.Members(SortedSet, new RankRange(_random.Next(Elements - 10), 10)))
            sum += member.Member.Length;
        return sum;
    }

    private Entry Find(ReadOnlySpan<byte> key) => _keyspace.Find(key, KeyHash.Of(key));

    private ReadOnlySpan<byte> NextName()
    {
        if (++_next == _order.Length) _next = 0;
        Names.Write(_name, _order[_next]);
        return _name;
    }
}
