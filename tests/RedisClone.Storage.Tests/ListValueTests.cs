using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Lists;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class ListValueTests(ITestOutputHelper output) : ValueTestBase(output)
{
    private readonly List<string> _model = [];

    [Theory]
    [InlineData(-2, 30, 300)]
    [InlineData(-1, 2_000, 100)]
    [InlineData(-5, 3_000, 100)]
    [InlineData(1, 100, 50)]
    [InlineData(4, 200, 100)]
    [InlineData(100, 3_000, 60)]
    [InlineData(-2, 3_000, 3_000)]
    [InlineData(-2, 300, 30_000)]
    public void MatchesListModel(int setting, int elements, int longest)
    {
        Store.Limits = new ValueLimits { ListMaxListpackSize = setting };
        for (int step = 0; step < 6_000; step++)
        {
            Entry list = Entry.Exists ? Entry : ListValue.Create(Keyspace, Key, Hash);
            string text = Random.Next(30) == 0 ? new string('L', Random.Next(longest * 2)) : RandomText(200, longest);
            byte[] bytes = Bytes(text);
            bool grow = _model.Count < elements / 4 || (step / 1_000 % 2 == 0 && _model.Count < elements);
            int index = Random.Next(_model.Count + 1);
            switch (grow ? Random.Next(7) : Random.Next(3, 12))
            {
                case 0 or 1:
                    ListValue.Push(list, ListEnd.Head, bytes);
                    _model.Insert(0, text);
                    break;
                case 2 or 3:
                    ListValue.Push(list, ListEnd.Tail, bytes);
                    _model.Add(text);
                    break;
                case 4 or 5:
                    ListValue.Insert(list, index, bytes);
                    _model.Insert(index, text);
                    break;
                case 6 when index < _model.Count:
                    ListValue.Set(list, index, bytes);
                    _model[index] = text;
                    break;
                case 7 or 8 when index < _model.Count:
                    int count = Random.Next(4) == 0 ? Random.Next(_model.Count - index + 1) / 2 : 1;
                    ListValue.RemoveAt(list, index, count);
                    _model.RemoveRange(index, count);
                    break;
                case 9 or 10 when _model.Count > 0:
                    int popped = Random.Next(1, Math.Min(_model.Count, 5) + 1);
                    ListEnd end = Random.Next(2) == 0 ? ListEnd.Head : ListEnd.Tail;
                    ListValue.Pop(list, end, popped);
                    _model.RemoveRange(end == ListEnd.Head ? 0 : _model.Count - popped, popped);
                    break;
                case 11 when _model.Count > 0:
                    string victim = _model[Random.Next(_model.Count)];
                    int limit = Random.Next(1, 4);
                    ListEnd from = Random.Next(2) == 0 ? ListEnd.Head : ListEnd.Tail;
                    Assert.Equal(RemoveFromModel(victim, limit, from), ListValue.Remove(list, Bytes(victim), limit, from));
                    break;
            }
            Assert.Equal(_model.Count, ListValue.Count(list));
            if (_model.Count > 0)
            {
                Assert.True(ListValue.Peek(list, ListEnd.Head).Is(Bytes(_model[0])));
                Assert.True(ListValue.Peek(list, ListEnd.Tail).Is(Bytes(_model[^1])));
                index = Random.Next(_model.Count);
                Assert.True(ListValue.TryGet(list, index, out Element element));
                Assert.Equal(_model[index], Text(element));
            }
            else
            {
                Keyspace.Remove(list);
            }
            CheckMemory();
            if (step % 200 == 0) Check(Keyspace);
        }
        Check(Keyspace);
        CheckCopyAndRemoval(Check);
    }

    [Fact]
    public void EncodingFollowsLimits()
    {
        Store.Limits = new ValueLimits { ListMaxListpackSize = 4 };
        Entry list = ListValue.Create(Keyspace, Key, Hash);
        for (int i = 0; i < 4; i++) ListValue.Push(list, ListEnd.Tail, "x"u8);
        Assert.Equal("listpack", Encoding_(list));
        ListValue.Push(list, ListEnd.Head, "x"u8);
        Assert.Equal("quicklist", Encoding_(list));
        ListValue.Pop(list, ListEnd.Head);
        Assert.Equal("quicklist", Encoding_(list));
        ListValue.Pop(list, ListEnd.Head, 2);
        Assert.Equal("listpack", Encoding_(list));

        Store.Limits = new ValueLimits { ListMaxListpackSize = -1 };
        ListValue.Push(list, ListEnd.Tail, new byte[5_000]);
        Assert.Equal("quicklist", Encoding_(list));
        ListValue.Set(list, 2, "small"u8);
        ListValue.Pop(list, ListEnd.Head);
        ListValue.Pop(list, ListEnd.Head);
        Assert.Equal("listpack", Encoding_(list));
    }

    /// <summary>A queue with a constant number of elements takes a constant amount of memory.</summary>
    [Theory]
    [InlineData(20)]
    [InlineData(5_000)]
    public void QueuesDoNotGrow(int length)
    {
        Entry list = ListValue.Create(Keyspace, Key, Hash);
        for (int i = 0; i < length; i++) ListValue.Push(list, ListEnd.Tail, Bytes($"element {i}"));
        long bytes = ValueInfo.MemoryUsage(list);
        for (int i = 0; i < 50_000; i++)
        {
            ListValue.Push(list, ListEnd.Tail, Bytes($"element {i}"));
            ListValue.Pop(list, ListEnd.Head);
        }
        Assert.InRange(ValueInfo.MemoryUsage(list), 0, bytes * 5 / 4 + 10_000);
    }

    private int RemoveFromModel(string victim, int limit, ListEnd from)
    {
        int removed = 0;
        for (; removed < limit; removed++)
        {
            int at = from == ListEnd.Head ? _model.IndexOf(victim) : _model.LastIndexOf(victim);
            if (at < 0) break;
            _model.RemoveAt(at);
        }
        return removed;
    }

    private void Check(Keyspace keyspace)
    {
        Entry list = keyspace.Find(Key, Hash);
        if (!list.Exists)
        {
            Assert.Empty(_model);
            return;
        }
        int from = Random.Next(_model.Count);
        foreach (int start in (int[])[0, from, _model.Count - 1])
        {
            var forwards = new List<string>();
            foreach (Element element in ListValue.Elements(list, start)) forwards.Add(Text(element));
            Assert.Equal(_model.Skip(start), forwards);
            var backwards = new List<string>();
            foreach (Element element in ListValue.Elements(list, start, backwards: true)) backwards.Add(Text(element));
            Assert.Equal(_model.Take(start + 1).Reverse(), backwards);
        }
        Assert.False(ListValue.Elements(list, _model.Count).MoveNext());
        Assert.False(ListValue.TryGet(list, _model.Count, out _));
        Assert.False(ListValue.TryGet(list, -1, out _));
    }
}
