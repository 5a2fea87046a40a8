using System.Buffers.Text;
using System.Globalization;
using System.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// Where in the stream a base of commands stands: an annotation in its first line, which Redis skips. An RDB says it in itself.
/// </summary>
public static class BasePosition
{
    private const int LongestLine = 32;

    private static ReadOnlySpan<byte> Tag => "#LSN:"u8;

    public static byte[] Line(long lsn) => Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"#LSN:{lsn}\r\n"));

    /// <summary>The position that the beginning of a file says, -1 when it says none.</summary>
    public static long Read(ReadOnlySpan<byte> head)
    {
        if (!head.StartsWith(Tag)) return -1;
        head = head[Tag.Length..Math.Min(head.Length, LongestLine)];
        return Utf8Parser.TryParse(head, out long lsn, out int used) && head[used..].StartsWith("\r\n"u8) ? lsn : -1;
    }
}
