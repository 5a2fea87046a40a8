using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>What headers and fill marks that survived beyond some offset say.</summary>
/// <param name="Durable">The highest "durable" of a header, or -1.</param>
/// <param name="Offset">Where it stands.</param>
/// <param name="RedisAt">Where Redis began to append right behind what is ours, or -1.</param>
internal readonly record struct TailFindings(long Durable, long Offset, long RedisAt);

/// <summary>Looks at what lies beyond the first damage, where nothing can be trusted but what carries its own checksum.</summary>
internal static class TailScan
{
    /// <summary>
    /// Looks for lines of ours from <paramref name="from"/> on. Their checksums include the file's salt and their own offset, so that
    /// a value that imitates one, or is a copy of one, says nothing.
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
            if (GroupHeader.TryRead(window.Bytes, salt, window.Offset, out GroupHeader header, out int length))
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

    /// <summary>The offset after the last byte that is not zero, or <paramref name="from"/>.</summary>
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

    /// <summary>How many bytes from <paramref name="from"/> on are neither zeros nor padding: what a cut there loses.</summary>
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
