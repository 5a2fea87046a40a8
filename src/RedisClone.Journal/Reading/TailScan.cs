using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>Looks at what lies beyond the first damage, where nothing can be trusted but what carries its own checksum.</summary>
internal static class TailScan
{
    /// <summary>
    /// The highest "durable" that a surviving header from <paramref name="from"/> on claims, or -1. A header's checksum includes
    /// the file's salt and its own offset, so that a value that imitates one, or is a copy of one, claims nothing.
    /// </summary>
    public static long HighestMark(FileWindow window, ulong salt, long from, out long markOffset)
    {
        long highest = -1;
        markOffset = 0;
        window.MoveTo(from);
        while (window.Fill(1))
        {
            window.Fill(Math.Min(window.Remaining, 64 * 1024));
            var bytes = window.Bytes;
            var at = bytes.IndexOf(GroupHeader.Tag);
            if (at < 0)
            {
                if (bytes.Length >= window.Remaining) return highest;

                // A line may begin in the last bytes of the window.
                window.Advance(bytes.Length - GroupHeader.Tag.Length + 1);
                continue;
            }
            window.Advance(at);
            window.Fill(Math.Min(window.Remaining, GroupHeader.MaxLength));
            if (GroupHeader.TryRead(window.Bytes, salt, window.Offset, out var header, out _) && header.Durable > highest)
            {
                highest = header.Durable;
                markOffset = window.Offset;
            }
            window.Advance(1);
        }
        return highest;
    }

    /// <summary>The offset after the last byte that is not zero, or <paramref name="from"/>.</summary>
    public static long EndWithoutZeros(FileWindow window, long from)
    {
        var end = from;
        window.MoveTo(from);
        while (window.Fill(1))
        {
            window.Fill(Math.Min(window.Remaining, 64 * 1024));
            var last = window.Bytes.LastIndexOfAnyExcept((byte)0);
            if (last >= 0) end = window.Offset + last + 1;
            window.Advance(window.Bytes.Length);
        }
        return end;
    }

    /// <summary>How many bytes from <paramref name="from"/> on are neither zeros nor padding: what a cut there loses.</summary>
    public static long Substance(FileWindow window, long from)
    {
        long count = 0;
        window.MoveTo(from);
        while (window.Fill(1))
        {
            window.Fill(Math.Min(window.Remaining, 64 * 1024));
            var bytes = window.Bytes;
            var skip = Padding.Count(bytes);
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
