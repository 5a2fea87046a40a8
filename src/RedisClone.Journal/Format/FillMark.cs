using System.Buffers.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// The last line of every filling with padding: <c>#RC1 fill chk=…</c>. A file that was filled ends with it, so whoever appends to
/// the file (redis-server, after a kill of this server) begins right behind it. Its checksum covers the file's salt and its own
/// offset, so no value imitates it.
/// </summary>
internal static class FillMark
{
    /// <summary>Even, as the lines of padding before it are.</summary>
    public const int Length = 24;

    private const int CheckAt = 14;

    public static void Write(Span<byte> into, ulong salt, long offset)
    {
        "#RC1 fill chk="u8.CopyTo(into);
        uint check = Checksum.Finish(Checksum.Add(Checksum.Add(Checksum.Add(Checksum.Start, salt), (ulong)offset), into[..CheckAt]));
        Utf8Formatter.TryFormat(check, into[CheckAt..], out _, new('x', 8));
        "\r\n"u8.CopyTo(into[(Length - 2)..]);
    }

    /// <summary>Whether <paramref name="bytes"/>, which stand at <paramref name="offset"/> of their file, begin with it.</summary>
    public static bool IsAt(ReadOnlySpan<byte> bytes, ulong salt, long offset)
    {
        if (bytes.Length < Length || bytes[5] != (byte)'f') return false;
        Span<byte> expected = stackalloc byte[Length];
        Write(expected, salt, offset);
        return bytes.StartsWith(expected);
    }
}
