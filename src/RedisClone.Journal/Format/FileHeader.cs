using System.Buffers.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// The two lines that every increment of ours begins with: <c>#RC1 file=1 salt=… copy=0 chk=…</c>. The salt is random, and
/// goes into every checksum of the file, so that bytes of another file (or of a client's value) never verify here.
/// The line stands twice because without the salt nothing else in the file can be verified.
/// </summary>
internal static class FileHeader
{
    public const int Version = 1;
    public const int CopyLength = 56;
    public const int Length = 2 * CopyLength;

    /// <summary>What an increment of ours, of any version, begins with.</summary>
    public static ReadOnlySpan<byte> Magic => "#RC1 file="u8;

    public static void Write(Span<byte> into, ulong salt)
    {
        WriteCopy(into[..CopyLength], salt, 0);
        WriteCopy(into.Slice(CopyLength, CopyLength), salt, 1);
    }

    /// <summary>Reads one copy, which must be exact to the bit. False when it is not a header of this version.</summary>
    public static bool TryReadCopy(ReadOnlySpan<byte> file, int copy, out ulong salt)
    {
        salt = 0;
        if (file.Length < (copy + 1) * CopyLength) return false;
        ReadOnlySpan<byte> line = file.Slice(copy * CopyLength, CopyLength);
        if (!Utf8Parser.TryParse(line.Slice(17, 16), out salt, out int used, 'x') || used != 16) return false;
        Span<byte> expected = stackalloc byte[CopyLength];
        WriteCopy(expected, salt, copy);
        return line.SequenceEqual(expected);
    }

    /// <summary>The version a damaged or foreign header claims, or 0.</summary>
    public static int ClaimedVersion(ReadOnlySpan<byte> file) =>
        file.StartsWith(Magic) && Utf8Parser.TryParse(file[Magic.Length..], out int version, out _) ? version : 0;

    private static void WriteCopy(Span<byte> line, ulong salt, int copy)
    {
        "#RC1 file=1 salt="u8.CopyTo(line);
        Utf8Formatter.TryFormat(salt, line[17..], out _, new('x', 16));
        " copy=0  chk="u8.CopyTo(line[33..]);
        line[39] = (byte)('0' + copy);
        uint check = Checksum.Finish(Checksum.Add(Checksum.Start, line[..46]));
        Utf8Formatter.TryFormat(check, line[46..], out _, new('x', 8));
        "\r\n"u8.CopyTo(line[54..]);
    }
}
