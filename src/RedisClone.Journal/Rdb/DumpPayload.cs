using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// The payload of DUMP and RESTORE: a type byte and a value as in an RDB, followed by the version of the format and a
/// checksum.
/// </summary>
public static class DumpPayload
{
    private const int FooterLength = 10;

    /// <summary>
    /// Completes a payload. <paramref name="writer"/> has written the type and the value since its last reset.
    /// </summary>
    public static void Finish(RdbWriter writer, int version)
    {
        writer.Byte((byte)version);
        writer.Byte((byte)(version >> 8));
        writer.Flush();
        Span<byte> crc = stackalloc byte[8];
        BinaryPrimitives.WriteUInt64LittleEndian(crc, writer.Crc);
        writer.Raw(crc);
        writer.Flush();
    }

    /// <summary>
    /// Returns true if the version of the payload is supported and its checksum is correct. Unlike in an RDB file, a
    /// checksum of zero is not accepted as absent. RESTORE refuses every other payload.
    /// </summary>
    public static bool IsValid(ReadOnlySpan<byte> payload, bool verifyChecksum = true)
    {
        if (payload.Length < FooterLength) return false;
        ReadOnlySpan<byte> footer = payload[^FooterLength..];
        if (BinaryPrimitives.ReadUInt16LittleEndian(footer) > RdbVersion.Highest) return false;
        return !verifyChecksum || BinaryPrimitives.ReadUInt64LittleEndian(footer[2..]) == Crc64.Compute(payload[..^8]);
    }

    /// <summary>
    /// Reads the value of a valid payload, which must end with the value. Returns null, or a description of the damage.
    /// </summary>
    public static string? Read(ReadOnlyMemory<byte> payload, IRdbValueVisitor visitor)
    {
        var reader = new RdbReader(payload[..^FooterLength]);
        if (!reader.TryByte(out byte type)) return reader.Error;
        return RdbValueReader.Read(reader, type, visitor) switch
        {
            RdbResult.Damaged => reader.Error,
            RdbResult.Empty => "a collection is empty",
            _ => reader.Remaining == 0 ? null : "data follows the value",
        };
    }

    /// <summary>
    /// Gets the value of a valid payload that has a long string as it is, without compression. Such a value needs no copy of the payload.
    /// </summary>
    public static bool TryLongString(ReadOnlySpan<byte> payload, out ReadOnlySpan<byte> value)
    {
        const int Header = 6;           // the type, the form of the length, and a length of 32 bits
        ReadOnlySpan<byte> content = payload[..^FooterLength];
        bool isLong = content.Length > Header && (RdbType)content[0] == RdbType.String && content[1] == 0x80
            && BinaryPrimitives.ReadUInt32BigEndian(content[2..]) == content.Length - Header;
        value = isLong ? content[Header..] : default;
        return isLong;
    }

    /// <summary>
    /// Returns the sources of the libraries in a valid payload of FUNCTION DUMP. The sequence ends with null if the
    /// payload contains anything else.
    /// </summary>
    public static IEnumerable<byte[]?> ReadFunctions(ReadOnlyMemory<byte> payload)
    {
        var reader = new RdbReader(payload[..^FooterLength]);
        while (reader.Remaining > 0)
        {
            byte[]? source = ReadFunction(reader);
            yield return source;
            if (source is null) yield break;
        }
    }

    private static byte[]? ReadFunction(RdbReader reader) =>
        reader.TryByte(out byte type) && type == RdbOpcode.Function && reader.TryString(out ReadOnlySpan<byte> source)
            ? source.ToArray()
            : null;
}
