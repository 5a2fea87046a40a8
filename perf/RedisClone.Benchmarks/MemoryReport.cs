using System.Globalization;
using RedisClone.Engine.Commands.Streams;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using ValueType = RedisClone.Storage.ValueType;

namespace RedisClone.Benchmarks;

/// <summary>Reports the bytes of the arena for each record or element, including indexes and unused space.</summary>
public static class MemoryReport
{
    private static readonly byte[] Key = "key"u8.ToArray();

    public static void Write(TextWriter output, int elements)
    {
        output.WriteLine($"| {elements} of | bytes each | reserved and unused bytes each |");
        output.WriteLine("| --- | --- | --- |");
        Report(output, elements, "keys of 16 bytes, values of 16", (keyspace, name, _) => Insert(keyspace, name, 16));
        Report(output, elements, "keys of 16 bytes, values of 256", (keyspace, name, _) => Insert(keyspace, name, 256));
        Report(output, elements, "set members of 16 bytes", (keyspace, name, _) =>
            SetValue.Add(One(keyspace, SetValue.Create), name));
        Report(output, elements, "hash fields of 16 bytes, values of 8", (keyspace, name, _) =>
            HashValue.Set(One(keyspace, HashValue.Create), name, name.AsSpan(8)));
        Report(output, elements, "sorted set members of 16 bytes, scores in random order", (keyspace, name, number) =>
            SortedSetValue.Set(One(keyspace, SortedSetValue.Create), name, Scattered(number, elements), out double _));
        Report(output, elements, "sorted set members of 16 bytes, scores with fractions", (keyspace, name, number) =>
            SortedSetValue.Set(One(keyspace, SortedSetValue.Create), name, Scattered(number, elements) + 0.5, out double _));
        Report(output, elements, "list elements of 16 bytes", (keyspace, name, _) =>
            ListValue.Push(One(keyspace, ListValue.Create), ListEnd.Tail, name));
        Report(output, elements, "hashes of 8 short fields, keys of 16 bytes", SmallHash);
    }

    private delegate Entry Creation(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash);

    private static void Report(TextWriter output, int elements, string what, Action<Keyspace, byte[], int> add)
    {
        var store = new ShardStore(1, 1);
        var name = new byte[Names.Length];
        for (int i = 0; i < elements; i++)
        {
            Names.Write(name, i);
            add(store.Database(0), name, i);
        }
        double used = (double)store.Arena.BytesUsed / elements, reserved = (double)store.Arena.BytesReserved / elements;
        output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"| {what} | {used:F1} | {reserved - used:F1} |"));
    }

    private static Entry One(Keyspace keyspace, Creation create)
    {
        Entry entry = keyspace.Find(Key, KeyHash.Of(Key));
        return entry.Exists ? entry : create(keyspace, Key, KeyHash.Of(Key));
    }

    private static void Insert(Keyspace keyspace, byte[] name, int valueBytes) =>
        keyspace.Insert(name, KeyHash.Of(name), ValueType.String, ValueEncoding.Raw, valueBytes).Value.Clear();

    private static void SmallHash(Keyspace keyspace, byte[] name, int number)
    {
        Entry hash = HashValue.Create(keyspace, name, KeyHash.Of(name));
        Span<byte> field = stackalloc byte[6];
        "field0"u8.CopyTo(field);
        for (int i = 0; i < 8; i++)
        {
            field[5] = (byte)('0' + i);
            HashValue.Set(hash, field, name.AsSpan(12));
        }
    }

    /// <summary>Returns multiples of an odd constant, modulo the number of elements. The result is almost a permutation.</summary>
    private static long Scattered(int number, int elements) => number * 2_654_435_761L % elements;
}
