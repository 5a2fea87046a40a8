using System.Text;

namespace RedisClone.Storage.Tests;

/// <summary>First words with every value type: create, change, read.</summary>
public sealed class PackedFormTests
{
    private readonly Keyspace _keyspace = new ShardStore(1, 1).Database(0);

    [Fact]
    public void HashKeepsFields()
    {
        Entry hash = HashValue.Create(_keyspace, "k"u8, 7);
        Assert.True(HashValue.Set(hash, "name"u8, "value"u8));
        Assert.True(HashValue.Set(hash, "12"u8, "-5"u8));
        Assert.False(HashValue.Set(hash, "name"u8, "longer value than before"u8));
        Assert.True(HashValue.TryGet(hash, "12"u8, out HashField field));
        Assert.Equal(-5, field.Value.Integer);
        Assert.True(HashValue.TryGet(hash, "name"u8, out field));
        Assert.Equal("longer value than before", Encoding.ASCII.GetString(field.Value.Bytes));
        Assert.True(HashValue.SetExpiry(hash, "name"u8, 100));
        _keyspace.Store.Now = 101;
        Assert.False(HashValue.Contains(hash, "name"u8));
        Assert.Equal(2, HashValue.Count(hash));
        int fields = 0;
        foreach (HashField _ in HashValue.Fields(hash)) fields++;
        Assert.Equal(1, fields);
    }

    [Fact]
    public void ListKeepsOrder()
    {
        Entry list = ListValue.Create(_keyspace, "k"u8, 7);
        for (int i = 0; i < 100; i++)
        {
            ListValue.Push(list, ListEnd.Head, Encoding.ASCII.GetBytes($"h{i}"));
            ListValue.Push(list, ListEnd.Tail, Encoding.ASCII.GetBytes($"{i}"));
        }
        Assert.Equal(200, ListValue.Count(list));
        Assert.True(ListValue.Peek(list, ListEnd.Head).Is("h99"u8));
        Assert.True(ListValue.Peek(list, ListEnd.Tail).Is("99"u8));
        ListValue.Pop(list, ListEnd.Head, 100);
        int next = 0;
        foreach (Element element in ListValue.Elements(list)) Assert.Equal(next++, element.Integer);
        Assert.Equal(100, next);
    }

    [Fact]
    public void SetConverts()
    {
        Entry set = SetValue.Create(_keyspace, "k"u8, 7);
        Assert.True(SetValue.Add(set, "5"u8));
        Assert.True(SetValue.Add(set, "-70000"u8));
        Assert.False(SetValue.Add(set, "5"u8));
        Assert.Equal("intset"u8.ToArray(), ValueInfo.EncodingName(set).ToArray());
        Assert.True(SetValue.Add(set, "x"u8));
        Assert.True(SetValue.Contains(set, "-70000"u8));
        Assert.Equal(3, SetValue.Count(set));
    }

    [Fact]
    public void SortedSetOrders()
    {
        Entry set = SortedSetValue.Create(_keyspace, "k"u8, 7);
        Assert.True(SortedSetValue.Set(set, "b"u8, 2.5, out _));
        Assert.True(SortedSetValue.Set(set, "a"u8, 2.5, out _));
        Assert.True(SortedSetValue.Set(set, "c"u8, -1, out _));
        Assert.False(SortedSetValue.Set(set, "c"u8, 3, out double previous));
        Assert.Equal(-1, previous);
        Assert.Equal(new RankRange(0, 2), SortedSetValue.Ranks(set, new ScoreRange(2.5, 3, MaxExclusive: true)));
        Assert.True(SortedSetValue.TryGetRank(set, "c"u8, out long rank, out _));
        Assert.Equal(2, rank);
    }
}
