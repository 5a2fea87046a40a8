using System.Diagnostics;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;
using static RedisClone.Storage.Memory.Integrity;

namespace RedisClone.Storage.Tests;

/// <summary>The checks of large values.</summary>
internal sealed partial class StoreCheck
{
    private void WalkLarge(in Entry entry)
    {
        long before = _bytes;
        switch (entry.Type)
        {
            case ValueType.Set:
                WalkTable(ref LargeValues.Root<TableRoot>(entry));
                break;
            case ValueType.Hash:
                WalkHash(ref LargeValues.Root<HashRoot>(entry));
                break;
            case ValueType.SortedSet:
                WalkSortedSet(ref LargeValues.Root<SortedSetRoot>(entry));
                break;
            case ValueType.List:
                WalkList(ref LargeValues.Root<ListRoot>(entry));
                break;
            case ValueType.Stream:
                WalkStream(entry);
                break;
            default:
                throw new UnreachableException($"a {entry.Type} has no large form");
        }
        Require(ValueInfo.MemoryUsage(entry) == entry.RecordBytes + _bytes - before, "the bytes of a value are counted");
    }

    private Dictionary<uint, uint> WalkTable(ref TableRoot root)
    {
        var table = new MemberTable(Arena, ref root);
        Dictionary<uint, uint> members = Walk(table.Index);
        long bytes = 0;
        foreach ((uint handle, uint tag) in members)
        {
            bytes += Reach(handle);
            ReadOnlySpan<byte> name = table.Read(handle).Name;
            Require((uint)KeyHash.Of(name) == tag && table.Find(name) == handle, "a member is found by its name");
        }
        Require(bytes == root.RecordBytes, "a table counts the bytes of its members");
        return members;
    }

    private void WalkHash(ref HashRoot root)
    {
        Dictionary<uint, uint> members = WalkTable(ref root.Table);
        List<TimedHandle> expiries = Walk(new TimeTree(Arena, ref root.Expiries).Order);
        CheckOrder(expiries, CompareTimes);
        var table = new MemberTable(Arena, ref root.Table);
        long expiring = 0;
        foreach (uint handle in members.Keys)
            if (table.Read(handle).Number != 0) expiring++;
        Require(expiring == expiries.Count, "all expiring fields are in their order");
        foreach (TimedHandle item in expiries)
        {
            bool isFound = members.ContainsKey(item.Handle) && table.Read(item.Handle).Number == item.Time;
            Require(isFound, "a field is in the order by its time");
        }
        bool isFirst = expiries.Count == 0 || root.NextExpiry > 0 && root.NextExpiry <= expiries[0].Time;
        Require(isFirst, "no field expires before the recorded time of its hash");
    }

    private void WalkSortedSet(ref SortedSetRoot root)
    {
        Dictionary<uint, uint> members = WalkTable(ref root.Table);
        List<ScoreItem> order = Walk(new RankTree<ScoreItem>(Arena, ref root.Order));
        Require(order.Count == members.Count && order.All(item => members.ContainsKey(item.Handle)), "the order has all members");
        for (int i = 0; i < order.Count; i++)
        {
            var table = new MemberTable(Arena, ref root.Table);
            double score = LargeSortedSet.Read(table, order[i].Handle).Score;
            Require(score.Equals(order[i].Score), "the order has the scores of the members");
            if (i == 0) continue;
            int names = table.Read(order[i - 1].Handle).Name.SequenceCompareTo(table.Read(order[i].Handle).Name);
            double previous = order[i - 1].Score;
            Require(previous < score || previous == score && names < 0, "members are in order");
        }
    }

    private void WalkList(ref ListRoot root)
    {
        long bytes = 0;
        foreach (BlockItem item in Walk(new RankTree<BlockItem>(Arena, ref root.Order)))
        {
            bytes += Reach(item.Block);
            ListBlock block = LargeList.Block(Arena, item);
            int found = Packed.Count(block.Entries);
            Require(item.Count > 0 && block.Count == item.Count && found == item.Count, "a block counts its elements");
        }
        Require(bytes == root.BlockBytes, "a list counts the bytes of its blocks");
    }

