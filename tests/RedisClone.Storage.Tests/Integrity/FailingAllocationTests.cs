using System.Globalization;
using System.Text;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;
using RedisClone.Storage.Values.Strings;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

/// <summary>
/// Runs each operation with its first allocation failing, then with its second, and so on until it succeeds. After each failure,
/// the store is consistent and the operation has happened completely or not at all. A second store without failures is the model.
/// A removal succeeds without any memory.
/// </summary>
/// <remarks>Allocations fail in Debug builds only. A Release build compares the two stores.</remarks>
public sealed class FailingAllocationTests
{
    private readonly Random _random;
    private readonly ShardStore _tested = new(2, 1), _model = new(2, 1);
    private readonly ITestOutputHelper _output;
    private byte[][] _keys = [];
    private int _failures;
    private OutOfMemoryException? _last;

    public FailingAllocationTests(ITestOutputHelper output)
    {
        _output = output;
        _random = Seed.Random(output);
        _tested.Database(0);
        FaultPoint.Disarm();
    }

    private delegate void Operation(ShardStore store);

    private ValueLimits Limits
    {
        set => _tested.Limits = _model.Limits = value;
    }

    [Theory]
    [InlineData(6, 3_000)]
    [InlineData(1, 2_000)]
    public void StringsStayConsistent(int keys, int steps)
    {
        Keys(keys);
        for (int step = 0; step < steps; step++)
        {
            byte[] key = AnyKey(), text = _random.Bytes(_random.Length(_random.Next(40) == 0 ? 600_000 : 3_000));
            int length = _random.Next(2_000), number = _random.Next(10_000);
            long expiry = _random.Next(2) * _random.Next(1, 100);
            Apply(_random.Next(8) switch
            {
                0 => store => Remove(store, key),
                1 => store => SetString(store, key, Digits(number), expiry),
                2 => store => IfThere(store, key, entry => StringValue.Append(entry, text)),
                3 => store => IfThere(store, key, entry => StringValue.Grow(entry, length)),
                4 => store => IfThere(store, key, entry => store.Database(0).SetExpiry(entry, expiry)),
                5 => Transfer(key, AnyKey()),
                _ => store => SetString(store, key, text, expiry),
            });
            if (step % 50 == 0) Remove(key);
        }
        End();
    }

    [Theory]
    [InlineData(3, 40, 8, 3_000)]
    [InlineData(1, 300, 512, 2_000)]
    [InlineData(1, 3_500, 8, 5_000)]
    public void SetsStayConsistent(int keys, int members, int entries, int steps)
    {
        Limits = new ValueLimits { SetMaxIntsetEntries = entries, SetMaxListpackEntries = entries / 2, SetMaxListpackValue = 30 };
        Keys(keys);
        for (int step = 0; step < steps; step++)
        {
            byte[] key = AnyKey(), member = Text(members);
            bool grows = _random.Next(4) > 0 == (step / 2_600 % 2 == 0);
            if (members > 1_000 && _random.Next(8) > 0) Both(grows ? Add(key, member) : Drop(key, member));
            else if (grows) Apply(Add(key, member));
            else ApplyRemoval(Drop(key, member));
            if (step % 40 == 0) Apply(Transfer(key, AnyKey()));
            if (step % 200 == 0) ApplyUnseen(store => store.Compact(_random.Next(100)));
            if (keys > 1 && step % 100 == 0) Remove(key);
        }
        End();

        static Operation Add(byte[] key, byte[] member) => store => SetValue.Add(Obtain(store, key, SetValue.Create), member);
        static Operation Drop(byte[] key, byte[] member) => store => IfThere(store, key, entry => SetValue.Remove(entry, member));
    }

