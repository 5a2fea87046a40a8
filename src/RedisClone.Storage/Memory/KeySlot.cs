using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

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

    /// <summary>The quotient of x^80 and the polynomial, without its highest bit.</summary>
    private const ulong Quotient = 0x11303471A041B343;

    /// <summary>The remainders of one byte, for processors without a product of polynomials.</summary>
    private static readonly ushort[] s_table = MakeTable();

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

    private static int Crc16(ReadOnlySpan<byte> bytes)
    {
        if (!Pclmulqdq.IsSupported || bytes.Length < sizeof(ulong)) return Crc16ByTable(bytes);
        // Zeros in front of the key do not change the remainder, so the first step takes what is more than whole words.
        int first = bytes.Length % sizeof(ulong);
        ulong crc = first == 0 ? 0 : Remainder(BinaryPrimitives.ReadUInt64BigEndian(bytes) >> 8 * (sizeof(ulong) - first));
        for (bytes = bytes[first..]; bytes.Length >= sizeof(ulong); bytes = bytes[sizeof(ulong)..])
            crc = Remainder(BinaryPrimitives.ReadUInt64BigEndian(bytes) ^ crc << 48);
        return (int)crc;
    }

    /// <summary>
    /// The remainder of a word followed by 16 zero bits (Barrett reduction). The upper half of the product of the word and the constant is
    /// the quotient; the lowest 16 bits of the product of quotient and polynomial are the remainder.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Remainder(ulong word)
    {
        Vector128<ulong> product = Pclmulqdq.CarrylessMultiply(Vector128.CreateScalar(word), Vector128.CreateScalar(Quotient), 0);
        Vector128<ulong> quotient = Vector128.CreateScalar(word ^ product.GetElement(1));
        return (ushort)Pclmulqdq.CarrylessMultiply(quotient, Vector128.CreateScalar((ulong)Polynomial), 0).ToScalar();
    }

    private static int Crc16ByTable(ReadOnlySpan<byte> bytes)
    {
        int crc = 0;
        foreach (byte next in bytes) crc = (crc << 8 & 0xFF00) ^ s_table[next ^ crc >> 8];
        return crc;
    }

    /// <summary>Exchanges the upper and the lower half of the bits of a slot.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Exchange(int slot) => slot >> HalfBits | slot << HalfBits & (Count - 1);

    private static ushort[] MakeTable()
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
}
