using System.Text;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

/// <summary>After most of the data is removed, compaction returns memory and keeps the remaining data unchanged.</summary>
public sealed class CompactionTests(ITestOutputHelper output)
{
    private readonly ShardStore _store = new(2, 1);

    private Keyspace Keyspace => _store.Database(0);

    [Fact]
    public void CompactionReturnsMemory()
    {
        Random random = Seed.Random(output);
        for (int round = 0; round < 3; round++)
        {
            Dictionary<string, string> model = [];
            for (int i = 0; i < 20_000; i++)
            {
                string name = $"key {round} {i}";
                Fill(name, random);
                model[name] = "";
            }
            Shrink(model, random);
            foreach (string name in model.Keys) model[name] = Describe(name);

            // Keys are added, removed and changed during the walk.
            int steps = 0;
            while (_store.Compact(random.Next(1, 200)))
            {
                steps++;
                for (int i = random.Next(4); i > 0; i--)
                {
                    string name = $"late {random.Next(500)}";
                    if (Find(name).Exists) Keyspace.Remove(Find(name));
                    else Fill(name, random);
                    model.Remove(name);
                    if (Find(name).Exists) model[name] = Describe(name);
                }
                while (!_store.FreeAbandoned(100)) { }
                if (steps % 200 == 0) Check(model);
                Assert.True(steps < 100_000, "the compaction does not end");
            }
            Check(model);
            Assert.InRange(steps, 2, 100_000);
            _store.Arena.Trim();
            output.WriteLine($"{_store.Arena.BytesUsed} bytes used, {_store.Arena.BytesReserved} reserved");
            Assert.InRange(_store.Arena.SlackBytes, 0, _store.Arena.BytesUsed / 2 + (3 << 20));
        }
        _store.Abandon(0);
        while (!_store.FreeAbandoned(1_000)) { }
        _store.Arena.Trim();
        Assert.Equal(0, _store.Arena.LiveBuffers);
        Assert.Equal(0, _store.Arena.BytesReserved);
    }

    [Fact]
    public void SlackOfDeletionsDuringACompactionIsReducedToo()
    {
        const int Keys = 40_000;
        Random random = Seed.Random(output);
        string[] names = [.. Enumerable.Range(0, Keys).Select(i => $"key {i}")];
        foreach (string name in names) Create(ValueType.String, Bytes(name));
        random.Shuffle(names);
        int next = 0;
        // The first half begins a compaction, and the others go during its walk.
        for (; next < Keys / 2; next++) Keyspace.Remove(Find(names[next]));
        Assert.True(_store.Compact(1));
        for (; next < Keys * 9 / 10; next++)
        {
            Keyspace.Remove(Find(names[next]));
            if (next % 4 == 0) _store.Compact(1);
        }
        while (_store.Compact(100)) { }
        _store.Arena.Trim();
        output.WriteLine($"{_store.Arena.BytesUsed} bytes used, {_store.Arena.BytesReserved} reserved");
        Assert.InRange(_store.Arena.SlackBytes, 0, _store.Arena.BytesUsed / 2 + (1 << 20));
    }

    [Fact]
    public void MembersOfLargeValueAreCompacted()
    {
        ValueType[] types = [ValueType.Set, ValueType.Hash, ValueType.SortedSet, ValueType.List, ValueType.Stream];
        foreach (ValueType type in types)
        {
            byte[] key = Bytes(type.ToString());
            Entry entry = Create(type, key);
            const int Elements = 60_000;
            for (int i = 0; i < Elements; i++) Add(entry, i);
            for (int i = 0; i < Elements; i++)
                if (i % 16 != 0) Remove(entry, i, Elements);
            string before = Describe(type.ToString());
            while (_store.Compact(100)) { }
            Assert.Equal(before, Describe(type.ToString()));
            Assert.InRange(_store.Arena.SlackBytes, 0, 4 << 20);
            Keyspace.Remove(Find(type.ToString()));
            while (!_store.FreeAbandoned(1_000)) { }
            _store.Arena.Trim();
            Assert.Equal(0, _store.Arena.LiveBuffers);
        }
    }