    [Theory]
    [InlineData(3, 20, 8, 4_000)]
    [InlineData(3, 60, 512, 3_000)]
    [InlineData(1, 1_500, 8, 4_000)]
    public void HashesStayConsistent(int keys, int fields, int entries, int steps)
    {
        Limits = new ValueLimits { HashMaxListpackEntries = entries };
        Keys(keys);
        var names = new FieldNames([.. Enumerable.Range(0, 5).Select(i => Encoding.ASCII.GetBytes($"name {i}"))]);
        for (int step = 0; step < steps; step++)
        {
            byte[] key = AnyKey(), value = Text(1_000);
            byte[] field = _random.Next(5) == 0 ? names[_random.Next(5)].ToArray() : Text(fields);
            _tested.Now = _model.Now = step;
            long expiry = _random.Next(4) switch { 0 => step + _random.Next(-5, 200), 1 => HashValue.KeepExpiry, _ => 0 };
            bool isFast = fields > 1_000 && _random.Next(4) > 0;
            switch (_random.Next(10))
            {
                case < 5 when isFast:
                    Both(Set(key, field, value, expiry));
                    break;
                case < 5:
                    Apply(Set(key, field, value, expiry));
                    break;
                case 5 when !IsShaped(key):
                    ApplyRemoval(store => IfThere(store, key, entry => HashValue.Remove(entry, field)));
                    break;
                case < 7:
                    Apply(store => IfThere(store, key, entry => HashValue.SetExpiry(entry, field, Math.Max(0, expiry))));
                    break;
                case 7:
                    var ignored = new Ignore();
                    ApplyRemoval(store => IfThere(store, key, entry => HashValue.RemoveExpired(entry, 3, ref ignored)));
                    break;
                case 8 when keys > 1:
                    Remove(key);
                    Apply(store => HashValue.Import(store.Database(0), key, KeyHash.Of(key), names, new Values(value)));
                    break;
                default:
                    if (keys > 1) Apply(Transfer(key, AnyKey()));
                    break;
            }
            if (step % 30 == 0) Apply(store => IfThere(store, key, entry => HashValue.ShareNames(entry)));
            if (step % 200 == 0) ApplyUnseen(store => store.Compact(_random.Next(100)));
        }
        End();

        bool IsShaped(byte[] key) => _tested.Database(0).Locate(key) is { Exists: true } entry && ShapedFields.Is(entry);
        static Operation Set(byte[] key, byte[] field, byte[] value, long expiry) =>
            store => HashValue.Set(Obtain(store, key, HashValue.Create), field, value, expiry);
    }

    [Theory]
    [InlineData(3, 40, 8, 4_000)]
    [InlineData(1, 6_000, 8, 9_000)]
    public void SortedSetsStayConsistent(int keys, int members, int entries, int steps)
    {
        Limits = new ValueLimits { ZsetMaxListpackEntries = entries };
        Keys(keys);
        for (int step = 0; step < steps; step++)
        {
            byte[] key = AnyKey(), member = Text(members);
            double score = _random.Next(5) switch { 0 => _random.NextDouble(), 1 => 1e300, 2 => -0.0, _ => _random.Next(1_000) };
            bool grows = _random.Next(5) > 0 == (step / 6_000 % 2 == 0);
            bool isFast = members > 1_000 && _random.Next(20) > 0;
            Operation set = store => SortedSetValue.Set(Obtain(store, key, SortedSetValue.Create), member, score, out _);
            Operation drop = store => IfThere(store, key, entry => SortedSetValue.Remove(entry, member));
            if (isFast) Both(grows ? set : drop);
            else if (grows) Apply(set);
            else ApplyRemoval(drop);
            long from = _random.Next(20), count = _random.Next(4);
            if (step % 20 == 0) ApplyRemoval(store => IfThere(store, key, entry => RemoveRange(entry, from, count)));
            if (step % (keys > 1 ? 40 : 500) == 0) Apply(Transfer(key, AnyKey()));
            if (step % 300 == 0) ApplyUnseen(store => store.Compact(_random.Next(100)));
            if (keys > 1 && step % 100 == 0) Remove(key);
        }
        End();

        static void RemoveRange(Entry entry, long from, long count)
        {
            if (from + count <= SortedSetValue.Count(entry)) SortedSetValue.RemoveRange(entry, new RankRange(from, count));
        }
    }

    [Theory]
    [InlineData(3, 4, 4_000)]
    [InlineData(2, -1, 4_000)]
    [InlineData(1, 1, 4_000)]
    public void ListsStayConsistent(int keys, int listpack, int steps)
    {
        Limits = new ValueLimits { ListMaxListpackSize = listpack };
        Keys(keys);
        for (int step = 0; step < steps; step++)
        {
            byte[] key = AnyKey(), text = _random.Next(10) == 0 ? _random.Bytes(_random.Next(5_000)) : Text(300);
            int place = _random.Next(1 << 20), count = 1 + _random.Next(4);
            bool isFast = keys == 1 && _random.Next(8) > 0;
            Operation insert = store => Insert(Obtain(store, key, ListValue.Create), place, text);
            Operation remove = store => IfThere(store, key, entry => RemoveAt(entry, place, count));
            switch (_random.Next(step / 2_000 % 2 == 0 ? 8 : 14))
            {
                case < 6:
                    if (isFast) Both(insert);
                    else Apply(insert);
                    break;
                case 6:
                    Apply(store => IfThere(store, key, entry => Set(entry, place, text)));
                    break;
                case 7:
                    ApplyRemoval(store => IfThere(store, key, entry => ListValue.Remove(entry, text, 2, (ListEnd)(place & 1))));
                    break;
                default:
                    if (isFast) Both(remove);
                    else ApplyRemoval(remove);
                    break;
            }
            if (step % 60 == 0) Apply(Transfer(key, AnyKey()));
            if (step % 200 == 0) ApplyUnseen(store => store.Compact(_random.Next(100)));
            if (keys > 1 && step % 200 == 0) Remove(key);
        }
        End();

        static void Insert(Entry entry, int place, byte[] text) =>
            ListValue.Insert(entry, place % (ListValue.Count(entry) + 1), text);

        static void Set(Entry entry, int place, byte[] text)
        {
            if (ListValue.Count(entry) is > 0 and var all) ListValue.Set(entry, place % all, text);
        }

        static void RemoveAt(Entry entry, int place, int count)
        {
            long all = ListValue.Count(entry);
            if (all > 0) ListValue.RemoveAt(entry, place % all, Math.Min(count, all - place % all));
        }
    }

