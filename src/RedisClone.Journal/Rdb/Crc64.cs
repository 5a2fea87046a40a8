using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// CRC-64 with Jones's polynomial, reflected, neither preset nor inverted: the checksum of RDB files and of DUMP. With carry-less
/// multiplication 64 bytes at a time where the processor has it, else eight with tables.
/// </summary>
public static class Crc64
{
    /// <summary>The polynomial 0xAD93D23594C935A9 with its bits reversed.</summary>
    private const ulong Polynomial = 0x95AC9329AC4BC9B5;

    private const int FoldFrom = 256;

    private static readonly ulong[] Table = BuildTable();

    // What the upper and the lower half of an accumulator are multiplied by to move it over 16 or 64 bytes. A product of two
    // reflected numbers comes out one bit low, hence the exponents less one.
    private static readonly Vector128<ulong> Over16 = Vector128.Create(PowerOfX(191), PowerOfX(127));
    private static readonly Vector128<ulong> Over64 = Vector128.Create(PowerOfX(575), PowerOfX(511));

    public static ulong Compute(ReadOnlySpan<byte> data) => Append(0, data);

    /// <summary>Continues a checksum.</summary>
    public static ulong Append(ulong crc, ReadOnlySpan<byte> data) =>
        Pclmulqdq.IsSupported && data.Length >= FoldFrom ? AppendFolding(crc, data) : AppendByTable(crc, data);

    internal static ulong AppendByTable(ulong crc, ReadOnlySpan<byte> data)
    {
        ReadOnlySpan<ulong> table = Table;
        while (data.Length >= 8)
        {
            crc ^= BinaryPrimitives.ReadUInt64LittleEndian(data);
            crc = table[7 * 256 + (byte)crc]
                ^ table[6 * 256 + (byte)(crc >> 8)]
                ^ table[5 * 256 + (byte)(crc >> 16)]
                ^ table[4 * 256 + (byte)(crc >> 24)]
                ^ table[3 * 256 + (byte)(crc >> 32)]
                ^ table[2 * 256 + (byte)(crc >> 40)]
                ^ table[1 * 256 + (byte)(crc >> 48)]
                ^ table[(int)(crc >> 56)];
            data = data[8..];
        }
        foreach (byte b in data) crc = (crc >> 8) ^ table[(byte)crc ^ b];
        return crc;
    }

    private static ulong AppendFolding(ulong crc, ReadOnlySpan<byte> data)
    {
        ReadOnlySpan<ulong> blocks = MemoryMarshal.Cast<byte, ulong>(data[..(data.Length & ~63)]);
        Vector128<ulong> a = Load(blocks, 0), b = Load(blocks, 2), c = Load(blocks, 4), d = Load(blocks, 6);
        a ^= Vector128.CreateScalar(crc);
        for (int i = 8; i < blocks.Length; i += 8)
        {
            a = Fold(a, Over64) ^ Load(blocks, i);
            b = Fold(b, Over64) ^ Load(blocks, i + 2);
            c = Fold(c, Over64) ^ Load(blocks, i + 4);
            d = Fold(d, Over64) ^ Load(blocks, i + 6);
        }
        Vector128<ulong> rest = Fold(Fold(Fold(a, Over16) ^ b, Over16) ^ c, Over16) ^ d;

        // The accumulator stands for sixteen bytes of message.
        Span<byte> last = stackalloc byte[16];
        MemoryMarshal.Write(last, in rest);
        return AppendByTable(AppendByTable(0, last), data[(data.Length & ~63)..]);
    }

    private static Vector128<ulong> Load(ReadOnlySpan<ulong> words, int at) => Vector128.Create(words[at], words[at + 1]);

    private static Vector128<ulong> Fold(Vector128<ulong> sum, Vector128<ulong> over) =>
        Pclmulqdq.CarrylessMultiply(sum, over, 0x00) ^ Pclmulqdq.CarrylessMultiply(sum, over, 0x11);

    /// <summary>x to the n, modulo the polynomial, reflected.</summary>
    private static ulong PowerOfX(int n)
    {
        ulong power = 1UL << 63;
        for (int i = 0; i < n; i++) power = (power & 1) != 0 ? (power >> 1) ^ Polynomial : power >> 1;
        return power;
    }

    private static ulong[] BuildTable()
    {
        ulong[] table = new ulong[8 * 256];
        for (int i = 0; i < 256; i++)
        {
            ulong crc = (ulong)i;
            for (int bit = 0; bit < 8; bit++) crc = (crc & 1) != 0 ? (crc >> 1) ^ Polynomial : crc >> 1;
            table[i] = crc;
        }
        for (int i = 256; i < table.Length; i++) table[i] = (table[i - 256] >> 8) ^ table[(byte)table[i - 256]];
        return table;
    }
}
