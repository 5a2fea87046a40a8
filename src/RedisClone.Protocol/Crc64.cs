using System.Buffers.Binary;

namespace RedisClone.Protocol;

/// <summary>CRC-64 with Jones's polynomial, reflected, neither inverted nor preset: the checksum of DUMP and of RDB files.</summary>
public static class Crc64
{
    /// <summary>The polynomial 0xAD93D23594C935A9 with its bits reversed.</summary>
    private const ulong Polynomial = 0x95AC9329AC4BC9B5;

    /// <summary>Entry 256 * k + b: what byte b, with k bytes behind it, contributes.</summary>
    private static readonly ulong[] Table = BuildTable();

    public static ulong Compute(ReadOnlySpan<byte> data) => Append(0, data);

    /// <summary>Continues a checksum; eight bytes at a time.</summary>
    public static ulong Append(ulong crc, ReadOnlySpan<byte> data)
    {
        ReadOnlySpan<ulong> table = Table;
        while (data.Length >= 8)
        {
            crc ^= BinaryPrimitives.ReadUInt64LittleEndian(data);
            crc = table[(7 * 256) + (byte)crc]
                ^ table[(6 * 256) + (byte)(crc >> 8)]
                ^ table[(5 * 256) + (byte)(crc >> 16)]
                ^ table[(4 * 256) + (byte)(crc >> 24)]
                ^ table[(3 * 256) + (byte)(crc >> 32)]
                ^ table[(2 * 256) + (byte)(crc >> 40)]
                ^ table[(1 * 256) + (byte)(crc >> 48)]
                ^ table[(int)(crc >> 56)];
            data = data[8..];
        }
        foreach (byte b in data) crc = (crc >> 8) ^ table[(byte)crc ^ b];
        return crc;
    }

    private static ulong[] BuildTable()
    {
        var table = new ulong[8 * 256];
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