    [Theory]
    [InlineData(2, 3, 3_000)]
    [InlineData(1, 100, 1_500)]
    public void StreamsStayConsistent(int keys, int entries, int steps)
    {
        Limits = new ValueLimits { StreamNodeMaxEntries = entries };
        Keys(keys);
        for (int step = 1; step <= steps; step++)
        {
            byte[] key = AnyKey(), text = Text(500), name = Encoding.ASCII.GetBytes($"name {_random.Next(4)}");
            var id = new StreamId((ulong)step, (ulong)_random.Next(3));
            var known = new StreamId((ulong)_random.Next(step), (ulong)_random.Next(3));
            byte[] message = Encoding.ASCII.GetBytes($"message {step}");
            int kind = _random.Next(40), consumer = _random.Next(4), length = _random.Next(step), delivered = _random.Next(1_000);
            Apply(store => Obtain(store, key, StreamValue.Create));
            Operation operation = store => OnStream(store.Database(0).Locate(key), kind);
            if (kind is 20 or 22 or 23 or 24 or 25 or 27) ApplyRemoval(operation);
            else Apply(operation);
            if (step % 100 == 0) Apply(Transfer(key, AnyKey()));
            if (step % 200 == 0) ApplyUnseen(store => store.Compact(_random.Next(100)));
            if (keys > 1 && step % 200 == 0) Remove(key);

            void OnStream(Entry entry, int kind)
            {
                bool hasGroup = StreamGroup.TryGet(entry, name, out StreamGroup group);
                switch (kind)
                {
                    case < 20 or > 36:
                        if (StreamValue.State(entry).Last < id) StreamValue.Append(entry, id, new Field(text));
                        break;
                    case 20:
                        StreamValue.Delete(entry, known);
                        break;
                    case 21:
                        if (!hasGroup) StreamGroup.Add(entry, name, known, 0);
                        break;
                    case 22:
                        if (hasGroup && length % 8 == 0) StreamGroup.Remove(entry, group);
                        break;
                    case 23:
                        if (length % 20 == 0) new StreamTrim { MaxLength = length / 20 }.Apply(entry);
                        break;
                    case 24:
                        var first = new StreamId((ulong)(length / 2), 0);
                        new StreamTrim { ById = true, MinId = first, Approximate = length % 2 == 0 }.Apply(entry);
                        break;
                    case 25:
                        if (hasGroup && group.ConsumerCount > consumer) group.RemoveConsumer(group.ConsumerAt(consumer));
                        break;
                    case 26:
                        if (hasGroup && !group.TryGetConsumer(message, out _)) group.AddConsumer(message, 1);
                        break;
                    case 27:
                        if (hasGroup) group.RemovePending(known);
                        break;
                    case 28:
                        if (hasGroup) group.Return(known, delivered);
                        break;
                    case 29:
                        if (hasGroup) group.TryNextByTime(delivered, StreamId.Min, out _);
                        break;
                    case < 33:
                        StreamProducers.Obtain(entry, 100, 20).Remember(name, message, id);
                        break;
                    default:
                        if (hasGroup && group.ConsumerCount > consumer)
                            group.SetPending(known, group.ConsumerAt(consumer), delivered, 1);
                        break;
                }
            }
        }
        End();
    }

    private void Keys(int count) => _keys = [.. Enumerable.Range(0, count).Select(i => Encoding.ASCII.GetBytes($"key {i}"))];

    private byte[] AnyKey() => _keys[_random.Next(_keys.Length)];

    private static byte[] Digits(int number) => Encoding.ASCII.GetBytes(number.ToString(CultureInfo.InvariantCulture));

    private byte[] Text(int kinds)
    {
        int number = _random.Next(kinds);
        return Encoding.ASCII.GetBytes((number % 5) switch
        {
            0 => number.ToString(CultureInfo.InvariantCulture),
            1 => (number * -70_000L).ToString(CultureInfo.InvariantCulture),
            2 when number % 7 == 0 => new string('x', 60) + number,
            _ => "member " + number,
        });
    }

