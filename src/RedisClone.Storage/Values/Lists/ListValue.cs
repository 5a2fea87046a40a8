using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Lists;

public enum ListEnd : byte
{
    Head,
    Tail,
}

/// <summary>Operations on lists. Indexes count from the head, starting at 0.</summary>
/// <remarks>
/// Arguments must not point into the list that is changed. Removing the last element leaves an empty list; the caller removes its
/// key.
/// </remarks>
public static class ListValue
{
    private const int LeastBytes = 32;

    /// <summary>Creates an empty list.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        Entry entry = keyspace.Insert(key, hash, ValueType.List, ValueEncoding.Packed, LeastBytes);
        ListBlock.Format(entry.Value);
        return entry;
    }

    public static long Count(in Entry entry) =>
        IsLarge(entry) ? LargeList.Order(entry).Weight : new ListBlock(entry.Value).Count;

    public static void Push(in Entry entry, ListEnd end, ReadOnlySpan<byte> text) =>
        Insert(entry, end == ListEnd.Head ? 0 : Count(entry), text);

    /// <summary>
    /// Pushes texts one after the other, onto a new list if there is none. If memory is missing, pushes none of them and throws.
    /// </summary>
    public static void PushAll<TTexts>(ref Entry entry, ReadOnlySpan<byte> key, ListEnd end, scoped in TTexts texts, int count)
        where TTexts : struct, ITexts, allows ref struct
    {
        ShardStore store = entry.Keyspace.Store;
        long changes = store.Changes;
        bool isNew = !entry.Exists;
        if (isNew) entry = Create(entry.Keyspace, key, entry.Hash);
        int pushed = 0;
        try
        {
            for (; pushed < count; pushed++) Push(entry, end, texts[pushed]);
        }
        catch (OutOfMemoryException) when (!store.IsTorn)
        {
            if (isNew) entry.Keyspace.RemoveNow(entry);
            else if (pushed > 0) Pop(entry, end, pushed);
            store.TakeBack(changes);
            throw;
        }
    }

    /// <summary>Inserts an element before the one at an index, or at the end if the index is the count.</summary>
    public static void Insert(in Entry entry, long index, ReadOnlySpan<byte> text)
    {
        FaultPoint.Call();
        Element element = Element.Of(text);
        if (!IsLarge(entry))
        {
            var block = new ListBlock(entry.Value);
            if (ListLimit.Of(entry).Holds(block, text.Length))
            {
                block = MakeRoom(entry, block, Packed.SizeOf(element));
                block.Insert(block.PositionOf((int)index), element);
                entry.Keyspace.CountChange();
                return;
            }
            LargeList.Convert(entry);
        }
        LargeList.Insert(entry, index, element, text.Length);
        entry.Keyspace.CountChange();
    }

    /// <summary>The element at an index. Returns false if there is none.</summary>
    public static bool TryGet(in Entry entry, long index, out Element element)
    {
        bool found = index >= 0 && index < Count(entry);
        element = default;
        if (!found) return false;
        if (IsLarge(entry))
        {
            element = LargeList.Get(entry, index);
            return true;
        }
        var block = new ListBlock(entry.Value);
        element = Packed.Read(block.Entries, block.PositionOf((int)index), out _);
        return true;
    }

    /// <summary>The first or last element. The list must not be empty.</summary>
    public static Element Peek(in Entry entry, ListEnd end)
    {
        if (IsLarge(entry)) return LargeList.Get(entry, end == ListEnd.Head ? 0 : Count(entry) - 1);
        ReadOnlySpan<byte> entries = new ListBlock(entry.Value).Entries;
        return Packed.Read(entries, end == ListEnd.Head ? 0 : Packed.Previous(entries, entries.Length), out _);
    }

    /// <summary>Replaces the element at an index, which must exist.</summary>
    public static void Set(in Entry entry, long index, ReadOnlySpan<byte> text)
    {
        FaultPoint.Call();
        if (!IsLarge(entry) && !ListLimit.Of(entry).Holds(new ListBlock(entry.Value), text.Length)) LargeList.Convert(entry);
        Element element = Element.Of(text);
        if (IsLarge(entry))
        {
            LargeList.Set(entry, index, element, text.Length);
            entry.Keyspace.CountChange();
            LargeList.TryPack(entry);
            return;
        }
        int size = Packed.SizeOf(element);
        ListBlock block = MakeRoom(entry, new ListBlock(entry.Value), size);
        int at = block.PositionOf((int)index);
        Packed.Write(block.Splice(at, Packed.Next(block.Entries, at) - at, size), element);
        entry.Keyspace.CountChange();
        GiveBack(entry, block);
    }

    /// <summary>Removes <paramref name="count"/> elements from an index on. All of them must exist.</summary>
    public static void RemoveAt(in Entry entry, long index, long count = 1)
    {
        FaultPoint.Call();
        entry.Keyspace.CountChange();
        if (count == 0) return;
        if (IsLarge(entry))
        {
            LargeList.RemoveAt(entry, index, count);
            LargeList.TryPack(entry);
            return;
        }
        var block = new ListBlock(entry.Value);
        block.Remove(block.PositionOf((int)index), (int)count);
        GiveBack(entry, block);
    }

    /// <summary>Removes <paramref name="count"/> elements from one end. All of them must exist.</summary>
    public static void Pop(in Entry entry, ListEnd end, long count = 1) =>
        RemoveAt(entry, end == ListEnd.Head ? 0 : Count(entry) - count, count);

    /// <summary>Moves the element at one end of a small list to the other end, without memory. False for a large list.</summary>
    public static bool TryRotate(in Entry entry, ListEnd from)
    {
        FaultPoint.Call();
        if (IsLarge(entry)) return false;
        Span<byte> entries = new ListBlock(entry.Value).Entries;
        int split = from == ListEnd.Head ? Packed.Next(entries, 0) : Packed.Previous(entries, entries.Length);
        // Three reversals exchange the parts before and behind the split.
        entries[..split].Reverse();
        entries[split..].Reverse();
        entries.Reverse();
        entry.Keyspace.CountChange();
        return true;
    }

    /// <summary>Removes up to <paramref name="limit"/> elements equal to a text, starting at one end. Returns how many.</summary>
    public static long Remove(in Entry entry, ReadOnlySpan<byte> text, long limit, ListEnd from)
    {
        FaultPoint.Call();
        entry.Keyspace.CountChange();
        Element element = Element.Of(text);
        long removed;
        if (IsLarge(entry))
        {
            removed = LargeList.Remove(entry, element, limit, from);
            if (removed > 0) LargeList.TryPack(entry);
            return removed;
        }
        var block = new ListBlock(entry.Value);
        removed = Remove(block, element, limit, from);
        if (removed > 0) GiveBack(entry, block);
        return removed;
    }

    /// <summary>The elements from an index to the tail, or backwards to the head. None if there is no such index.</summary>
    public static ListElements Elements(in Entry entry, long from = 0, bool backwards = false) => new(entry, from, backwards);

    internal static bool IsLarge(in Entry entry) => entry.Encoding == ValueEncoding.Large;

    internal static long Remove(ListBlock block, Element element, long limit, ListEnd from)
    {
        long removed = 0;
        if (from == ListEnd.Head)
        {
            for (int at = 0; removed < limit; removed++)
            {
                at = Packed.Find(block.Entries, at, element);
                if (at < 0) break;
                block.Remove(at, 1);
            }
            return removed;
        }
        for (int at = block.Used; at > 0 && removed < limit;)
        {
            at = Packed.Previous(block.Entries, at);
            if (!Packed.Read(block.Entries, at, out _).Is(element)) continue;
            block.Remove(at, 1);
            removed++;
        }
        return removed;
    }

    /// <summary>Makes room in the block of an entry. Returns the block, which may have moved.</summary>
    private static ListBlock MakeRoom(scoped in Entry entry, ListBlock block, int bytes)
    {
        if (block.Free >= bytes) return block;
        int used = block.Used + bytes;
        entry.Keyspace.Resize(entry, ListBlock.HeaderBytes + used + used / 4);
        return new ListBlock(entry.Value);
    }

    private static void GiveBack(in Entry entry, ListBlock block)
    {
        if (block.Free <= 2 * LeastBytes + block.Used) return;
        block.Compact();
        entry.Keyspace.Resize(entry, ListBlock.HeaderBytes + block.Used + block.Used / 4 + LeastBytes / 2);
    }
}
