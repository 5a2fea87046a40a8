using System.Runtime.CompilerServices;

namespace RedisClone.Storage.Memory;

/// <summary>
/// The hash slot of a key: CRC16 (XMODEM) of the key modulo 16384. If the key contains a hash tag, <c>{…}</c> with at least one byte,
/// only the bytes of the first tag count.
/// </summary>
/// <remarks>
/// The hash of a key of a cluster begins with its slot, so the slot determines the shard. The halves of the slot's bits are exchanged:
/// a node serves ranges of slots, and its shards share each range.
/// </remarks>
public static class KeySlot
{
    /// <summary>The number of slots.</summary>
    public const int Count = 16384;

    /// <summary>The number of bits of a hash below its slot.</summary>
    public const int HashShift = 64 - 2 * HalfBits;

    private const int HalfBits = 7;

    private const ushort Polynomial = 0x1021;

    /// <summary>Table k has the remainders of one byte followed by k zero bytes, so that four bytes take one step.</summary>
    private static readonly ushort[] Table0 = First(), Table1 = Next(Table0), Table2 = Next(Table1), Table3 = Next(Table2);

    public static int Of(ReadOnlySpan<byte> key)
    {
        int open = key.IndexOf((byte)'{');
        if (open >= 0)
        {
            int length = key[(open + 1)..].IndexOf((byte)'}');
            if (length > 0) key = key.Slice(open + 1, length);
        }
        return Crc16(key) & (Count - 1);
    }

    /// <summary>The hash of a key of a cluster.</summary>
    public static ulong HashOf(ReadOnlySpan<byte> key) => KeyHash.Of(key) & (1UL << HashShift) - 1 | HashOf(Of(key));

    /// <summary>A hash that belongs to a slot.</summary>
    public static ulong HashOf(int slot) => (ulong)Exchange(slot) << HashShift;

    /// <summary>The slot of a hash that <see cref="HashOf(ReadOnlySpan{byte})"/> returned.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int OfHash(ulong hash) => Exchange((int)(hash >> HashShift));

    /// <summary>The slot of all keys that a pattern with a star can make; -1 if they may have different slots.</summary>
    public static int OfPattern(ReadOnlySpan<byte> pattern)
    {
        int star = pattern.IndexOf((byte)'*'), open = pattern.IndexOf((byte)'{');
        if (star < 0) return Of(pattern);
        int length = open < 0 ? -1 : pattern[(open + 1)..].IndexOf((byte)'}');
        return length > 0 && open + 1 + length < star ? Of(pattern) : -1;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Crc16(ReadOnlySpan<byte> bytes)
    {
        int crc = 0;
        for (; bytes.Length >= 4; bytes = bytes[4..])
            crc = Table3[bytes[0] ^ crc >> 8] ^ Table2[bytes[1] ^ crc & 0xFF] ^ Table1[bytes[2]] ^ Table0[bytes[3]];
        foreach (byte next in bytes) crc = (crc << 8 & 0xFF00) ^ Table0[next ^ crc >> 8];
        return crc;
    }

    /// <summary>Exchanges the upper and the lower half of the bits of a slot.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Exchange(int slot) => slot >> HalfBits | slot << HalfBits & (Count - 1);

    private static ushort[] First()
    {
        ushort[] table = new ushort[256];
        for (int i = 0; i < table.Length; i++)
        {
            int crc = i << 8;
            for (int bit = 0; bit < 8; bit++) crc = (crc & 0x8000) != 0 ? crc << 1 ^ Polynomial : crc << 1;
            table[i] = (ushort)crc;
        }
        return table;
    }

    private static ushort[] Next(ushort[] table) =>
        Array.ConvertAll(table, crc => (ushort)(crc << 8 ^ Table0[crc >> 8]));
}
