namespace RedisClone.Journal.Format;

/// <summary>
/// A run of empty annotation lines, <c>#\n</c>. A file is filled with padding before groups are written to it, because
/// a flush after overwriting bytes costs half as much as a flush after extending the file. Redis skips padding that is
/// not yet overwritten.
/// </summary>
internal static class Padding
{
    /// <summary>The sector size. A write that is interrupted by a power loss ends at a multiple of this size.</summary>
    private const int TornAt = 512;

    private static readonly byte[] Lines = Fill(64 * 1024);

    public static ReadOnlySpan<byte> Line => "#\n"u8;

    /// <summary>
    /// Returns the offset at which a fill ends: at <paramref name="atLeast"/> or up to one sector and a mark later. The
    /// <see cref="FillMark"/> and the byte after it are in the same sector. A later group of this server therefore
    /// cannot reach the disk at that byte without overwriting the mark.
    /// </summary>
    public static long End(long atLeast) => (atLeast + TornAt - 1) / TornAt * TornAt + FillMark.Length;

    /// <summary>Adds padding to a list of parts to write. <paramref name="length"/> must be even.</summary>
    public static void Add(List<ReadOnlyMemory<byte>> parts, long length)
    {
        while (length > 0)
        {
            int part = (int)Math.Min(length, Lines.Length);
            parts.Add(Lines.AsMemory(0, part));
            length -= part;
        }
    }

    /// <summary>
    /// Returns the number of bytes at the start of <paramref name="bytes"/> that are whole lines of padding.
    /// </summary>
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
