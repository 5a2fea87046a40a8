using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.InteropServices;

namespace RedisClone.Journal.Format;

/// <summary>CRC-32C with the processor's instruction.</summary>
internal static class Checksum
{
    public const uint Start = 0xFFFFFFFF;

    public static uint Finish(uint state) => ~state;

    public static uint Add(uint state, ReadOnlySpan<byte> bytes)
    {
        var words = MemoryMarshal.Cast<byte, ulong>(bytes);
        if (BitConverter.IsLittleEndian)
            foreach (var word in words) state = BitOperations.Crc32C(state, word);
        else
            foreach (var word in words) state = BitOperations.Crc32C(state, BinaryPrimitives.ReverseEndianness(word));
        bytes = bytes[(words.Length * sizeof(ulong))..];
        foreach (var b in bytes) state = BitOperations.Crc32C(state, b);
        return state;
    }

    public static uint Add(uint state, ulong value) => BitOperations.Crc32C(state, value);
}
