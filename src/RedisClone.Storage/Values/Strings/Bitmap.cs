using System.Numerics;
using System.Runtime.InteropServices;

namespace RedisClone.Storage.Values.Strings;

/// <summary>Strings as sequences of bits. The first bit of a byte is its most significant one.</summary>
public static class Bitmap
{
    public static bool Get(ReadOnlySpan<byte> bits, long position)
    {
        long at = position >> 3;
        return at < bits.Length && (bits[(int)at] >> (int)(~position & 7) & 1) != 0;
    }

    /// <summary>Sets one bit of an existing byte. Returns the old value.</summary>
    public static bool Set(Span<byte> bits, long position, bool value)
    {
        ref byte holder = ref bits[(int)(position >> 3)];
        int mask = 0x80 >> (int)(position & 7);
        bool before = (holder & mask) != 0;
        holder = (byte)(value ? holder | mask : holder & ~mask);
        return before;
    }

    /// <summary>Counts the ones from the first bit to the last, both included and both within the string.</summary>
    public static long Count(ReadOnlySpan<byte> bits, long first, long last)
    {
        int firstByte = (int)(first >> 3), lastByte = (int)(last >> 3);
        byte firstMask = HeadMask(first), lastMask = TailMask(last);
        if (firstByte == lastByte) return BitOperations.PopCount((uint)(bits[firstByte] & firstMask & lastMask));
        return BitOperations.PopCount((uint)(bits[firstByte] & firstMask))
            + Count(bits[(firstByte + 1)..lastByte])
            + BitOperations.PopCount((uint)(bits[lastByte] & lastMask));
    }

    public static long Count(ReadOnlySpan<byte> bits)
    {
        ReadOnlySpan<ulong> words = MemoryMarshal.Cast<byte, ulong>(bits);
        long a = 0, b = 0, c = 0, d = 0;
        int i = 0;
        // Four independent sums, so that no addition waits for the previous one.
        for (; i + 4 <= words.Length; i += 4)
        {
            a += BitOperations.PopCount(words[i]);
            b += BitOperations.PopCount(words[i + 1]);
            c += BitOperations.PopCount(words[i + 2]);
            d += BitOperations.PopCount(words[i + 3]);
        }
        for (; i < words.Length; i++) a += BitOperations.PopCount(words[i]);
        foreach (byte rest in bits[(words.Length * sizeof(ulong))..]) a += BitOperations.PopCount(rest);
        return a + b + c + d;
    }

    /// <summary>
    /// The position of the first bit with this value from the first bit to the last, both included and both within the string; -1
    /// if there is none.
    /// </summary>
    public static long Find(ReadOnlySpan<byte> bits, long first, long last, bool value)
    {
        int firstByte = (int)(first >> 3), lastByte = (int)(last >> 3);
        byte none = value ? (byte)0 : byte.MaxValue;
        // Bits outside the range are set to the opposite of the value searched for.
        byte head = Masked(bits[firstByte], HeadMask(first), none);
        if (firstByte == lastByte) return Place(Masked(head, TailMask(last), none), firstByte, none);
        if (head != none) return Place(head, firstByte, none);
        int between = bits[(firstByte + 1)..lastByte].IndexOfAnyExcept(none);
        if (between >= 0) return Place(bits[firstByte + 1 + between], firstByte + 1 + between, none);
        return Place(Masked(bits[lastByte], TailMask(last), none), lastByte, none);
    }

    private static byte HeadMask(long first) => (byte)(0xFF >> (int)(first & 7));

    private static byte TailMask(long last) => (byte)(0xFF << (int)(~last & 7));

    private static byte Masked(byte value, byte mask, byte none) => (byte)((value & mask) | (none & ~mask));

    private static long Place(byte value, int at, byte none) =>
        value == none ? -1 : 8L * at + BitOperations.LeadingZeroCount((uint)(byte)(value ^ none)) - 24;
}
