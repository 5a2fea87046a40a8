namespace RedisClone.Journal.Rdb;

/// <summary>
/// The compression of RDB strings. A control byte below 32 announces that many literals plus one; else its upper three bits
/// are a length less two (seven: a byte more follows), and the lower five with the next byte a distance less one.
/// </summary>
public static class Lzf
{
    private const int HashBits = 13;
    private const int MaxLiterals = 32;
    private const int MaxDistance = 1 << 13;
    private const int MaxMatch = 264;

    /// <summary>Three bytes stand for at most this many.</summary>
    public const int MaxExpansion = MaxMatch / 3;

    /// <summary>What <see cref="TryCompress"/> needs as memory; its content does not matter.</summary>
    public const int HashSize = 1 << HashBits;

    /// <summary>
    /// Compresses into <paramref name="output"/>. False when the result would not fit, which is how the caller says how much
    /// it must gain.
    /// </summary>
    public static bool TryCompress(ReadOnlySpan<byte> input, Span<byte> output, Span<int> hashes, out int length)
    {
        // What an earlier run left in the hashes is checked like any other guess.
        length = 0;
        var written = 0;
        var literals = 0;
        var at = 0;
        while (at + 2 < input.Length)
        {
            var key = input[at] << 16 | input[at + 1] << 8 | input[at + 2];
            ref var slot = ref hashes[(int)((uint)(key * 0x9E3779B1) >> (32 - HashBits))];
            var candidate = slot;
            slot = at;
            var distance = at - candidate;
            if (distance <= 0 || distance > MaxDistance || candidate < 0
                || input[candidate] != input[at] || input[candidate + 1] != input[at + 1] || input[candidate + 2] != input[at + 2])
            {
                at++;
                if (++literals == MaxLiterals && !FlushLiterals(input, ref literals, at, output, ref written)) return false;
                continue;
            }
            var longest = Math.Min(input.Length - at, MaxMatch);
            var match = 3 + input.Slice(at + 3, longest - 3).CommonPrefixLength(input.Slice(candidate + 3, longest - 3));
            if (!FlushLiterals(input, ref literals, at, output, ref written) || written + 3 > output.Length) return false;
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
        }
        while (at < input.Length)
        {
            at++;
            if (++literals == MaxLiterals && !FlushLiterals(input, ref literals, at, output, ref written)) return false;
        }
        if (!FlushLiterals(input, ref literals, at, output, ref written)) return false;
        length = written;
        return true;
    }

    /// <summary>Fills <paramref name="output"/> exactly, or returns false: the input is damaged.</summary>
    public static bool TryDecompress(ReadOnlySpan<byte> input, Span<byte> output)
    {
        var at = 0;
        var written = 0;
        while (at < input.Length)
        {
            int control = input[at++];
            if (control < MaxLiterals)
            {
                var count = control + 1;
                if (count > input.Length - at || count > output.Length - written) return false;
                input.Slice(at, count).CopyTo(output[written..]);
                at += count;
                written += count;
                continue;
            }
            var length = control >> 5;
            if (length == 7)
            {
                if (at == input.Length) return false;
                length += input[at++];
            }
            length += 2;
            if (at == input.Length) return false;
            var distance = ((control & 31) << 8 | input[at++]) + 1;
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

        // The match overlaps what it writes: a run, byte by byte.
        for (var i = 0; i < length; i++) output[at + i] = output[at + i - distance];
    }

    private static bool FlushLiterals(ReadOnlySpan<byte> input, ref int literals, int end, Span<byte> output, ref int written)
    {
        if (literals == 0) return true;
        if (written + 1 + literals > output.Length) return false;
        output[written++] = (byte)(literals - 1);
        input.Slice(end - literals, literals).CopyTo(output[written..]);
        written += literals;
        literals = 0;
        return true;
    }
}
