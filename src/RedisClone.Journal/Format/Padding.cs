namespace RedisClone.Journal.Format;

/// <summary>
/// Padding is a run of empty annotation lines, <c>#\n</c>: a file is filled with it ahead of the groups, since a flush of bytes
/// that overwrite others costs half of a flush that lengthens the file. What is not yet overwritten, Redis skips.
/// </summary>
internal static class Padding
{
    /// <summary>A device tears a write at multiples of this.</summary>
    private const int TornAt = 512;

    private static readonly byte[] Lines = Fill(64 * 1024);

    public static ReadOnlySpan<byte> Line => "#\n"u8;

    /// <summary>
    /// Where to end a filling, at <paramref name="atLeast"/> or a little behind. Its <see cref="FillMark"/> and the place behind it are in
    /// one sector: a later group of ours cannot come to the disk there without overwriting the mark.
    /// </summary>
    public static long End(long atLeast) => (atLeast + TornAt - 1) / TornAt * TornAt + FillMark.Length;

    /// <summary>Adds <paramref name="length"/> (even) bytes of padding to a list of parts to write.</summary>
    public static void Add(List<ReadOnlyMemory<byte>> parts, long length)
    {
        while (length > 0)
        {
            int part = (int)Math.Min(length, Lines.Length);
            parts.Add(Lines.AsMemory(0, part));
            length -= part;
        }
    }

    /// <summary>How many bytes of whole padding lines <paramref name="bytes"/> begin with.</summary>
    public static int Count(ReadOnlySpan<byte> bytes)
    {
        int count = 0;
        while (count < bytes.Length)
        {
            int part = Math.Min(bytes.Length - count, Lines.Length);
            int same = bytes.Slice(count, part).CommonPrefixLength(Lines.AsSpan(0, part));
            count += same;
            if (same < part) break;
        }
        return count & ~1;
    }

    private static byte[] Fill(int length)
    {
        byte[] lines = new byte[length];
        for (int i = 0; i < length; i += Line.Length) Line.CopyTo(lines.AsSpan(i));
        return lines;
    }
}