    private static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);

    [Fact]
    public void ManyGroupsOfStreamAreCompactedInSteps()
    {
        const int groups = 2_000, others = 60_000, budget = 16;
        Entry entry = Create(ValueType.Stream, Bytes("stream"));
        for (int i = 0; i < groups; i++)
        {
            StreamGroup group = StreamGroup.Add(entry, Bytes($"group {i}"), StreamId.Min, 0);
            group.SetPending(IdOf(i), group.AddConsumer(Bytes($"consumer {i}"), 1), i, 1);
        }
        for (int i = 0; i < others; i++) Create(ValueType.String, Bytes($"other {i}"));
        for (int i = 0; i < others; i++)
            if (i % 16 != 0) Keyspace.Remove(Find($"other {i}"));
        int steps = 0;
        while (_store.Compact(budget)) steps++;
        Assert.True(steps > groups * 3 / budget, $"{steps} steps");
        entry = Find("stream");
        Assert.Equal(groups, StreamGroup.Count(entry));
        for (int i = 0; i < groups; i++)
        {
            Assert.True(StreamGroup.TryGet(entry, Bytes($"group {i}"), out StreamGroup group));
            Assert.True(group.TryNextPending(StreamId.Min, out PendingEntry pending));
            Assert.Equal(IdOf(i), pending.Id);
            Assert.Equal($"consumer {i}", Encoding.UTF8.GetString(group.ConsumerOf(pending).Name));
        }
    }

    private Entry Find(string name) => Keyspace.Find(Bytes(name), KeyHash.Of(Bytes(name)));

    private Entry Create(ValueType type, byte[] key) => type switch
    {
        ValueType.Set => SetValue.Create(Keyspace, key, KeyHash.Of(key)),
        ValueType.Hash => HashValue.Create(Keyspace, key, KeyHash.Of(key)),
        ValueType.SortedSet => SortedSetValue.Create(Keyspace, key, KeyHash.Of(key)),
        ValueType.List => ListValue.Create(Keyspace, key, KeyHash.Of(key)),
        ValueType.Stream => StreamValue.Create(Keyspace, key, KeyHash.Of(key)),
        _ => Keyspace.Insert(key, KeyHash.Of(key), ValueType.String, ValueEncoding.Raw, 100),
    };

    private static void Add(in Entry entry, int number)
    {
        byte[] text = Bytes($"element {number} {new string('e', number % 200)}");
        switch (entry.Type)
        {
            case ValueType.Set:
                SetValue.Add(entry, text);
                break;
            case ValueType.Hash:
                HashValue.Set(entry, text, text, number % 3 == 0 ? 1_000_000 + number : 0);
                break;
            case ValueType.SortedSet:
                SortedSetValue.Set(entry, text, number % 1_000 + (number % 2) * 0.5, out _);
                break;
            case ValueType.List:
                ListValue.Push(entry, ListEnd.Tail, text);
                break;
            case ValueType.Stream:
                AddToStream(entry, number, text);
                break;
            default:
                entry.Value.Fill((byte)number);
                break;
        }
    }

    private static StreamId IdOf(int number) => new((ulong)number / 10, (ulong)number % 10 + 1);

    /// <summary>Half of the entries are pending, with one of many consumers each.</summary>
    private static void AddToStream(in Entry entry, int number, byte[] text)
    {
        StreamId id = IdOf(number);
        if (id <= StreamValue.State(entry).Last) return;
        StreamValue.Append(entry, id, new Field(text));
        if (number % 2 == 0) return;
        if (!StreamGroup.TryGet(entry, "group"u8, out StreamGroup group))
            group = StreamGroup.Add(entry, "group"u8, StreamId.Min, 0);
        byte[] name = Bytes($"consumer {number % 100}");
        if (!group.TryGetConsumer(name, out StreamConsumer consumer)) consumer = group.AddConsumer(name, 1);
        group.SetPending(id, consumer, number, 1);
        group.TryNextByTime(0, StreamId.Min, out _);
    }

    private static void RemoveFromStream(in Entry entry, StreamId id)
    {
        StreamValue.Delete(entry, id);
        if (StreamGroup.TryGet(entry, "group"u8, out StreamGroup group)) group.RemovePending(id);
    }

    private static void Remove(in Entry entry, int number, int elements)
    {
        byte[] text = Bytes($"element {number} {new string('e', number % 200)}");
        if (entry.Type == ValueType.Set) SetValue.Remove(entry, text);
        else if (entry.Type == ValueType.Hash) HashValue.Remove(entry, text);
        else if (entry.Type == ValueType.SortedSet) SortedSetValue.Remove(entry, text);
        else if (entry.Type == ValueType.Stream) RemoveFromStream(entry, IdOf(number));
        else if (ListValue.Count(entry) > elements / 16) ListValue.RemoveAt(entry, ListValue.Count(entry) / 2);
    }

    private void Fill(string name, Random random)
    {
        var type = (ValueType)random.Next(6);
        Entry entry = Create(type, Bytes(name));
        int elements = random.Next(200) == 0 ? 600 : random.Next(1, 4);
        for (int i = 0; i < elements; i++) Add(entry, random.Next(2_000));
        if (random.Next(3) == 0) Keyspace.SetExpiry(entry, random.Next(1, 1_000_000));
    }

    private void Shrink(Dictionary<string, string> model, Random random)
    {
        foreach (string name in model.Keys.ToList())
        {
            if (random.Next(10) == 0) continue;
            Keyspace.Remove(Find(name));
            model.Remove(name);
        }
        while (!_store.FreeAbandoned(100)) { }
    }

    private void Check(Dictionary<string, string> model)
    {
        foreach ((string name, string description) in model) Assert.Equal(description, Describe(name));
    }

    /// <summary>The whole content of a value as text.</summary>
    private string Describe(string name)
    {
        Entry entry = Find(name);
        Assert.True(entry.Exists);
        var words = new StringBuilder($"{entry.Type} {entry.Encoding} {entry.Expiry}: ");
        Span<byte> scratch = stackalloc byte[IntegerText.MaxLength];
        switch (entry.Type)
        {
            case ValueType.Set:
                var members = new List<string>();
                foreach (Element member in SetValue.Members(entry)) members.Add(Encoding.UTF8.GetString(member.Text(scratch)));
                members.Sort(StringComparer.Ordinal);
                words.AppendJoin(',', members);
                break;
            case ValueType.Hash:
                var fields = new List<string>();
                foreach (HashField field in HashValue.Fields(entry))
                {
                    string pair = $"{Encoding.UTF8.GetString(field.Name.Bytes)}={Encoding.UTF8.GetString(field.Value.Bytes)}";
                    fields.Add($"{pair}@{field.Expiry}");
                }
                fields.Sort(StringComparer.Ordinal);
                words.Append(HashValue.NextExpiry(entry)).AppendJoin(',', fields);
                break;
            case ValueType.SortedSet:
                foreach (ScoredMember member in SortedSetValue.Members(entry))
                {
                    words.Append(Encoding.UTF8.GetString(member.Member.Bytes)).Append(member.Score).Append(',');
                    bool isRanked = SortedSetValue.TryGetRank(entry, member.Member.Bytes, out _, out double score);
                    Assert.True(isRanked && score == member.Score);
                }
                break;
            case ValueType.List:
                foreach (Element element in ListValue.Elements(entry))
                    words.Append(Encoding.UTF8.GetString(element.Bytes)).Append(',');
                break;
            case ValueType.Stream:
                foreach (StreamEntry item in StreamValue.Entries(entry))
                {
                    words.Append(item.Id);
                    foreach (StreamFields field in item) words.Append(Encoding.UTF8.GetString(field.Value.Bytes));
                }
                if (!StreamGroup.TryGet(entry, "group"u8, out StreamGroup group)) break;
                for (StreamId next = StreamId.Min;
                    group.TryNextPending(next, out PendingEntry pending) && pending.Id.TryNext(out next);)
                    words.Append(pending.Id).Append(Encoding.UTF8.GetString(group.ConsumerOf(pending).Name));
                break;
            default:
                words.Append(Convert.ToHexString(entry.Value));
                break;
        }
        return words.ToString();
    }

    private readonly struct Field(byte[] value) : IStreamFields
    {
        public int Count => 1;

        public ReadOnlySpan<byte> Name(int index) => "name"u8;

        public ReadOnlySpan<byte> Value(int index) => value;
    }
}
