using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>The record of a consumer group, without its name.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct GroupRoot
{
    public StreamId Last;
    public long Read;

    /// <summary>Entries delivered and not acknowledged, by identifier.</summary>
    public TreeRoot Pending;

    /// <summary>The same entries in the order of claiming. Built when this order is first needed.</summary>
    public TreeRoot ByTime;

    public TreeRoot Consumers;
    public uint HasTimes;

    /// <summary>Number of entries given back: pending without a consumer.</summary>
    public long Returned;

    /// <summary>The next place in the order in which given-back entries are claimed.</summary>
    public long NextReturn;
}

/// <summary>The record of a consumer, without its name.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct ConsumerRoot
{
    public long Seen, Active;

    /// <summary>The identifiers of the entries pending with this consumer.</summary>
    public TreeRoot Pending;
}

/// <summary>Operations on all groups of a stream: size, freeing, copying and compaction.</summary>
/// <remarks>The records of groups and consumers never move, because pending entries refer to their consumer by handle.</remarks>
internal static class LargeGroups
{
    /// <summary>
    /// The parts of a compaction: the tree of all groups; then for each group the pending entries, their order by time, the
    /// consumers, and the pending entries of each consumer.
    /// </summary>
    public const int FirstPart = 1;

    private const int FirstOfGroup = FirstPart + 1, FirstConsumer = FirstOfGroup + 3;

    public static ref GroupRoot Group(Arena arena, uint handle) => ref LargeValues.As<GroupRoot>(NameTree.ValueOf(arena, handle));

    public static ref ConsumerRoot Consumer(Arena arena, uint handle) =>
        ref LargeValues.As<ConsumerRoot>(NameTree.ValueOf(arena, handle));

    public static long Bytes(Arena arena, ref StreamRoot root)
    {
        var groups = new NameTree(arena, ref root.Groups);
        long bytes = root.Groups.Bytes;
        for (long i = 0; i < groups.Count; i++)
        {
            uint handle = groups.At(i);
            ref GroupRoot group = ref Group(arena, handle);
            bytes += arena.Capacity(handle) + group.Pending.Bytes + group.ByTime.Bytes + group.Consumers.Bytes;
            var consumers = new NameTree(arena, ref group.Consumers);
            for (long j = 0; j < consumers.Count; j++)
                bytes += arena.Capacity(consumers.At(j)) + Consumer(arena, consumers.At(j)).Pending.Bytes;
        }
        return bytes;
    }

    /// <summary>Frees a part of all groups. Returns true when there is none left.</summary>
    public static bool Free(Arena arena, ref StreamRoot root, ref int budget)
    {
        var groups = new NameTree(arena, ref root.Groups);
        while (groups.Count > 0)
        {
            uint handle = groups.At(groups.Count - 1);
            if (!FreeGroup(arena, ref Group(arena, handle), ref budget) || budget-- <= 0) return false;
            groups.Remove(handle);
        }
        return true;
    }

    /// <summary>Frees a group that is in no tree, with its record.</summary>
    public static void FreeGroup(Arena arena, uint handle)
    {
        int budget = int.MaxValue;
        FreeGroup(arena, ref Group(arena, handle), ref budget);
        arena.Free(handle);
    }

    public static void Copy(in Entry source, in Entry target)
    {
        Arena from = source.Keyspace.Store.Arena, to = target.Keyspace.Store.Arena;
        var groups = new NameTree(from, ref LargeStream.Root(source).Groups);
        var copies = new NameTree(to, ref LargeStream.Root(target).Groups);
        for (long i = 0; i < groups.Count; i++)
        {
            uint handle = groups.At(i), copied = copies.Add(NameTree.NameOf(from, handle), Unsafe.SizeOf<GroupRoot>());
            CopyGroup(new StreamGroup(from, handle), new StreamGroup(to, copied));
        }
    }

    /// <summary>
    /// Continues the compaction of the tree of all groups and of the trees of each group. Returns true when it is complete.
    /// </summary>
    public static bool Compact(Arena arena, ref StreamRoot root, ref CompactionPlace place, ref int budget)
    {
        if (place.Part == FirstPart)
        {
            if (!Compact<NamedHandle>(arena, ref root.Groups, ref place, ref budget)) return false;
            place = new CompactionPlace { Part = FirstOfGroup };
        }
        var groups = new NameTree(arena, ref root.Groups);
        for (; place.Group < groups.Count; place = new CompactionPlace { Part = FirstOfGroup, Group = place.Group + 1 })
            if (!CompactGroup(arena, ref Group(arena, groups.At(place.Group)), ref place, ref budget)) return false;
        return true;
    }

    private static bool CompactGroup(Arena arena, ref GroupRoot group, ref CompactionPlace place, ref int budget)
    {
        var consumers = new NameTree(arena, ref group.Consumers);
        for (; place.Part < FirstConsumer + consumers.Count; place.Part++, place.Position = 0)
        {
            // An empty tree costs budget too, because there can be very many.
            if (budget-- <= 0) return false;
            bool done = place.Part switch
            {
                FirstOfGroup => Compact<PendingItem>(arena, ref group.Pending, ref place, ref budget),
                FirstOfGroup + 1 => Compact<PendingTime>(arena, ref group.ByTime, ref place, ref budget),
                FirstOfGroup + 2 => Compact<NamedHandle>(arena, ref group.Consumers, ref place, ref budget),
                _ => Compact<PendingId>(
                    arena, ref Consumer(arena, consumers.At(place.Part - FirstConsumer)).Pending, ref place, ref budget),
            };
            if (!done) return false;
        }
        return true;
    }

    private static bool Compact<T>(Arena arena, ref TreeRoot root, ref CompactionPlace place, ref int budget)
        where T : unmanaged, ITreeItem<T> =>
        LargeCompaction.CompactTree(new RankTree<T>(arena, ref root), ref place, ref budget, default(LargeCompaction.NoItems<T>));

    private static bool FreeGroup(Arena arena, ref GroupRoot group, ref int budget)
    {
        if (!LargeValues.FreeTree<PendingItem>(arena, ref group.Pending, ref budget)) return false;
        if (!LargeValues.FreeTree<PendingTime>(arena, ref group.ByTime, ref budget)) return false;
        var consumers = new NameTree(arena, ref group.Consumers);
        while (consumers.Count > 0)
        {
            uint handle = consumers.At(consumers.Count - 1);
            if (!LargeValues.FreeTree<PendingId>(arena, ref Consumer(arena, handle).Pending, ref budget) || budget-- <= 0)
                return false;
            consumers.Remove(handle);
        }
        return true;
    }

    private static void CopyGroup(StreamGroup from, StreamGroup to)
    {
        (to.Last, to.EntriesRead) = (from.Last, from.EntriesRead);
        for (long i = 0; i < from.ConsumerCount; i++)
        {
            StreamConsumer consumer = from.ConsumerAt(i);
            StreamConsumer copy = to.AddConsumer(consumer.Name, consumer.Seen);
            copy.Active = consumer.Active;
        }
        for (StreamId next = StreamId.Min; from.TryNextPending(next, out PendingEntry pending);)
        {
            if (pending.HasConsumer && to.TryGetConsumer(from.ConsumerOf(pending).Name, out StreamConsumer owner))
                to.SetPending(pending.Id, owner, pending.Delivered, pending.Deliveries);
            if (!pending.Id.TryNext(out next)) break;
        }
        // Returned in the order in which they are claimed.
        for (long next = long.MinValue; from.TryNextReturned(next, out PendingEntry pending); next = pending.Order + 1)
            to.Return(pending.Id, pending.Deliveries);
    }
}
