using System.Buffers.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// The first two lines of every increment that this server writes: <c>#RC1 file=1 salt=… copy=0 chk=…</c>. The salt is
/// random and is part of every checksum in the file. Bytes from another file or from a client's value therefore never
/// verify in this file. The line is stored twice, because nothing in the file can be verified without the salt.
/// </summary>
internal static class FileHeader
{
    public const int Version = 1;
    public const int CopyLength = 56;
    public const int Length = 2 * CopyLength;

    /// <summary>The first bytes of an increment of this server, in every version of the format.</summary>
    public static ReadOnlySpan<byte> Magic => "#RC1 file="u8;

    public static void Write(Span<byte> into, ulong salt)
    {
        WriteCopy(into[..CopyLength], salt, 0);
        WriteCopy(into.Slice(CopyLength, CopyLength), salt, 1);
    }

    /// <summary>Reads one copy. Returns false unless every byte matches a header of this version.</summary>
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

    /// <summary>Returns the version that a damaged or unknown header states, or 0.</summary>
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
