using System.Buffers;
using System.Buffers.Binary;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;

namespace RedisClone.Protocol;

/// <summary>
/// Writes replies in RESP2 or RESP3. One per connection or per capture of replies; not thread-safe. This part implements RESP;
/// ReplyWriter.Buffers.cs manages the bytes.
/// </summary>
/// <param name="output">The destination.</param>
/// <param name="scratchLimit">A limit of the scratch that this writer shares with others; null for none.</param>
public sealed partial class ReplyWriter(IBufferWriter<byte> output, ScratchLimit? scratchLimit = null)
{
    /// <summary>A bulk string up to this length is written as one piece with its header.</summary>
    private const int SmallBulk = 8 * 1024;

    /// <summary>The longest header, rounded up: a type, a 64-bit number with its sign, CR LF.</summary>
    private const int MaxHeader = ReplyScratch.HoleSize;

    private const int MaxErrorCode = 31;

    private ErrorCode _lastErrorCode;
    private int _lastErrorCodeLength;

    [InlineArray(MaxErrorCode)]
    private struct ErrorCode
    {
        private byte _first;
    }

    /// <summary>The protocol version: 2 or 3.</summary>
    public int Version { get; set; } = 2;

    /// <summary>Number of error replies written so far.</summary>
    public int Errors { get; private set; }

    /// <summary>The code of the last error written, such as WRONGTYPE.</summary>
    public ReadOnlySpan<byte> LastErrorCode => ((ReadOnlySpan<byte>)_lastErrorCode)[.._lastErrorCodeLength];

    public void Ok() => Raw("+OK\r\n"u8);

    public void SimpleString(ReadOnlySpan<byte> text)
    {
        Put((byte)'+');
        WriteBytes(text);
        PutLineEnd();
    }

    /// <summary>Writes an error with its code ("ERR ..."). Line ends within it become blanks, as in Redis.</summary>
    public void Error(ReadOnlySpan<byte> codeAndText)
    {
        codeAndText = codeAndText.Trim("\r\n"u8);
        NoteError(codeAndText);
        Put((byte)'-');
        while (true)
        {
            int end = codeAndText.IndexOfAny((byte)'\r', (byte)'\n');
            if (end < 0) break;
            WriteBytes(codeAndText[..end]);
            Put((byte)' ');
            codeAndText = codeAndText[(end + 1)..];
        }
        WriteBytes(codeAndText);
        PutLineEnd();
    }

    /// <inheritdoc cref="Error(ReadOnlySpan{byte})"/>
    /// <param name="codeAndText">One character per byte (Latin 1): an error can quote the bytes of a client unchanged.</param>
    public void Error(string codeAndText)
    {
        byte[]? rented = codeAndText.Length <= 512 ? null : ArrayPool<byte>.Shared.Rent(codeAndText.Length);
        Span<byte> bytes = rented ?? stackalloc byte[512];
        Error(bytes[..Encoding.Latin1.GetBytes(codeAndText, bytes)]);
        if (rented is not null) ArrayPool<byte>.Shared.Return(rented);
    }

    public void Integer(long value) => Header((byte)':', value);

    public void Bulk(ReadOnlySpan<byte> value)
    {
        if (value.Length > SmallBulk)
        {
            Header((byte)'$', value.Length);
            WriteBytes(value);
            PutLineEnd();
            return;
        }
        Span<byte> room = Reserve(value.Length + MaxHeader);
        int at = FormatHeader((byte)'$', value.Length, room);
        value.CopyTo(room[at..]);
        at += value.Length;
        room[at + 1] = (byte)'\n';
        room[at] = (byte)'\r';
        _pos += at + 2;
    }

    public void BulkString(string text)
    {
        int length = Encoding.UTF8.GetByteCount(text);
        byte[]? rented = length <= 512 ? null : ArrayPool<byte>.Shared.Rent(length);
        Span<byte> bytes = rented ?? stackalloc byte[512];
        Encoding.UTF8.GetBytes(text, bytes);
        Bulk(bytes[..length]);
        if (rented is not null) ArrayPool<byte>.Shared.Return(rented);
    }

    /// <summary>A number as a bulk string.</summary>
    public void BulkInteger(long value)
    {
        Span<byte> digits = stackalloc byte[RedisNumber.MaxInt64Length];
        Bulk(digits[..RedisNumber.WriteInt64(value, digits)]);
    }

    public void Null() => Raw(Version >= 3 ? "_\r\n"u8 : "$-1\r\n"u8);

    public void NullArray() => Raw(Version >= 3 ? "_\r\n"u8 : "*-1\r\n"u8);

    public void EmptyArray() => Raw("*0\r\n"u8);

    public void ArrayHeader(long count) => Header((byte)'*', count);

    /// <summary>A map of <paramref name="pairs"/> keys and values. In RESP2, an array of both.</summary>
    public void MapHeader(long pairs) => Header(MapType, MapLength(pairs));

    public void SetHeader(long count) => Header(SetType, count);

    public void PushHeader(long count) => Header(Version >= 3 ? (byte)'>' : (byte)'*', count);

    /// <summary>Attributes of the reply that follows. RESP2 does not have them.</summary>
    public void AttributeHeader(long pairs)
    {
        if (Version < 3) throw new InvalidOperationException("attributes need RESP3");
        Header((byte)'|', pairs);
    }

