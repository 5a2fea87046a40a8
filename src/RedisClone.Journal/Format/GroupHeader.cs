using System.Buffers;
using System.Buffers.Binary;
using System.Buffers.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// The annotation line before each group: <c>#RC1 lsn=… durable=… len=… crc=… chk=…</c>. A group holds the bytes of the
/// global stream from <see cref="Lsn"/> to <see cref="Lsn"/> + <see cref="Payload"/>. An LSN is a position in that
/// stream. A group without payload is a mark: it states only how far the journal is durable.
/// </summary>
/// <remarks>
/// <c>chk</c> covers the line, the salt of the file and the offset of the line in the file. A line in a client's value
/// therefore never verifies at another offset, even if it is copied from the same file. Lines and groups have even
/// lengths. The padding after a group, which consists of two-byte lines, therefore always begins with a whole line.
/// </remarks>
internal readonly record struct GroupHeader(long Lsn, long Durable, long Payload, uint Crc)
{
    /// <summary>
    /// Redis reads an annotation line into a buffer of 128 bytes in some places, including the terminating zero.
    /// </summary>
    public const int MaxLength = 126;

    /// <summary>The first bytes of every line that this server adds to a file.</summary>
    public static ReadOnlySpan<byte> Tag => "#RC1 "u8;

    public static ReadOnlySpan<byte> Magic => "#RC1 lsn="u8;

    private static readonly SearchValues<byte> Digits = SearchValues.Create("0123456789abcdef"u8);

    private static ReadOnlySpan<byte> DurableKey => " durable="u8;
    private static ReadOnlySpan<byte> LengthKey => " len="u8;
    private static ReadOnlySpan<byte> CrcKey => " crc="u8;

    private static ReadOnlySpan<byte> CheckKey => " chk="u8;

    /// <summary>How far from its offset <see cref="TryReadMoved"/> finds a line.</summary>
    private const int MostMoved = 1 << 20;

    /// <summary>The length of the line from its last key to its end.</summary>
    private const int EndLength = 15;

    public long End => Lsn + Payload;

    public static uint StartCrc(ulong salt, long lsn) => Checksum.Add(Checksum.Add(Checksum.Start, salt), (ulong)lsn);

    /// <summary>Writes the line and returns its length. The sum of the line and payload lengths is even.</summary>
    public int Write(Span<byte> into, ulong salt, long offset)
    {
        var line = new LineBuilder(into);
        line.Text(Magic);
        line.Number(Lsn);
        line.Text(DurableKey);
        line.Number(Durable);
        line.Text(LengthKey);
        line.Number(Payload);
        line.Text(CrcKey);
        line.Hex(Crc);
        if (((line.Length + EndLength + Payload) & 1) != 0) line.Text(" "u8);
        line.Text(CheckKey);
        line.Hex(Check(into[..line.Length], salt, offset));
        line.Text("\r\n"u8);
        return line.Length;
    }

    /// <summary>
    /// Reads the line at the start of <paramref name="bytes"/>, which begin at <paramref name="offset"/> of the file.
    /// </summary>
    public static bool TryRead(ReadOnlySpan<byte> bytes, ulong salt, long offset, out GroupHeader header, out int length) =>
        TryParse(bytes, out header, out length, out ReadOnlySpan<byte> covered, out uint check) && check == Check(covered, salt, offset);

    /// <summary>
    /// The same also of a line that was written at another offset, at most <see cref="MostMoved"/> bytes away: bytes before it were removed
    /// or added since. One of 2,000 lines with a wrong checksum is read too.
    /// </summary>
    public static bool TryReadMoved(ReadOnlySpan<byte> bytes, ulong salt, long offset, out GroupHeader header, out int length) =>
        TryParse(bytes, out header, out length, out ReadOnlySpan<byte> covered, out uint check)
        && (check == Check(covered, salt, offset) || Math.Abs(OffsetOf(covered, check, salt, offset) - offset) <= MostMoved);

    /// <summary>
    /// The offset at which a line has this checksum, in the same 4 GB as <paramref name="near"/>. There is exactly one: a CRC of 32 bits
    /// determines four bytes of its input if the others are known.
    /// </summary>
    private static long OffsetOf(ReadOnlySpan<byte> line, uint check, ulong salt, long near)
    {
        Span<byte> high = stackalloc byte[4];
        BinaryPrimitives.WriteInt32LittleEndian(high, (int)(near >> 32));
        uint state = Checksum.Undo(Checksum.Undo(Checksum.Finish(check), line), high);
        uint low = Checksum.Undo(state, [0, 0, 0, 0]) ^ Checksum.Add(Checksum.Start, salt);
        return near >> 32 << 32 | low;
    }

    private static bool TryParse(
        ReadOnlySpan<byte> bytes, out GroupHeader header, out int length, out ReadOnlySpan<byte> covered, out uint check)
    {
        (header, length, check) = (default, 0, 0);
        covered = default;
        if (bytes.Length > MaxLength) bytes = bytes[..MaxLength];
        var line = new LineReader(bytes);
        if (!line.Skip(Magic) || !line.Number(out long lsn) || !line.Skip(DurableKey) || !line.Number(out long durable)
            || !line.Skip(LengthKey) || !line.Number(out long payload) || !line.Skip(CrcKey)
            || !line.Hex(out uint crc)) return false;
        if (line.Rest is [(byte)' ', (byte)' ', ..]) line.Skip(" "u8);
        if (!line.Skip(CheckKey)) return false;
        covered = bytes[..line.Position];
        if (!line.Hex(out check) || !line.Skip("\r\n"u8) || payload > long.MaxValue - lsn) return false;
        header = new(lsn, durable, payload, crc);
        length = line.Position;
        return true;
    }

    /// <summary>
    /// Returns the number of bytes at the start of <paramref name="bytes"/> that have the form of a header line. The
    /// line may be complete or cut short, and its numbers are not checked.
    /// </summary>
    public static int FormLength(ReadOnlySpan<byte> bytes)
    {
        int at = 0;
        _ = Field(bytes, Magic, ref at) && Field(bytes, DurableKey, ref at) && Field(bytes, LengthKey, ref at)
            && Field(bytes, CrcKey, ref at) && Field(bytes, CheckKey, ref at) && Text(bytes, "\r\n"u8, ref at);
        return at;

        static bool Text(ReadOnlySpan<byte> bytes, ReadOnlySpan<byte> text, ref int at)
        {
            int same = bytes[at..].CommonPrefixLength(text);
            at += same;
            return same == text.Length;
        }

        static bool Field(ReadOnlySpan<byte> bytes, ReadOnlySpan<byte> key, ref int at)
        {
            if (bytes[at..] is [(byte)' ', (byte)' ', ..]) at++;
            if (!Text(bytes, key, ref at)) return false;
            ReadOnlySpan<byte> rest = bytes[at..];
            int digits = rest.IndexOfAnyExcept(Digits);
            at += digits < 0 ? rest.Length : digits;
            return true;
        }
    }

    /// <summary>
    /// Returns the length of the header line at the start of <paramref name="bytes"/> if the line is damaged, even if
    /// the damage is in its line ending. Returns 0 if no line ends within the maximum length of a header.
    /// </summary>
    public static int DamagedLength(ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> line = bytes[..Math.Min(bytes.Length, MaxLength)];
        int check = line.IndexOf(CheckKey);
        int end = check >= 0 ? check + EndLength : line.IndexOf((byte)'\n') + 1;
        return end <= line.Length ? end : 0;
    }

    private static uint Check(ReadOnlySpan<byte> line, ulong salt, long offset) =>
        Checksum.Finish(Checksum.Add(Checksum.Add(Checksum.Add(Checksum.Start, salt), (ulong)offset), line));

    private ref struct LineBuilder(Span<byte> into)
    {
        private readonly Span<byte> _into = into;

        public int Length { get; private set; }

        public void Text(ReadOnlySpan<byte> text)
        {
            text.CopyTo(_into[Length..]);
            Length += text.Length;
        }

        public void Number(long value)
        {
            Utf8Formatter.TryFormat(value, _into[Length..], out int written);
            Length += written;
        }

        public void Hex(uint value)
        {
            Utf8Formatter.TryFormat(value, _into[Length..], out int written, new('x', 8));
            Length += written;
        }
    }

    /// <summary>
    /// Parses the line. Each value has exactly one accepted spelling: lower-case digits without leading zeros. A single
    /// flipped bit is therefore always detected.
    /// </summary>
    private ref struct LineReader(ReadOnlySpan<byte> bytes)
    {
        private readonly ReadOnlySpan<byte> _bytes = bytes;

        public int Position { get; private set; }

        public readonly ReadOnlySpan<byte> Rest => _bytes[Position..];

        public bool Skip(ReadOnlySpan<byte> text)
        {
            if (!Rest.StartsWith(text)) return false;
            Position += text.Length;
            return true;
        }

        public bool Number(out long value)
        {
            value = 0;
            ReadOnlySpan<byte> rest = Rest;
            int digits = 0;
            while (digits < rest.Length && digits < 19 && rest[digits] is >= (byte)'0' and <= (byte)'9')
            {
                value = unchecked(value * 10 + (rest[digits] - '0'));
                digits++;
            }
            Position += digits;
            return digits > 0 && value >= 0 && (rest[0] != '0' || digits == 1);
        }

        public bool Hex(out uint value)
        {
            value = 0;
            ReadOnlySpan<byte> rest = Rest;
            if (rest.Length < 8) return false;
            for (int i = 0; i < 8; i++)
            {
                int digit = rest[i] switch
                {
                    >= (byte)'0' and <= (byte)'9' and var d => d - '0',
                    >= (byte)'a' and <= (byte)'f' and var d => d - 'a' + 10,
                    _ => -1,
                };
                if (digit < 0) return false;
                value = (value << 4) | (uint)digit;
            }
            Position += 8;
            return true;
        }
    }
}
