using System.Buffers.Text;
using System.Globalization;
using System.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// The stream position of a base that consists of commands: an annotation in the first line of the file, which Redis
/// skips. An RDB base contains its position as an auxiliary field.
/// </summary>
public static class BasePosition
{
    private const int LongestLine = 32;

    private static ReadOnlySpan<byte> Tag => "#LSN:"u8;

    public static byte[] Line(long lsn) =>
        Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"#LSN:{lsn}\r\n"));

    /// <summary>Reads the position from the first bytes of a file. Returns -1 if the file states none.</summary>
    public static long Read(ReadOnlySpan<byte> head)
    {
        if (!head.StartsWith(Tag)) return -1;
        head = head[Tag.Length..Math.Min(head.Length, LongestLine)];
        return Utf8Parser.TryParse(head, out long lsn, out int used) && head[used..].StartsWith("\r\n"u8) ? lsn : -1;
    }
}
