using System.Globalization;
using System.Numerics;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.State;

/// <summary>A set of slots in the form of messages of the bus: one bit for each slot, the lowest slot in the lowest bit of the first byte.</summary>
internal sealed class SlotSet
{
    /// <summary>The length of the set in a message.</summary>
    public const int Length = KeySlot.Count / 8;

    private readonly byte[] _bits = new byte[Length];

    public ReadOnlySpan<byte> Bytes => _bits;

    /// <summary>The number of slots in the set.</summary>
    public int Count { get; private set; }

    public bool Contains(int slot) => Contains(_bits, slot);

    public static bool Contains(ReadOnlySpan<byte> bits, int slot) => (bits[slot >> 3] >> (slot & 7) & 1) != 0;

    /// <summary>The number of slots in a set of a message.</summary>
    public static int CountOf(ReadOnlySpan<byte> bits)
    {
        int count = 0;
        foreach (ulong word in MemoryMarshal.Cast<byte, ulong>(bits)) count += BitOperations.PopCount(word);
        return count;
    }

    public bool Add(int slot)
    {
        if (Contains(slot)) return false;
        _bits[slot >> 3] |= (byte)(1 << (slot & 7));
        Count++;
        return true;
    }

    public bool Remove(int slot)
    {
        if (!Contains(slot)) return false;
        _bits[slot >> 3] &= (byte)~(1 << (slot & 7));
        Count--;
        return true;
    }

    public void Clear()
    {
        Array.Clear(_bits);
        Count = 0;
    }

    /// <summary>Takes the set of a message.</summary>
    public void CopyFrom(ReadOnlySpan<byte> bits)
    {
        bits.CopyTo(_bits);
        Count = CountOf(_bits);
    }

    public void UnionWith(SlotSet other)
    {
        for (int i = 0; i < Length; i++) _bits[i] |= other._bits[i];
        Count = CountOf(_bits);
    }

    public void ExceptWith(SlotSet other)
    {
        other.RemoveFrom(_bits);
        Count = CountOf(_bits);
    }

    public void IntersectWith(SlotSet other) => IntersectWith(other._bits);

    public void IntersectWith(ReadOnlySpan<byte> bits)
    {
        for (int i = 0; i < Length; i++) _bits[i] &= bits[i];
        Count = CountOf(_bits);
    }

    /// <summary>Removes the slots of this set from a set of a message.</summary>
    public void RemoveFrom(Span<byte> bits)
    {
        for (int i = 0; i < Length; i++) bits[i] &= (byte)~_bits[i];
    }

    /// <summary>Whether a set of a message has all slots of this set.</summary>
    public bool IsPartOf(ReadOnlySpan<byte> bits)
    {
        for (int i = 0; i < Length; i++)
            if ((_bits[i] & ~bits[i]) != 0) return false;
        return true;
    }

    /// <summary>The slots as ranges, both ends included, in ascending order.</summary>
    public IEnumerable<(int First, int Last)> Ranges()
    {
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            if (!Contains(slot)) continue;
            int first = slot;
            while (slot + 1 < KeySlot.Count && Contains(slot + 1)) slot++;
            yield return (first, slot);
        }
    }

    /// <summary>The ranges as text, first-last each.</summary>
    public string ToText(char separator) =>
        string.Join(separator, Ranges().Select(static range => string.Create(CultureInfo.InvariantCulture, $"{range.First}-{range.Last}")));
}
