using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

public enum ListEnd : byte
{
    Head,
    Tail,
}

/// <summary>What can be done with a list. An index counts from the head, from 0.</summary>
/// <remarks>
/// Texts passed in must not lie in the list that is changed. What removes the last element leaves an empty list, whose key
/// the caller removes.
/// </remarks>
public static class ListValue
{
    private const int LeastBytes = 32;

    /// <summary>A new, empty list.</summary>
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

    /// <summary>Puts an element before the one of an index, or at the end if the index is the count.</summary>
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

    /// <summary>The element of an index; false when there is none.</summary>
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

    /// <summary>The first or last element of a list that has any.</summary>
    public static Element Peek(in Entry entry, ListEnd end)
    {
        if (IsLarge(entry)) return LargeList.Get(entry, end == ListEnd.Head ? 0 : Count(entry) - 1);
        ReadOnlySpan<byte> entries = new ListBlock(entry.Value).Entries;
        return Packed.Read(entries, end == ListEnd.Head ? 0 : Packed.Previous(entries, entries.Length), out _);
    }

    /// <summary>Puts another element in the place of the one of an index, which must be there.</summary>
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

    /// <summary>Removes so many elements from an index on; all of them must be there.</summary>
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

    /// <summary>Removes so many elements from one end; they must be there.</summary>
    public static void Pop(in Entry entry, ListEnd end, long count = 1) =>
        RemoveAt(entry, end == ListEnd.Head ? 0 : Count(entry) - count, count);

    /// <summary>Removes up to so many elements equal to a text, from one end on; returns how many.</summary>
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

    /// <summary>Elements from an index on, forwards to the tail or backwards to the head; none if the index is not there.</summary>
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

    /// <summary>The entry's block, which may have moved.</summary>
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