    private void WalkStream(in Entry entry)
    {
        ref StreamRoot root = ref LargeStream.Root(entry);
        long bytes = 0;
        List<StreamBlockItem> blocks = Walk(LargeStream.Blocks(entry));
        Require(blocks.Count == root.BlockCount, "a stream counts its blocks");
        StreamId last = StreamId.Min;
        foreach (StreamBlockItem item in blocks)
        {
            bytes += Reach(item.Block);
            StreamBlock block = LargeStream.Block(Arena, item);
            int count = 0;
            for (int at = block.EntriesAt; at < block.Used; at = block.Next(at), count++)
            {
                StreamId id = block.IdAt(item.First, at);
                Require((id > last || last == StreamId.Min) && id <= root.Last, "the entries of a stream are in order");
                last = id;
            }
            Require(count == item.Count && count > 0, "a block counts its entries");
        }
        Require(bytes == root.BlockBytes, "a stream counts the bytes of its blocks");
        foreach (NamedHandle group in WalkNames(new NameTree(Arena, ref root.Groups))) WalkGroup(group.Handle);
        if (root.Producers != 0) WalkProducers(root.Producers);
    }

    private List<NamedHandle> WalkNames(NameTree names)
    {
        List<NamedHandle> items = Walk(names.Order);
        foreach (NamedHandle item in items) Reach(item.Handle);
        CheckOrder(items, (a, b) => NameTree.NameOf(Arena, a.Handle).SequenceCompareTo(NameTree.NameOf(Arena, b.Handle)));
        return items;
    }

    private void WalkGroup(uint handle)
    {
        ref GroupRoot group = ref LargeGroups.Group(Arena, handle);
        List<PendingItem> pending = Walk(new RankTree<PendingItem>(Arena, ref group.Pending));
        CheckOrder(pending, (a, b) => a.Id.CompareTo(b.Id));
        List<PendingTime> times = Walk(new RankTree<PendingTime>(Arena, ref group.ByTime));
        CheckOrder(times, (a, b) => a.Order != b.Order ? a.Order.CompareTo(b.Order) : a.Id.CompareTo(b.Id));
        bool hasTimes = group.HasTimes != 0;
        IEnumerable<PendingTime> expected = hasTimes ? pending.Select(item => new PendingTime(item.Order, item.Id)) : [];
        Require(times.ToHashSet().SetEquals(expected), "pending entries are in the order of claiming");
        Require(pending.Count(item => item.Consumer == 0) == group.Returned, "a group counts the entries given back");
        var consumers = WalkNames(new NameTree(Arena, ref group.Consumers)).Select(item => item.Handle).ToHashSet();
        bool areThere = pending.All(item => item.Consumer == 0 || consumers.Contains(item.Consumer));
        Require(areThere, "the consumer of a pending entry exists");
        foreach (uint consumer in consumers)
        {
            List<PendingId> ids = Walk(new RankTree<PendingId>(Arena, ref LargeGroups.Consumer(Arena, consumer).Pending));
            IEnumerable<StreamId> owned = pending.Where(item => item.Consumer == consumer).Select(item => item.Id);
            Require(ids.Select(item => item.Id).SequenceEqual(owned), "a consumer lists its pending entries");
        }
    }

    private void WalkProducers(uint handle)
    {
        Reach(handle);
        ref ProducersRoot root = ref LargeValues.As<ProducersRoot>(Arena.Whole(handle));
        long messages = 0;
        foreach (NamedHandle producer in WalkNames(new NameTree(Arena, ref root.Producers)))
        {
            ref ProducerRoot one = ref LargeValues.As<ProducerRoot>(NameTree.ValueOf(Arena, producer.Handle));
            var names = WalkNames(new NameTree(Arena, ref one.Messages)).Select(item => item.Handle).ToHashSet();
            List<ProducedItem> order = Walk(new RankTree<ProducedItem>(Arena, ref one.Order));
            CheckOrder(order, (a, b) => a.Id != b.Id ? a.Id.CompareTo(b.Id) : a.Message.CompareTo(b.Message));
            bool areOrdered = names.Count > 0 && names.SetEquals(order.Select(item => item.Message));
            Require(areOrdered, "the messages of a producer are in the order of their entries");
            messages += names.Count;
        }
        Require(messages == root.Messages, "a stream counts the messages that it remembers");
    }
}
