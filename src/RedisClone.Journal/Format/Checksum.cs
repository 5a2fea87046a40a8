using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedisClone.Journal.Format;

/// <summary>
/// CRC-32C with the processor's instruction. Its result is there after three cycles, but each cycle can begin one: where the processor has
/// carry-less multiplication to put them together, three parts of what is long are summed side by side.
/// </summary>
internal static class Checksum
{
    public const uint Start = 0xFFFFFFFF;

    /// <summary>The polynomial 0x1EDC6F41 with its bits reversed.</summary>
    private const uint Polynomial = 0x82F63B78;

    /// <summary>Words of one of the three parts.</summary>
    private const int Part = 64;

    // What a sum is multiplied by to move it over one part and over two. The product of two reflected numbers comes out one bit low, and the
    // instruction that reduces it moves it by 32 bits: hence the exponents less 33.
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

    /// <summary>x to the n, modulo the polynomial, reflected.</summary>
    private static uint PowerOfX(int n)
    {
        uint power = 1u << 31;
        for (int i = 0; i < n; i++) power = (power & 1) != 0 ? (power >> 1) ^ Polynomial : power >> 1;
        return power;
    }
}
