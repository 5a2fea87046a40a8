using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedisClone.Journal.Format;

/// <summary>
/// CRC-32C with the instruction of the processor. The instruction has a latency of three cycles and a throughput of one
/// per cycle. Long inputs are therefore summed as three independent parts, if the processor has carry-less
/// multiplication to combine the three sums.
/// </summary>
internal static class Checksum
{
    public const uint Start = 0xFFFFFFFF;

    /// <summary>The polynomial 0x1EDC6F41 with its bits reversed.</summary>
    private const uint Polynomial = 0x82F63B78;

    /// <summary>The length of each of the three parts, in 64-bit words.</summary>
    private const int Part = 64;

    // The factors that move a sum over one part and over two parts. The product of two reflected numbers is one bit too
    // low, and the CRC instruction that reduces the product shifts it by 32 bits. The exponents are therefore reduced
    // by 33.
    private static readonly Vector128<ulong> OverOne = Vector128.CreateScalar((ulong)PowerOfX(Part * 64 - 33));
    private static readonly Vector128<ulong> OverTwo = Vector128.CreateScalar((ulong)PowerOfX(Part * 128 - 33));

    public static uint Finish(uint state) => ~state;

    public static uint Add(uint state, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<ulong> words = MemoryMarshal.Cast<byte, ulong>(bytes);
        if (Pclmulqdq.IsSupported)
            for (; words.Length >= 3 * Part; words = words[(3 * Part)..]) state = AddThree(state, words);
        if (BitConverter.IsLittleEndian)
            foreach (ulong word in words) state = BitOperations.Crc32C(state, word);
        else
            foreach (ulong word in words) state = BitOperations.Crc32C(state, BinaryPrimitives.ReverseEndianness(word));
        foreach (byte b in bytes[(bytes.Length & ~7)..]) state = BitOperations.Crc32C(state, b);
        return state;
    }

    /// <summary>The state before these bytes were added.</summary>
    public static uint Undo(uint state, ReadOnlySpan<byte> bytes)
    {
        for (int i = bytes.Length - 1; i >= 0; i--)
        {
            for (int bit = 0; bit < 8; bit++) state = (int)state < 0 ? (state ^ Polynomial) << 1 | 1 : state << 1;
            state ^= bytes[i];
        }
        return state;
    }

    public static uint Add(uint state, ulong value) => BitOperations.Crc32C(state, value);

    private static uint AddThree(uint state, ReadOnlySpan<ulong> words)
    {
        ReadOnlySpan<ulong> first = words[..Part];
        ReadOnlySpan<ulong> second = words.Slice(Part, Part);
        ReadOnlySpan<ulong> third = words.Slice(2 * Part, Part);
        (uint a, uint b, uint c) = (state, 0u, 0u);
        for (int i = 0; i < Part; i++)
        {
            a = BitOperations.Crc32C(a, first[i]);
            b = BitOperations.Crc32C(b, second[i]);
            c = BitOperations.Crc32C(c, third[i]);
        }
        return Over(a, OverTwo) ^ Over(b, OverOne) ^ c;
    }

    private static uint Over(uint sum, Vector128<ulong> power) =>
        BitOperations.Crc32C(0, Pclmulqdq.CarrylessMultiply(Vector128.CreateScalar((ulong)sum), power, 0).ToScalar());

    /// <summary>Returns x to the power of n, modulo the polynomial, reflected.</summary>
    private static uint PowerOfX(int n)
    {
        uint power = 1u << 31;
        for (int i = 0; i < n; i++) power = (power & 1) != 0 ? (power >> 1) ^ Polynomial : power >> 1;
        return power;
    }
}
