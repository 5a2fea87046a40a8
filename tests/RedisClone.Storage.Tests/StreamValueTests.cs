using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Streams;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class StreamValueTests(ITestOutputHelper output) : ValueTestBase(output)
{
    private readonly SortedDictionary<StreamId, (string Name, string Value)[]> _model = [];
    private StreamState _state;

    [Theory]
    [InlineData(100, 4096, 60)]
    [InlineData(3, 4096, 60)]
    [InlineData(100, 200, 60)]
    [InlineData(0, 0, 300)]
    [InlineData(1, 1, 3_000)]
    [InlineData(100, 4096, 30_000)]
    public void MatchesStreamModel(int entries, int bytes, int longest)
    {
        Store.Limits = new ValueLimits { StreamNodeMaxEntries = entries, StreamNodeMaxBytes = bytes };
        for (int step = 0; step < 4_000; step++)
        {
            Entry stream = Entry.Exists ? Entry : StreamValue.Create(Keyspace, Key, Hash);
            if (Random.Next(step / 500 % 2 == 0 ? 3 : 1) > 0) Append(stream, longest);
            else Remove(stream);
            Assert.Equal(_model.Count, StreamValue.Count(stream));
            Assert.Equal(_state, StreamValue.State(stream));
            CheckMemory();
            if (step % 100 == 0) Check(Keyspace);
        }
        Check(Keyspace);
        CheckCopyAndRemoval(Check);
    }

    [Fact]
    public void IdentifiersStopAtLargestNumber()
    {
        Assert.True(new StreamId(1, ulong.MaxValue).TryNext(out StreamId next));
        Assert.Equal(new StreamId(2, 0), next);
        Assert.True(new StreamId(1, 0).TryPrevious(out StreamId previous));
        Assert.Equal(new StreamId(0, ulong.MaxValue), previous);
        StreamId end = StreamId.Max;
        Assert.False(end.TryNext(out end));
        StreamId begin = StreamId.Min;
        Assert.False(begin.TryPrevious(out begin));

        Entry stream = StreamValue.Create(Keyspace, Key, Hash);
        StreamId[] ids = [new(0, 1), new(0, ulong.MaxValue), new(1, 0), new(ulong.MaxValue, 0), StreamId.Max];
        foreach (StreamId id in ids) Assert.True(StreamValue.Append(stream, id, new Fields([("a", "1")])));
        Assert.Equal(ids, Ids(stream, StreamId.Min, StreamId.Max, backwards: false));
        Assert.Equal([StreamId.Max], Ids(stream, StreamId.Max, StreamId.Max, backwards: true));
        Assert.True(StreamValue.Delete(stream, StreamId.Max));
        Assert.Equal(StreamId.Max, StreamValue.State(stream).HighestDeleted);
        Assert.Equal(ids[^2], StreamValue.LastEntry(stream));
    }

    /// <summary>Repeated field names cost nothing: entries with short values take a few bytes more than their values.</summary>
    [Fact]
    public void NamesAreStoredOncePerBlock()
    {
        Entry stream = StreamValue.Create(Keyspace, Key, Hash);
        const int Entries = 20_000, ValueBytes = 3 * 8;
        for (ulong i = 1; i <= Entries; i++)
            StreamValue.Append(stream, new StreamId(1_700_000_000_000 + i, 0), new Fields(
                [("a rather long name", "value 12"), ("another long name", "value 34"), ("name", "value 56")]));
        Assert.InRange(ValueInfo.MemoryUsage(stream), 0, Entries * (ValueBytes + 12));
    }

    [Fact]
    public void LongTrimIsFreedInSlices()
    {
        Entry stream = StreamValue.Create(Keyspace, Key, Hash);
        for (ulong i = 1; i <= 60_000; i++)
            StreamValue.Append(stream, new StreamId(i, 0), new Fields([("a", "a value of some length")]));
        long buffers = Store.Arena.LiveBuffers;
        Assert.Equal(59_950, new StreamTrim { MaxLength = 50 }.Apply(stream));
        Assert.InRange(buffers - Store.Arena.LiveBuffers, -20, 20);
        Assert.Equal(50, StreamValue.Count(stream));
        Assert.Equal(new StreamId(59_951, 0), StreamValue.First(stream));
        while (!Store.FreeAbandoned(64)) { }
        CheckMemory();
        Assert.InRange(Store.Arena.LiveBuffers, 1, 20);
    }

    [Fact]
    public void GroupsMatchModel()
    {
        Entry stream = StreamValue.Create(Keyspace, Key, Hash);
        for (ulong i = 1; i <= 2_000; i++) StreamValue.Append(stream, new StreamId(i / 3, i), new Fields([("a", "1")]));
        var pending = new SortedDictionary<StreamId, (string? Owner, long Time, long Count)>();
        var returned = new List<StreamId>();
        StreamGroup group = StreamGroup.Add(stream, "group"u8, StreamId.Min, 0);
        HashSet<string> consumers = [];
        for (int step = 0; step < 20_000; step++)
        {
            ulong number = (ulong)Random.Next(1, 2_000);
            var id = new StreamId(number / 3, number);
            string name = $"c{Random.Next(12)}";
            if (!group.TryGetConsumer(Bytes(name), out StreamConsumer consumer)) consumer = group.AddConsumer(Bytes(name), step);
            consumers.Add(name);
            switch (Random.Next(12))
            {
                case 0:
                    group.RemoveConsumer(consumer);
                    consumers.Remove(name);
                    foreach (StreamId gone in pending.Where(p => p.Value.Owner == name).Select(p => p.Key).ToArray())
                        pending.Remove(gone);
                    break;
                case < 5:
                    Assert.Equal(pending.Remove(id), group.RemovePending(id));
                    returned.Remove(id);
                    break;
                case 5 when pending.ContainsKey(id):
                    group.Return(id, step);
                    pending[id] = (null, 0, step);
                    returned.Remove(id);
                    returned.Add(id);
                    break;
                default:
                    group.SetPending(id, consumer, 1_000 + step / 50, step);
                    pending[id] = (name, 1_000 + step / 50, step);
                    returned.Remove(id);
                    break;
            }
            // The group builds the order of claiming at its first use, after 5,000 steps, and maintains it from then on.
            if (step == 5_000 || step % 1_000 == 999) CheckGroup(group, pending, returned, consumers, withTimes: step >= 5_000);
            if (step % 100 == 0) CheckMemory();
        }
        CheckCopyAndRemoval(keyspace =>
        {
            Assert.True(StreamGroup.TryGet(keyspace.Find(Key, Hash), "group"u8, out StreamGroup copy));
            CheckGroup(copy, pending, returned, consumers, withTimes: true);
        });
    }

    [Fact]
    public void ProducersForgetOldestAndExpiredMessages()
    {
        Entry stream = StreamValue.Create(Keyspace, Key, Hash);
        StreamProducers producers = StreamProducers.Obtain(stream, seconds: 10, most: 3);
        for (ulong i = 1; i <= 5; i++) producers.Remember("p"u8, Bytes($"m{i}"), new StreamId(i * 1_000, 0));
        producers.Remember("q"u8, "m1"u8, new StreamId(1, 1));
        Assert.False(producers.TryFind("p"u8, "m2"u8, out _));
        Assert.True(producers.TryFind("p"u8, "m3"u8, out StreamId id));
        Assert.Equal(new StreamId(3_000, 0), id);
        Assert.Equal((2, 4, 6), (producers.Count, producers.Messages, producers.Added));
        producers.Expire("p"u8, 13_000);
        producers.Expire("p"u8, 13_000);
        Assert.False(producers.TryFind("p"u8, "m3"u8, out _));
        Assert.True(producers.TryFind("p"u8, "m4"u8, out _));
        Assert.Equal(1, producers.Count);
        CheckMemory();
        CheckCopyAndRemoval(keyspace => Assert.True(StreamProducers.Of(keyspace.Find(Key, Hash)).TryFind("p"u8, "m5"u8, out _)));
    }

    private void Append(in Entry stream, int longest)
    {
        StreamId id = Random.Next(20) == 0
            ? new StreamId(
                _state.Last.Milliseconds + (ulong)Random.NextInt64(1L << Random.Next(1, 40)),
                (ulong)Random.NextInt64(1L << Random.Next(1, 60)))
            : new StreamId(_state.Last.Milliseconds + (ulong)Random.Next(2), _state.Last.Sequence + (ulong)Random.Next(1, 3));
        if (id <= _state.Last) return;
        var fields = new (string, string)[Random.Next(8) == 0 ? Random.Next(1, 6) : 2];
        for (int i = 0; i < fields.Length; i++)
            fields[i] = (
                Random.Next(6) == 0 ? RandomText(20, longest) : $"f{i}",
                Random.Next(30) == 0 ? new string('L', Random.Next(longest * 2)) : RandomText(200, longest));
        Assert.True(StreamValue.Append(stream, id, new Fields(fields)));
        _model[id] = fields;
        _state = _state with { Last = id, Added = _state.Added + 1 };
    }

    private void Remove(in Entry stream)
    {
        int choice = Random.Next(10);
        if (choice < 7)
        {
            StreamId id = SomeId();
            bool isThere = _model.Remove(id);
            Assert.Equal(isThere, StreamValue.Contains(stream, id));
            Assert.Equal(isThere, StreamValue.Delete(stream, id));
            if (isThere && id > _state.HighestDeleted) _state = _state with { HighestDeleted = id };
            return;
        }
        var trim = choice == 7
            ? new StreamTrim { ById = true, MinId = SomeId() }
            : new StreamTrim
            {
                MaxLength = Random.Next(_model.Count + 5),
                Approximate = choice == 9,
                Limit = Random.Next(2) * Random.Next(200),
            };
        int most = trim.ById ? _model.Keys.Count(id => id < trim.MinId) : Math.Max(0, _model.Count - (int)trim.MaxLength);
        long gone = trim.Apply(stream);
        if (!trim.Approximate && trim.Limit == 0) Assert.Equal(most, gone);
        else Assert.InRange(gone, 0, trim.Limit > 0 ? Math.Min(most, trim.Limit) : most);
        foreach (StreamId id in _model.Keys.Take((int)gone).ToArray()) _model.Remove(id);
        while (Random.Next(2) == 0 && !Store.FreeAbandoned(5)) { }
    }

    private StreamId SomeId()
    {
        StreamId id = _model.Count == 0 || Random.Next(5) == 0
            ? new StreamId((ulong)Random.Next(50), (ulong)Random.Next(50))
            : _model.Keys.ElementAt(Random.Next(Math.Min(_model.Count, 300)));
        return Random.Next(6) == 0 && id.TryNext(out StreamId next) ? next : id;
    }

    private void Check(Keyspace keyspace)
    {
        Entry stream = keyspace.Find(Key, Hash);
        Assert.Equal(_model.Count == 0 ? StreamId.Min : _model.Keys.First(), StreamValue.First(stream));
        Assert.Equal(_model.Count == 0 ? StreamId.Min : _model.Keys.Last(), StreamValue.LastEntry(stream));
        StreamId[] all = [.. _model.Keys];
        Assert.Equal(all, Ids(stream, StreamId.Min, StreamId.Max, backwards: false));
        Assert.Equal(all.Reverse(), Ids(stream, StreamId.Min, StreamId.Max, backwards: true));
        for (int i = 0; i < 5; i++)
        {
            (StreamId from, StreamId to) = (SomeId(), SomeId());
            StreamId[] within = [.. all.Where(id => id >= from && id <= to)];
            Assert.Equal(within, Ids(stream, from, to, backwards: false));
            Assert.Equal(within.Reverse(), Ids(stream, from, to, backwards: true));
            Assert.InRange(StreamValue.MostBetween(stream, from, to), within.Length, all.Length);
        }
        foreach (StreamEntry entry in StreamValue.Entries(stream))
        {
            var fields = new List<(string, string)>();
            foreach (StreamFields field in entry) fields.Add((Text(field.Name), Text(field.Value)));
            Assert.Equal(_model[entry.Id], fields);
        }
    }

    private static void CheckGroup(
        StreamGroup group, SortedDictionary<StreamId, (string? Owner, long Time, long Count)> model,
        List<StreamId> returned, HashSet<string> consumers, bool withTimes)
    {
        var found = new List<(StreamId, string?, long, long)>();
        for (StreamId next = StreamId.Min; group.TryNextPending(next, out PendingEntry pending) && pending.Id.TryNext(out next);)
        {
            string? owner = pending.HasConsumer
                ? System.Text.Encoding.Latin1.GetString(group.ConsumerOf(pending).Name)
                : null;
            found.Add((pending.Id, owner, pending.Delivered, pending.Deliveries));
        }
        Assert.Equal(model.Select(p => (p.Key, p.Value.Owner, p.Value.Time, p.Value.Count)), found);
        Assert.Equal(model.Count, group.PendingCount);
        Assert.Equal(returned.Count, group.ReturnedCount);
        IEnumerable<string> names = Enumerable.Range(0, (int)group.ConsumerCount)
            .Select(i => System.Text.Encoding.Latin1.GetString(group.ConsumerAt(i).Name));
        Assert.Equal(consumers.Order(StringComparer.Ordinal), names);
        foreach (string name in consumers)
        {
            Assert.True(group.TryGetConsumer(Bytes(name), out StreamConsumer consumer));
            var owned = new List<StreamId>();
            for (StreamId next = StreamId.Min; consumer.TryNextPending(next, out StreamId id) && id.TryNext(out next);)
                owned.Add(id);
            Assert.Equal(model.Where(p => p.Value.Owner == name).Select(p => p.Key), owned);
            Assert.Equal(owned.Count, consumer.PendingCount);
        }
        if (!withTimes) return;
        var order = new List<StreamId>();
        (long place, StreamId from) = (long.MinValue, StreamId.Min);
        while (group.TryNextByTime(place, from, out PendingEntry pending))
        {
            order.Add(pending.Id);
            place = pending.Order;
            Assert.True(pending.Id.TryNext(out from));
        }
        IEnumerable<StreamId> byTime = model.Where(p => p.Value.Owner is not null)
            .OrderBy(p => p.Value.Time).ThenBy(p => p.Key).Select(p => p.Key);
        Assert.Equal(returned.Concat(byTime), order);
    }

    private static List<StreamId> Ids(in Entry stream, StreamId from, StreamId to, bool backwards)
    {
        var ids = new List<StreamId>();
        foreach (StreamEntry entry in StreamValue.Entries(stream, from, to, backwards)) ids.Add(entry.Id);
        return ids;
    }

    private readonly struct Fields((string Name, string Value)[] fields) : IStreamFields
    {
        public int Count => fields.Length;

        public ReadOnlySpan<byte> Name(int index) => Bytes(fields[index].Name);

        public ReadOnlySpan<byte> Value(int index) => Bytes(fields[index].Value);
    }
}
