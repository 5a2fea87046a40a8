using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>An entry that was delivered and not acknowledged. An entry that was given back has no consumer and time 0.</summary>
public readonly record struct PendingEntry(StreamId Id, long Deliveries)
{
    internal uint Consumer { get; init; }

    /// <summary>Its place in the order of claiming: the time of delivery, or a negative number if it was given back.</summary>
    public long Order { get; internal init; }

    /// <summary>The time of the last delivery, in Unix milliseconds.</summary>
    public long Delivered => Math.Max(0, Order);

    public bool HasConsumer => Consumer != 0;
}

/// <summary>
/// A consumer group: its position in the stream, its consumers, and the entries delivered to them and not acknowledged. Valid
/// until the group, its stream or its key is removed.
/// </summary>
public readonly record struct StreamGroup
{
    /// <summary>The value of <see cref="EntriesRead"/> if it is unknown.</summary>
    public const long UnknownRead = -1;

    private readonly Arena _arena;
    private readonly uint _handle;

    internal StreamGroup(Arena arena, uint handle)
    {
        _arena = arena;
        _handle = handle;
    }

    public ReadOnlySpan<byte> Name => NameTree.NameOf(_arena, _handle);

    /// <summary>The last entry that was delivered.</summary>
    public StreamId Last
    {
        get => Root.Last;
        set => Root.Last = value;
    }

    /// <summary>Number of entries of the stream that were read, or <see cref="UnknownRead"/>.</summary>
    public long EntriesRead
    {
        get => Root.Read;
        set => Root.Read = value;
    }

    public long PendingCount => Root.Pending.Weight;

    /// <summary>Number of pending entries that were given back.</summary>
    public long ReturnedCount => Root.Returned;

    public long ConsumerCount => Root.Consumers.Weight;

    internal uint Handle => _handle;

    private ref GroupRoot Root => ref LargeGroups.Group(_arena, _handle);

    internal NameTree Consumers => new(_arena, ref Root.Consumers);

    internal RankTree<PendingItem> Pending => new(_arena, ref Root.Pending);

    // ---- groups of a stream, ordered by name

    public static long Count(in Entry entry) => LargeStream.Root(entry).Groups.Weight;

    public static StreamGroup At(in Entry entry, long index) => new(entry.Keyspace.Store.Arena, GroupsOf(entry).At(index));

    /// <summary>Limits the entries read of every group to the number of entries ever added.</summary>
    public static void ClampRead(in Entry entry, long added)
    {
        for (long i = 0; i < Count(entry); i++)
        {
            StreamGroup group = At(entry, i);
            if (group.EntriesRead > added) group.EntriesRead = added;
        }
    }

    public static bool TryGet(in Entry entry, scoped ReadOnlySpan<byte> name, out StreamGroup group)
    {
        group = new StreamGroup(entry.Keyspace.Store.Arena, GroupsOf(entry).Find(name));
        return group._handle != 0;
    }

    /// <summary>Adds a group. The caller knows that it is absent.</summary>
    public static StreamGroup Add(in Entry entry, scoped ReadOnlySpan<byte> name, StreamId last, long entriesRead)
    {
        FaultPoint.Call();
        uint handle = GroupsOf(entry).Add(name, Unsafe.SizeOf<GroupRoot>());
        return new StreamGroup(entry.Keyspace.Store.Arena, handle) { Last = last, EntriesRead = entriesRead };
    }

    /// <summary>
    /// Removes a group. Its pending entries are freed in slices, or at once if they are few or memory for the queue is missing.
    /// </summary>
    public static void Remove(in Entry entry, StreamGroup group)
    {
        FaultPoint.Call();
        StreamRoot abandoned = default;
        bool canWait = new NameTree(group._arena, ref abandoned.Groups).TryAttach(group._handle);
        GroupsOf(entry).Detach(group._handle);
        if (canWait) entry.Keyspace.Store.ReleaseValue(ValueType.Stream, ValueEncoding.Large, LargeValues.BytesOf(ref abandoned));
        else LargeGroups.FreeGroup(group._arena, group._handle);
    }

    // ---- consumers, ordered by name

    public StreamConsumer ConsumerAt(long index) => new(_arena, Consumers.At(index));

    public bool TryGetConsumer(scoped ReadOnlySpan<byte> name, out StreamConsumer consumer)
    {
        consumer = new StreamConsumer(_arena, Consumers.Find(name));
        return consumer.Exists;
    }

    /// <summary>The consumer of a pending entry that has one.</summary>
    public StreamConsumer ConsumerOf(scoped in PendingEntry pending) => new(_arena, pending.Consumer);

    /// <summary>Adds a consumer that has not been active yet. The caller knows that it is absent.</summary>
    public StreamConsumer AddConsumer(scoped ReadOnlySpan<byte> name, long now) =>
        new(_arena, Consumers.Add(name, Unsafe.SizeOf<ConsumerRoot>())) { Seen = now, Active = -1 };

    /// <summary>Removes a consumer and its pending entries.</summary>
    public void RemoveConsumer(StreamConsumer consumer)
    {
        FaultPoint.Call();
        while (consumer.TryNextPending(StreamId.Min, out StreamId id)) RemovePending(id);
        Consumers.Remove(consumer.Handle);
    }

    // ---- pending entries

    public bool TryGetPending(StreamId id, out PendingEntry pending) => TryNextPending(id, out pending) && pending.Id == id;

    /// <summary>The first pending entry with this or a greater identifier.</summary>
    public bool TryNextPending(StreamId from, out PendingEntry pending)
    {
        RankTree<PendingItem> tree = Pending;
        TreePath path = tree.Seek(new BeforeId(from));
        bool found = tree.IsAtItem(ref path);
        pending = found ? EntryOf(tree.At(ref path)) : default;
        return found;
    }

    public bool TryLastPending(out PendingEntry pending)
    {
        RankTree<PendingItem> tree = Pending;
        TreePath path = tree.Last();
        bool found = !tree.IsEmpty;
        pending = found ? EntryOf(tree.At(ref path)) : default;
        return found;
    }

    /// <summary>The first pending entry at or after a place in the order of claiming.</summary>
    public bool TryNextByTime(long order, StreamId from, out PendingEntry pending)
    {
        RankTree<PendingTime> times = Times();
        TreePath path = times.Seek(new BeforeTime(new PendingTime(order, from)));
        pending = default;
        return times.IsAtItem(ref path) && TryGetPending(times.At(ref path).Id, out pending);
    }

    /// <summary>Number of pending entries that were delivered at this time or before, including those given back.</summary>
    public long CountDelivered(long until)
    {
        if (until < 0) return 0;
        RankTree<PendingTime> times = Times();
        TreePath path = times.Seek(new BeforeTime(new PendingTime(until + 1, StreamId.Min)));
        return times.RankOf(ref path);
    }

    /// <summary>Like <see cref="TryNextByTime"/>, for entries given back, which come before all others.</summary>
    public bool TryNextReturned(long order, out PendingEntry pending)
    {
        pending = default;
        return ReturnedCount > 0 && TryNextByTime(order, StreamId.Min, out pending) && !pending.HasConsumer;
    }

    /// <summary>Makes an entry pending with a consumer, whatever its state. Returns whether it was pending before.</summary>
    public bool SetPending(StreamId id, StreamConsumer consumer, long delivered, long deliveries) =>
        Set(new PendingItem(id, Math.Max(0, delivered), deliveries, consumer.Handle), consumer);

    /// <summary>Gives an entry back: makes it pending without a consumer, last in the order of the entries given back.</summary>
    public void Return(StreamId id, long deliveries)
    {
        Set(new PendingItem(id, long.MinValue + Root.NextReturn, deliveries, 0), default);
        Root.NextReturn++;
    }

    private bool Set(in PendingItem item, StreamConsumer consumer)
    {
        FaultPoint.Call();
        StreamId id = item.Id;
        RankTree<PendingItem> tree = Pending;
        TreePath path = tree.Seek(new BeforeId(id));
        PendingItem old = default;
        bool isKnown = tree.IsAtItem(ref path) && (old = tree.At(ref path)).Id == id;
        bool changesOwner = !isKnown || old.Consumer != item.Consumer, changesTime = !isKnown || old.Order != item.Order;

        // The steps that need memory come first. If one fails, the earlier ones are undone.
        if (changesOwner && !consumer.TryNote(id)) Arena.ThrowOutOfMemory();
        if (changesTime && !TryAddTime(item)) UndoNoteAndThrow(consumer, id, changesOwner);
        if (!isKnown && !tree.TryInsert(ref path, item))
        {
            RemoveTime(item);
            UndoNoteAndThrow(consumer, id, changesOwner);
        }
        _arena.BeginChange();
        if (isKnown) tree.Update(ref path, item);
        if (item.Consumer == 0) Root.Returned++;
        if (isKnown && old.Consumer == 0) Root.Returned--;
        if (isKnown && changesTime) RemoveTime(old);
        if (isKnown && changesOwner) new StreamConsumer(_arena, old.Consumer).Forget(id);
        _arena.EndChange();
        return isKnown;
    }

    private static void UndoNoteAndThrow(StreamConsumer consumer, StreamId id, bool isNoted)
    {
        if (isNoted) consumer.Forget(id);
        Arena.ThrowOutOfMemory();
    }

    /// <summary>Removes a pending entry. Returns false if there is none.</summary>
    public bool RemovePending(StreamId id)
    {
        FaultPoint.Call();
        RankTree<PendingItem> tree = Pending;
        TreePath path = tree.Seek(new BeforeId(id));
        if (!tree.IsAtItem(ref path) || tree.At(ref path) is var old && old.Id != id) return false;
        _arena.BeginChange();
        tree.Remove(ref path);
        if (old.Consumer == 0) Root.Returned--;
        RemoveTime(old);
        new StreamConsumer(_arena, old.Consumer).Forget(id);
        _arena.EndChange();
        return true;
    }

    private static NameTree GroupsOf(in Entry entry) => new(entry.Keyspace.Store.Arena, ref LargeStream.Root(entry).Groups);

    private static PendingEntry EntryOf(in PendingItem item) =>
        new(item.Id, item.Deliveries) { Consumer = item.Consumer, Order = item.Order };

    /// <summary>The pending entries in the order of claiming. Built at the first use.</summary>
    private RankTree<PendingTime> Times()
    {
        if (Root.HasTimes == 0) MakeTimes();
        return new RankTree<PendingTime>(_arena, ref Root.ByTime);
    }

    private void MakeTimes()
    {
        TreeRoot made = default;
        RankTree<PendingItem> tree = Pending;
        var times = new RankTree<PendingTime>(_arena, ref made);
        for (TreePath path = tree.SeekRank(0, out _); tree.IsAtItem(ref path); path[0].Index++)
        {
            if (TryAddTime(times, tree.At(ref path))) continue;
            times.Clear();
            Arena.ThrowOutOfMemory();
        }
        (Root.ByTime, Root.HasTimes) = (made, 1);
    }

    private bool TryAddTime(in PendingItem item) =>
        Root.HasTimes == 0 || TryAddTime(new RankTree<PendingTime>(_arena, ref Root.ByTime), item);

    private static bool TryAddTime(RankTree<PendingTime> times, in PendingItem item)
    {
        var time = new PendingTime(item.Order, item.Id);
        TreePath path = times.Seek(new BeforeTime(time));
        return times.TryInsert(ref path, time);
    }

    private void RemoveTime(in PendingItem item)
    {
        if (Root.HasTimes == 0) return;
        var times = new RankTree<PendingTime>(_arena, ref Root.ByTime);
        TreePath path = times.Seek(new BeforeTime(new PendingTime(item.Order, item.Id)));
        bool found = times.IsAtItem(ref path);
        System.Diagnostics.Debug.Assert(found && times.At(ref path).Id == item.Id);
        times.Remove(ref path);
    }
}

