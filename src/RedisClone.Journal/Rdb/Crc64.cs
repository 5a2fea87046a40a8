using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// CRC-64 with the Jones polynomial, reflected, with neither initial value nor final inversion: the checksum of RDB
/// files and of DUMP. Processes 64 bytes at a time if the processor has carry-less multiplication, otherwise eight
/// bytes at a time with tables.
/// </summary>
public static class Crc64
{
    /// <summary>The polynomial 0xAD93D23594C935A9 with its bits reversed.</summary>
    private const ulong Polynomial = 0x95AC9329AC4BC9B5;

    private const int FoldFrom = 256;

    private static readonly ulong[] Table = BuildTable();

    // The factors that move the two halves of an accumulator over 16 or 64 bytes. The product of two reflected numbers
    // is one bit too low, so the exponents are reduced by one.
    private static readonly Vector128<ulong> Over16 = Vector128.Create(PowerOfX(191), PowerOfX(127));
    private static readonly Vector128<ulong> Over64 = Vector128.Create(PowerOfX(575), PowerOfX(511));

    public static ulong Compute(ReadOnlySpan<byte> data) => Append(0, data);

    /// <summary>Continues a checksum with more data.</summary>
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

        // The accumulator is equivalent to the last 16 bytes of the message, so the table computes the final checksum
        // from it.
        Span<byte> last = stackalloc byte[16];
        MemoryMarshal.Write(last, in rest);
        return AppendByTable(AppendByTable(0, last), data[(data.Length & ~63)..]);
    }

    private static Vector128<ulong> Load(ReadOnlySpan<ulong> words, int at) => Vector128.Create(words[at], words[at + 1]);

    private static Vector128<ulong> Fold(Vector128<ulong> sum, Vector128<ulong> over) =>
        Pclmulqdq.CarrylessMultiply(sum, over, 0x00) ^ Pclmulqdq.CarrylessMultiply(sum, over, 0x11);

    /// <summary>Returns x to the power of n, modulo the polynomial, reflected.</summary>
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
