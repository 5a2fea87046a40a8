using System.Buffers.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// The line that ends every run of padding: <c>#RC1 fill chk=…</c>. A file that was filled with padding ends with this
/// line. If redis-server appends to the file after this server was killed, its first command begins directly after the
/// mark. The checksum covers the salt of the file and the offset of the mark, so no client value can imitate a mark.
/// </summary>
internal static class FillMark
{
    /// <summary>Even, like the length of the padding lines before it.</summary>
    public const int Length = 24;

    private const int CheckAt = 14;

    public static void Write(Span<byte> into, ulong salt, long offset)
    {
        "#RC1 fill chk="u8.CopyTo(into);
        uint check = Checksum.Finish(
            Checksum.Add(Checksum.Add(Checksum.Add(Checksum.Start, salt), (ulong)offset), into[..CheckAt]));
        Utf8Formatter.TryFormat(check, into[CheckAt..], out _, new('x', 8));
        "\r\n"u8.CopyTo(into[(Length - 2)..]);
    }

    /// <summary>
    /// Returns true if <paramref name="bytes"/>, found at <paramref name="offset"/> of the file, begin with a fill
    /// mark.
    /// </summary>
    public static bool IsAt(ReadOnlySpan<byte> bytes, ulong salt, long offset)
    {
        if (bytes.Length < Length || bytes[5] != (byte)'f') return false;
        Span<byte> expected = stackalloc byte[Length];
        Write(expected, salt, offset);
        return bytes.StartsWith(expected);
    }
}