/// <summary>A consumer of a group. The default value means no consumer.</summary>
public readonly record struct StreamConsumer
{
    private readonly Arena _arena;

    internal StreamConsumer(Arena arena, uint handle)
    {
        _arena = arena;
        Handle = handle;
    }

    public bool Exists => Handle != 0;

    public ReadOnlySpan<byte> Name => NameTree.NameOf(_arena, Handle);

    /// <summary>The time of its last attempt to read or claim, in Unix milliseconds.</summary>
    public long Seen
    {
        get => Root.Seen;
        set => Root.Seen = value;
    }

    /// <summary>The time at which it last received an entry, -1 for never.</summary>
    public long Active
    {
        get => Root.Active;
        set => Root.Active = value;
    }

    public long PendingCount => Root.Pending.Weight;

    internal uint Handle { get; }

    private ref ConsumerRoot Root => ref LargeGroups.Consumer(_arena, Handle);

    /// <summary>The first pending entry of this consumer with this or a greater identifier.</summary>
    public bool TryNextPending(StreamId from, out StreamId id)
    {
        var tree = new RankTree<PendingId>(_arena, ref Root.Pending);
        TreePath path = tree.Seek(new BeforeId(from));
        bool found = tree.IsAtItem(ref path);
        id = found ? tree.At(ref path).Id : default;
        return found;
    }

    /// <summary>
    /// Records a pending entry of this consumer. Returns false if memory is missing. Does nothing if there is no consumer.
    /// </summary>
    internal bool TryNote(StreamId id)
    {
        if (!Exists) return true;
        var tree = new RankTree<PendingId>(_arena, ref Root.Pending);
        TreePath path = tree.Seek(new BeforeId(id));
        return tree.TryInsert(ref path, new PendingId(id));
    }

    internal void Forget(StreamId id)
    {
        if (!Exists) return;
        var tree = new RankTree<PendingId>(_arena, ref Root.Pending);
        TreePath path = tree.Seek(new BeforeId(id));
        bool found = tree.IsAtItem(ref path);
        System.Diagnostics.Debug.Assert(found && tree.At(ref path).Id == id);
        tree.Remove(ref path);
    }
}
