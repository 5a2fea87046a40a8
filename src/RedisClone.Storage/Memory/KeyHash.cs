using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Memory;

namespace RedisClone.Storage.Memory;

/// <summary>
/// The 64-bit hash of keys and members: multiply-and-fold with random seeds of the process, so a client cannot prepare keys that
/// collide. The upper bits choose the shard. The lower 32 bits are the tag in a bucket.
/// </summary>
public static class KeyHash
{
    private static readonly ulong Seed0 = RandomWord(), Seed1 = RandomWord() | 1, Seed2 = RandomWord() | 1;

    public static ulong Of(ReadOnlySpan<byte> bytes)
    {
        ulong state = Seed0 ^ (ulong)bytes.Length * 0x9E3779B97F4A7C15;
        while (bytes.Length > 16)
        {
            state = Fold(Word(bytes) ^ state, Word(bytes[8..]) ^ Seed1);
            bytes = bytes[16..];
        }
        ulong low, high;
        if (bytes.Length >= 8)
        {
            low = Word(bytes);
            high = Word(bytes[(bytes.Length - 8)..]);
        }
        else if (bytes.Length >= 4)
        {
            low = BinaryPrimitives.ReadUInt32LittleEndian(bytes);
            high = BinaryPrimitives.ReadUInt32LittleEndian(bytes[(bytes.Length - 4)..]);
        }
        else if (bytes.Length > 0)
        {
            low = (ulong)(bytes[0] << 16 | bytes[bytes.Length >> 1] << 8 | bytes[^1]);
            high = 0;
        }
        else
        {
            low = high = 0;
        }
        state = Fold(low ^ state, high ^ Seed1);
        return Fold(state, Seed2);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Word(ReadOnlySpan<byte> bytes) => BinaryPrimitives.ReadUInt64LittleEndian(bytes);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Fold(ulong a, ulong b)
    {
        ulong high = Math.BigMul(a, b, out ulong low);
        return high ^ low;
    }

    private static ulong RandomWord()
    {
        Span<byte> bytes = stackalloc byte[8];
        SystemRandom.Fill(bytes);
        return MemoryMarshal.Read<ulong>(bytes);
    }
}
