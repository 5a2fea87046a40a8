using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>The producers of a stream: the part outside the record.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct ProducersRoot
{
    public long Seconds, Most, Added, Duplicates, Messages;

    /// <summary>Producers by name.</summary>
    public TreeRoot Producers;

    /// <summary>The next producer to check for expired messages.</summary>
    public long Next;
}

/// <summary>One producer: its messages by name, and in the order of their entries.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct ProducerRoot
{
    public TreeRoot Messages, Order;
}

/// <summary>A message of a producer and its entry.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly record struct ProducedItem(StreamId Id, uint Message) : ITreeItem<ProducedItem>
{
    public static long WeightOf(ReadOnlySpan<ProducedItem> items) => items.Length;

    public static int IndexOf(ReadOnlySpan<ProducedItem> items, ref long rank) => UniformWeight.IndexOf(items.Length, ref rank);
}

/// <summary>
/// The mapping from messages of producers to stream entries, so that a message that is sent again is not added again. A limited
/// number of messages is remembered for each producer, for a limited time. The time of a message is that of its entry.
/// </summary>
public readonly record struct StreamProducers
{
    private readonly Arena _arena;
    private readonly uint _handle;

    private StreamProducers(Arena arena, uint handle)
    {
        _arena = arena;
        _handle = handle;
    }

    public bool Exist => _handle != 0;

    /// <summary>How long a message is remembered.</summary>
    public long Seconds => Root.Seconds;

    /// <summary>How many messages of each producer are remembered.</summary>
    public long Most => Root.Most;

    /// <summary>Number of messages that were added as entries.</summary>
    public long Added => Root.Added;

    /// <summary>Number of messages that were not added because they had been added before.</summary>
    public long Duplicates => Root.Duplicates;

    /// <summary>Number of messages remembered now.</summary>
    public long Messages => Root.Messages;

    public long Count => Root.Producers.Weight;

    private ref ProducersRoot Root => ref LargeValues.As<ProducersRoot>(_arena.Bytes(_handle, Unsafe.SizeOf<ProducersRoot>()));

    private NameTree Names => new(_arena, ref Root.Producers);

    public static StreamProducers Of(in Entry entry) => new(entry.Keyspace.Store.Arena, LargeStream.Root(entry).Producers);

    /// <summary>The producers of a stream. Creates them with these settings if there are none.</summary>
    public static StreamProducers Obtain(in Entry entry, long seconds, long most)
    {
        ref StreamRoot root = ref LargeStream.Root(entry);
        if (root.Producers == 0)
        {
            Arena arena = entry.Keyspace.Store.Arena;
            root.Producers = arena.Allocate(Unsafe.SizeOf<ProducersRoot>());
            var fresh = new StreamProducers(arena, root.Producers);
            fresh.Root = new ProducersRoot { Seconds = seconds, Most = most };
        }
        return Of(entry);
    }

    /// <summary>Changes the settings. New values discard all messages.</summary>
    public void Configure(long seconds, long most)
    {
        if (seconds == Seconds && most == Most) return;
        Clear();
        (Root.Seconds, Root.Most) = (seconds, most);
    }

    /// <summary>Changes the settings and discards only the messages above the new limit. For restoring a stream.</summary>
    public void SetLimits(long seconds, long most)
    {
        (Root.Seconds, Root.Most) = (seconds, most);
        for (long i = 0; i < Count; i++)
            while (MessagesAt(i) > most) ForgetOldest(Names.At(i));
    }

    /// <summary>Sets the counts of messages. For restoring a stream.</summary>
    public void SetCounts(long added, long duplicates) => (Root.Added, Root.Duplicates) = (added, duplicates);

    /// <summary>The entry of a message.</summary>
    public bool TryFind(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message, out StreamId id)
    {
        id = default;
        uint owner = Names.Find(producer);
        if (owner == 0) return false;
        uint found = MessagesOf(owner).Find(message);
        if (found != 0) id = IdOf(found);
        return found != 0;
    }

    public void CountDuplicate() => Root.Duplicates++;

    /// <summary>Remembers a new message. Discards the oldest message of its producer if there are too many.</summary>
    public void Remember(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message, StreamId id)
    {
        FaultPoint.Call();
        uint owner = Names.Find(producer);
        bool isNew = owner == 0;
        if (isNew) owner = Names.Add(producer, Unsafe.SizeOf<ProducerRoot>());
        try
        {
            AddMessage(owner, message, id);
        }
        catch (OutOfMemoryException) when (isNew)
        {
            Names.Remove(owner);
            throw;
        }
        Root.Messages++;
        Root.Added++;
        while (OrderOf(owner).Weight > Most) ForgetOldest(owner);
    }

    /// <summary>Forgets a message that is remembered.</summary>
    public void Forget(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message)
    {
        uint owner = Names.Find(producer);
        uint handle = MessagesOf(owner).Find(message);
        RankTree<ProducedItem> order = OrderOf(owner);
        TreePath path = order.Seek(new BeforeProduced(new ProducedItem(IdOf(handle), handle)));
        // The first item of a leaf is sought behind the last one of the leaf before.
        if (order.IsAtItem(ref path)) Forget(owner, ref path);
    }

    private void AddMessage(uint owner, ReadOnlySpan<byte> message, StreamId id)
    {
        uint handle = MessagesOf(owner).Add(message, Unsafe.SizeOf<StreamId>());
        MemoryMarshal.Write(NameTree.ValueOf(_arena, handle), in id);
        var item = new ProducedItem(id, handle);
        RankTree<ProducedItem> order = OrderOf(owner);
        TreePath path = order.Seek(new BeforeProduced(item));
        if (order.TryInsert(ref path, item)) return;
        MessagesOf(owner).Remove(handle);
        Arena.ThrowOutOfMemory();
    }

    /// <summary>
    /// Discards the expired messages of a producer and of one other producer, in turn, so that every producer is checked in time.
    /// </summary>
    public void Expire(ReadOnlySpan<byte> producer, long now)
    {
        uint owner = Names.Find(producer);
        if (owner != 0) Expire(owner, now);
        if (Count > 0) Expire(Names.At(Root.Next++ % Count), now);
    }

    /// <summary>The name of a producer by its place in their order.</summary>
    public ReadOnlySpan<byte> NameAt(long producer) => NameTree.NameOf(_arena, Names.At(producer));

    /// <summary>Number of remembered messages of a producer.</summary>
    public long MessagesAt(long producer) => OrderOf(Names.At(producer)).Weight;

    /// <summary>A message of a producer and its entry, the oldest message first.</summary>
    public ReadOnlySpan<byte> MessageAt(long producer, long message, out StreamId id)
    {
        RankTree<ProducedItem> order = OrderOf(Names.At(producer));
        TreePath path = order.SeekRank(message, out _);
        ProducedItem item = order.At(ref path);
        id = item.Id;
        return NameTree.NameOf(_arena, item.Message);
    }

    internal static void Copy(in Entry source, in Entry target)
    {
        StreamProducers from = Of(source);
        if (!from.Exist) return;
        StreamProducers to = Obtain(target, from.Seconds, from.Most);
        for (long i = 0; i < from.Count; i++)
        {
            for (long j = 0; j < from.MessagesAt(i); j++)
            {
                ReadOnlySpan<byte> message = from.MessageAt(i, j, out StreamId id);
                to.Remember(from.NameAt(i), message, id);
            }
        }
        to.SetCounts(from.Added, from.Duplicates);
    }

    internal static long Bytes(Arena arena, uint handle)
    {
        if (handle == 0) return 0;
        var producers = new StreamProducers(arena, handle);
        long bytes = arena.Capacity(handle) + producers.Root.Producers.Bytes;
        for (long i = 0; i < producers.Count; i++)
        {
            uint owner = producers.Names.At(i);
            ref ProducerRoot root = ref RootOf(arena, owner);
            bytes += arena.Capacity(owner) + root.Messages.Bytes + root.Order.Bytes;
            NameTree messages = producers.MessagesOf(owner);
            for (long j = 0; j < messages.Count; j++) bytes += arena.Capacity(messages.At(j));
        }
        return bytes;
    }

    /// <summary>Frees a part of all producers. Returns true when there is none left.</summary>
    internal static bool Free(Arena arena, ref uint handle, ref int budget)
    {
        if (handle == 0) return true;
        var producers = new StreamProducers(arena, handle);
        while (producers.Count > 0)
        {
            uint owner = producers.Names.At(producers.Count - 1);
            for (; !producers.OrderOf(owner).IsEmpty; producers.ForgetOldest(owner))
                if (budget-- <= 0) return false;
            if (budget-- <= 0) return false;
            producers.Names.Remove(owner);
        }
        arena.Free(handle);
        handle = 0;
        return true;
    }

    private void Clear()
    {
        while (Count > 0) ForgetProducer(Names.At(Count - 1));
    }

    private void Expire(uint owner, long now)
    {
        RankTree<ProducedItem> order = OrderOf(owner);
        while (!order.IsEmpty)
        {
            TreePath path = order.SeekRank(0, out _);
            ulong time = order.At(ref path).Id.Milliseconds;
            if (now < 0 || (ulong)now < time || (ulong)now - time < (ulong)Seconds * 1000) return;
            ForgetOldest(owner);
        }
        Names.Remove(owner);
    }

    private void ForgetProducer(uint owner)
    {
        while (!OrderOf(owner).IsEmpty) ForgetOldest(owner);
        Names.Remove(owner);
    }

    private void ForgetOldest(uint owner)
    {
        RankTree<ProducedItem> order = OrderOf(owner);
        TreePath path = order.SeekRank(0, out _);
        Forget(owner, ref path);
    }

    private void Forget(uint owner, ref TreePath path)
    {
        RankTree<ProducedItem> order = OrderOf(owner);
        uint message = order.At(ref path).Message;
        order.Remove(ref path);
        MessagesOf(owner).Remove(message);
        Root.Messages--;
    }

    private NameTree MessagesOf(uint owner) => new(_arena, ref RootOf(_arena, owner).Messages);

    private RankTree<ProducedItem> OrderOf(uint owner) => new(_arena, ref RootOf(_arena, owner).Order);

    private StreamId IdOf(uint message) => MemoryMarshal.Read<StreamId>(NameTree.ValueOf(_arena, message));

    private static ref ProducerRoot RootOf(Arena arena, uint owner) =>
        ref LargeValues.As<ProducerRoot>(NameTree.ValueOf(arena, owner));

    private readonly struct BeforeProduced(ProducedItem sought) : ITreeProbe<ProducedItem>
    {
        public bool IsAfter(in ProducedItem item) => item.Id < sought.Id || item.Id == sought.Id && item.Message < sought.Message;
    }
}
