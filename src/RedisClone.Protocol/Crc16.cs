namespace RedisClone.Protocol;

/// <summary>CRC-16/XMODEM, and with it the hash slot of a key in a cluster.</summary>
public static class Crc16
{
    public const int Slots = 16384;

    private static readonly ushort[] Table = BuildTable();

    public static ushort Compute(ReadOnlySpan<byte> data)
    {
        ushort crc = 0;
        foreach (byte b in data) crc = (ushort)((crc << 8) ^ Table[(crc >> 8) ^ b]);
        return crc;
    }

    public static int Slot(ReadOnlySpan<byte> key) => Compute(HashTag(key)) & (Slots - 1);

    /// <summary>
    /// The part of the key that decides: what stands between the first '{' and the first '}' behind it, unless that is
    /// nothing; else the whole key.
    /// </summary>
    public static ReadOnlySpan<byte> HashTag(ReadOnlySpan<byte> key)
    {
        int open = key.IndexOf((byte)'{');
        if (open < 0) return key;
        int length = key[(open + 1)..].IndexOf((byte)'}');
        return length > 0 ? key.Slice(open + 1, length) : key;
    }

    private static ushort[] BuildTable()
    {
        var table = new ushort[256];
        for (int i = 0; i < 256; i++)
        {
            int crc = i << 8;
            for (int bit = 0; bit < 8; bit++) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
            table[i] = (ushort)crc;
        }
        return table;
    }
}