    public void Double(double value)
    {
        Span<byte> digits = stackalloc byte[RedisNumber.MaxDoubleLength];
        NumberText(digits[..RedisNumber.FormatDouble(value, digits)]);
    }

    /// <summary>A number that is already text: a double in RESP3, a bulk string in RESP2.</summary>
    public void NumberText(ReadOnlySpan<byte> digits) => Typed((byte)',', digits);

    public void BigNumber(ReadOnlySpan<byte> digits) => Typed((byte)'(', digits);

    public void Bool(bool value)
    {
        if (Version >= 3) Raw(value ? "#t\r\n"u8 : "#f\r\n"u8);
        else Raw(value ? ":1\r\n"u8 : ":0\r\n"u8);
    }

    /// <summary>A text and its format of three letters: "txt", "mkd".</summary>
    public void Verbatim(ReadOnlySpan<byte> format, ReadOnlySpan<byte> text)
    {
        if (Version < 3)
        {
            Bulk(text);
            return;
        }
        Header((byte)'=', text.Length + 4L);
        WriteBytes(format);
        Put((byte)':');
        WriteBytes(text);
        PutLineEnd();
    }

    /// <summary>Bytes that are already encoded.</summary>
    public void Raw(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _end - _pos)
        {
            WriteBytes(bytes);
            return;
        }
        bytes.CopyTo(_array.AsSpan(_pos));
        _pos += bytes.Length;
    }

    public void EndArray(DeferredReply reply, long count) => EndDeferred(reply, (byte)'*', count);

    public void EndMap(DeferredReply reply, long pairs) => EndDeferred(reply, MapType, MapLength(pairs));

    public void EndSet(DeferredReply reply, long count) => EndDeferred(reply, SetType, count);

    /// <summary>
    /// Ends a deferred reply with a bulk string of a number instead of an aggregate: a cursor that is known only at the end.
    /// </summary>
    public void EndBulkNumber(DeferredReply reply, ulong number)
    {
        Span<byte> digits = stackalloc byte[RedisNumber.MaxInt64Length];
        number.TryFormat(digits, out int length, default, CultureInfo.InvariantCulture);
        Span<byte> bulk = stackalloc byte[MaxHeader];
        int at = FormatHeader((byte)'$', length, bulk);
        digits[..length].CopyTo(bulk[at..]);
        "\r\n"u8.CopyTo(bulk[(at + length)..]);
        EndDeferred(reply, bulk[..(at + length + 2)]);
    }

    private byte MapType => Version >= 3 ? (byte)'%' : (byte)'*';

    private byte SetType => Version >= 3 ? (byte)'~' : (byte)'*';

    private long MapLength(long pairs) => Version >= 3 ? pairs : pairs * 2;

    private void Typed(byte type, ReadOnlySpan<byte> text)
    {
        if (Version < 3)
        {
            Bulk(text);
            return;
        }
        Put(type);
        WriteBytes(text);
        PutLineEnd();
    }

    private void NoteError(ReadOnlySpan<byte> codeAndText)
    {
        Errors++;
        int length = codeAndText[..Math.Min(codeAndText.Length, MaxErrorCode)].IndexOf((byte)' ');
        ReadOnlySpan<byte> code = length < 0 ? "ERR"u8 : codeAndText[..length];
        code.CopyTo(_lastErrorCode);
        _lastErrorCodeLength = code.Length;
    }

    private void Header(byte type, long number)
    {
        Span<byte> room = Reserve(MaxHeader);
        _pos += FormatHeader(type, number, room);
    }

    private static int FormatHeader(byte type, long number, Span<byte> room)
    {
        if ((ulong)number < 10)
        {
            BinaryPrimitives.WriteUInt32LittleEndian(room, 0x0A0D_3000u | type | ((uint)number << 8));
            return 4;
        }
        if ((ulong)number < 100)
        {
            // Writes both digits and the line end in one store, because most headers are this long.
            uint tens = (uint)number * 103 >> 10;
            ulong ones = (uint)number - tens * 10;
            BinaryPrimitives.WriteUInt64LittleEndian(room, 0x0A_0D30_3000ul | type | tens << 8 | ones << 16);
            return 5;
        }
        if ((ulong)number < 10_000)
        {
            uint high = (uint)number * 5243 >> 19, low = (uint)number - high * 100;
            uint highTens = high * 103 >> 10, lowTens = low * 103 >> 10;
            ulong four = highTens | (high - highTens * 10) << 8 | lowTens << 16 | (low - lowTens * 10) << 24;
            int skipped = number < 1000 ? 1 : 0;
            BinaryPrimitives.WriteUInt64LittleEndian(room, type | (0x0A0D_3030_3030ul | four) >> (8 * skipped) << 8);
            return 7 - skipped;
        }
        int at = 1 + RedisNumber.WriteInt64(number, room[1..]);
        room[at + 1] = (byte)'\n';
        room[at] = (byte)'\r';
        room[0] = type;
        return at + 2;
    }

    private void Put(byte value)
    {
        Reserve(1)[0] = value;
        _pos++;
    }

    private void PutLineEnd()
    {
        BinaryPrimitives.WriteUInt16LittleEndian(Reserve(2), 0x0A0D);
        _pos += 2;
    }
}