    private static Entry Obtain(ShardStore store, byte[] key, Creation create)
    {
        Entry entry = store.Database(0).Locate(key);
        return entry.Exists ? entry : create(store.Database(0), key, KeyHash.Of(key));
    }

    private static void SetString(ShardStore store, byte[] key, byte[] text, long expiry)
    {
        Entry entry = store.Database(0).Locate(key);
        StringValue.Set(store.Database(0), ref entry, key, text, expiry);
    }

    private delegate Entry Creation(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash);

    private delegate void Use(Entry entry);

    private static void IfThere(ShardStore store, byte[] key, Use use)
    {
        Entry entry = store.Database(0).Locate(key);
        if (entry.Exists) use(entry);
    }

    private static void Remove(ShardStore store, byte[] key) => IfThere(store, key, entry => store.Database(0).Remove(entry));

    /// <summary>RENAME, COPY, and a move to another shard and back.</summary>
    private Operation Transfer(byte[] from, byte[] to)
    {
        int kind = _random.Next(3);
        return store =>
        {
            Keyspace keyspace = store.Database(0);
            Entry source = keyspace.Locate(from);
            if (!source.Exists || from.AsSpan().SequenceEqual(to)) return;
            if (kind == 0) ValueTransfer.Copy(source, keyspace.Locate(to), to);
            else if (kind == 1) ValueTransfer.Move(source, keyspace.Locate(to), to);
            else Visit(source, keyspace, to);
        };
    }

    private static void Visit(Entry source, Keyspace keyspace, byte[] to)
    {
        var elsewhere = new ShardStore(1, 1) { Limits = keyspace.Store.Limits, Now = keyspace.Store.Now };
        try
        {
            ValueTransfer.Copy(source, elsewhere.Database(0).Locate(to), to);
            StoreCheck.Run(elsewhere);
            ValueTransfer.Move(elsewhere.Database(0).Locate(to), keyspace.Locate(to), to);
        }
        finally
        {
            StoreCheck.Run(elsewhere);
        }
    }

    private void Both(Operation operation)
    {
        operation(_model);
        operation(_tested);
    }

    private void Apply(Operation operation)
    {
        string before = StoreText.Of(_tested.Database(0), _keys);
        operation(_model);
        string after = StoreText.Of(_model.Database(0), _keys), now;
        bool stays = _random.Next(4) == 0;
        for (int n = 1; ; n++)
        {
            bool failed = Fails(operation, n, stays);
            if (failed) StoreCheck.Run(_tested);
            now = StoreText.Of(_tested.Database(0), _keys);
            if (!failed || now != before) break;
        }
        Assert.Equal(after, now);
    }

    /// <summary>Applies an operation that only removes, which must need no memory.</summary>
    private void ApplyRemoval(Operation operation)
    {
        operation(_model);
        Assert.False(Fails(operation, 1, stays: true), $"a removal allocated memory: {_last}");
        StoreCheck.Run(_tested);
        Assert.Equal(StoreText.Of(_model.Database(0), _keys), StoreText.Of(_tested.Database(0), _keys));
    }

    private void ApplyUnseen(Operation operation)
    {
        string before = StoreText.Of(_tested.Database(0), _keys);
        for (int n = 1; n < 20; n++)
        {
            FaultPoint.Arm(n);
            operation(_tested);
            if (FaultPoint.Disarm()) StoreCheck.Run(_tested);
            else break;
        }
        Assert.Equal(before, StoreText.Of(_tested.Database(0), _keys));
    }

    private void Remove(byte[] key) => ApplyRemoval(store => Remove(store, key));

    private bool Fails(Operation operation, int n, bool stays)
    {
        FaultPoint.Arm(n, stays: stays);
        try
        {
            operation(_tested);
            return false;
        }
        catch (OutOfMemoryException failure)
        {
            _failures++;
            _last = failure;
            return true;
        }
        finally
        {
            FaultPoint.Disarm();
        }
    }

    private void End()
    {
        _output.WriteLine($"{_failures} operations failed");
        if (FaultPoint.Exist) Assert.InRange(_failures, 100, int.MaxValue);
        StoreCheck.Run(_tested);
        ApplyRemoval(store => store.Abandon(0));
        StoreCheck.Run(_tested);
        Assert.Equal(0, _tested.Arena.LiveBuffers);
    }

    private struct Ignore : IElementVisitor
    {
        public readonly void Visit(Element element)
        {
        }
    }

    private readonly struct Values(byte[] value) : ITexts
    {
        public ReadOnlySpan<byte> this[int index] => value.AsSpan(0, Math.Min(value.Length, 5 + index));
    }

    private readonly struct Field(byte[] text) : IStreamFields
    {
        public int Count => 2;

        public ReadOnlySpan<byte> Name(int index) => index == 0 ? "first"u8 : "second"u8;

        public ReadOnlySpan<byte> Value(int index) => text;
    }
}
