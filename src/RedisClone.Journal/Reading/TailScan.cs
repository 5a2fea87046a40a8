using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>The information in headers and fill marks after some offset.</summary>
/// <param name="Durable">The highest "durable" value of a header, or -1.</param>
/// <param name="Offset">The offset of that header.</param>
/// <param name="RedisAt">
/// The offset at which Redis appended directly after a group or mark of this server, or -1.
/// </param>
internal readonly record struct TailFindings(long Durable, long Offset, long RedisAt);

/// <summary>
/// Examines the bytes after the first damage, where only lines with their own checksum can be trusted.
/// </summary>
internal static class TailScan
{
    /// <summary>
    /// Searches for lines of this server, starting at <paramref name="from"/>. The checksum of a line includes the salt
    /// of the file and the offset of the line, so an imitation or a copy in a value does not verify. Lines that are a little away from
    /// their offset count too: a power loss moves nothing, so bytes were removed or added before them.
    /// </summary>
    public static TailFindings Survivors(FileWindow window, ulong salt, long from)
    {
        (long highest, long highestAt, long redisAt) = (-1L, 0L, -1L);
        window.MoveTo(from);
        while (window.Fill(1))
        {
            window.Fill(Math.Min(window.Remaining, 64 * 1024));
            ReadOnlySpan<byte> bytes = window.Bytes;
            int at = bytes.IndexOf(GroupHeader.Tag);
            if (at < 0)
            {
                if (bytes.Length >= window.Remaining) break;

                // A line may begin in the last bytes of the window.
                window.Advance(bytes.Length - GroupHeader.Tag.Length + 1);
                continue;
            }
            window.Advance(at);
            window.Fill(Math.Min(window.Remaining, GroupHeader.MaxLength));
            long end = 0L;
            if (GroupHeader.TryReadMoved(window.Bytes, salt, window.Offset, out GroupHeader header, out int length))
            {
                if (header.Durable > highest) (highest, highestAt) = (header.Durable, window.Offset);
                end = length + header.Payload;
            }
            else if (FillMark.IsAt(window.Bytes, salt, window.Offset))
            {
                end = FillMark.Length;
            }
            if (end > 0 && end < window.Remaining && window.Fill(Math.Min(window.Remaining, end + CommandRegion.BeginningLength))
                && CommandRegion.BeginsWithRedis(window.Bytes[(int)end..])) redisAt = window.Offset + end;
            window.Advance(1);
        }
        return new(highest, highestAt, redisAt);
    }

    /// <summary>Returns the offset after the last byte that is not zero, or <paramref name="from"/>.</summary>
    public static long EndWithoutZeros(FileWindow window, long from)
    {
        long end = from;
        window.MoveTo(from);
        while (window.Fill(1))
        {
            window.Fill(Math.Min(window.Remaining, 64 * 1024));
            int last = window.Bytes.LastIndexOfAnyExcept((byte)0);
            if (last >= 0) end = window.Offset + last + 1;
            window.Advance(window.Bytes.Length);
        }
        return end;
    }

    /// <summary>
    /// Returns the number of bytes from <paramref name="from"/> on that are neither zeros nor padding, which is the
    /// loss of a cut at that offset.
    /// </summary>
    public static long Substance(FileWindow window, ulong salt, long from)
    {
        long count = 0;
        window.MoveTo(from);
        while (window.Fill(1))
        {
            window.Fill(Math.Min(window.Remaining, 64 * 1024));
            ReadOnlySpan<byte> bytes = window.Bytes;
            int skip = FillMark.IsAt(bytes, salt, window.Offset) ? FillMark.Length : Padding.Count(bytes);
            if (skip == 0)
            {
                skip = bytes.IndexOfAnyExcept((byte)0);
                if (skip < 0) skip = bytes.Length;
            }
            if (skip == 0)
            {
                skip = bytes.IndexOfAny((byte)0, (byte)'#');
                if (skip < 0) skip = bytes.Length;
                if (skip == 0) skip = 1;
                count += skip;
            }
            window.Advance(skip);
        }
        return count;
    }
}
