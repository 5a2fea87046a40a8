using System.Buffers.Binary;
using System.Numerics;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// The compression of RDB strings. A control byte below 32 is the number of literals that follow, minus one. In any
/// other control byte the upper three bits are the match length minus two (seven means that another byte of the length
/// follows). The lower five bits, together with the next byte, are the distance minus one.
/// </summary>
public static class Lzf
{
    private const int HashBits = 13;
    private const int LeastHashBits = 8;
    private const uint ThreeBytes = 0xFFFFFF;
    private const int Patience = 4, MostSkipped = 7;
    private const int MaxLiterals = 32;
    private const int MaxDistance = 1 << 13;
    private const int MaxMatch = 264;

    /// <summary>
    /// The highest ratio of output to input: three input bytes encode at most one match of the maximum length.
    /// </summary>
    public const int MaxExpansion = MaxMatch / 3;

    /// <summary>
    /// The length of the buffer that <see cref="TryCompress"/> requires. Its content does not matter.
    /// </summary>
    public const int HashSize = 1 << HashBits;

    /// <summary>
    /// Compresses into <paramref name="output"/>. Returns false if the result does not fit. The caller chooses the
    /// length of the output to require a minimum gain.
    /// </summary>
    public static bool TryCompress(ReadOnlySpan<byte> input, Span<byte> output, Span<int> hashes, out int length)
    {
        // A short input needs few hash slots. Using all of them would evict useful data from the cache.
        int shift = 32 - Math.Clamp(BitOperations.Log2((uint)input.Length | 1) + 1, LeastHashBits, HashBits);
        length = 0;
        int written = 0;
        int literals = 0;               // the start of the input that is not yet written
        int at = 0;
        while (at + sizeof(uint) <= input.Length)
        {
            uint next = BinaryPrimitives.ReadUInt32LittleEndian(input[at..]);
            ref int slot = ref hashes[(int)((next & ThreeBytes) * 0x9E3779B1 >> shift)];
            int candidate = slot;
            slot = at;

            // Slots that an earlier call filled are verified like every other candidate.
            int distance = at - candidate;
            if ((uint)(distance - 1) >= (uint)Math.Min(at, MaxDistance)
                || ((BinaryPrimitives.ReadUInt32LittleEndian(input[candidate..]) ^ next) & ThreeBytes) != 0)
            {
                // The step grows while no match is found, so incompressible input is rejected quickly. The step is
                // bounded, so later repetitions are still found.
                at += 1 + Math.Min((at - literals) >> Patience, MostSkipped);
                continue;
            }
            int longest = Math.Min(input.Length - at, MaxMatch);
            int match = 3 + input.Slice(at + 3, longest - 3).CommonPrefixLength(input.Slice(candidate + 3, longest - 3));
            if (!TryWriteLiterals(input[literals..at], output, ref written) || written + 3 > output.Length) return false;
            distance--;
            if (match - 2 < 7)
            {
                output[written++] = (byte)((match - 2) << 5 | distance >> 8);
            }
            else
            {
                output[written++] = (byte)(7 << 5 | distance >> 8);
                output[written++] = (byte)(match - 9);
            }
            output[written++] = (byte)distance;
            at += match;
            literals = at;
        }
        if (!TryWriteLiterals(input[literals..], output, ref written)) return false;
        length = written;
        return true;
    }

    /// <summary>
    /// Decompresses into <paramref name="output"/> and fills it exactly. Returns false if the input is damaged.
    /// </summary>
    public static bool TryDecompress(ReadOnlySpan<byte> input, Span<byte> output)
    {
        int at = 0;
        int written = 0;
        while (at < input.Length)
        {
            int control = input[at++];
            if (control < MaxLiterals)
            {
                int count = control + 1;
                if (count > input.Length - at || count > output.Length - written) return false;
                input.Slice(at, count).CopyTo(output[written..]);
                at += count;
                written += count;
                continue;
            }
            int length = control >> 5;
            if (length == 7)
            {
                if (at == input.Length) return false;
                length += input[at++];
            }
            length += 2;
            if (at == input.Length) return false;
            int distance = ((control & 31) << 8 | input[at++]) + 1;
            if (distance > written || length > output.Length - written) return false;
            CopyBack(output, written, distance, length);
            written += length;
        }
        return written == output.Length;
    }

    private static void CopyBack(Span<byte> output, int at, int distance, int length)
    {
        if (distance >= length)
        {
            output.Slice(at - distance, length).CopyTo(output[at..]);
            return;
        }

        // The match overlaps its own output, so it is copied byte by byte.
        for (int i = 0; i < length; i++) output[at + i] = output[at + i - distance];
    }

    private static bool TryWriteLiterals(ReadOnlySpan<byte> literals, Span<byte> output, ref int written)
    {
        while (!literals.IsEmpty)
        {
            int run = Math.Min(literals.Length, MaxLiterals);
            if (written + 1 + run > output.Length) return false;
            output[written++] = (byte)(run - 1);
            literals[..run].CopyTo(output[written..]);
            written += run;
            literals = literals[run..];
        }
        return true;
    }
}
