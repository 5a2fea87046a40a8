using System.Buffers.Binary;
using System.Buffers.Text;
using System.Runtime.InteropServices;
using RedisClone.Journal.Disk;
using RedisClone.Memory;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// Reads the primitives of an RDB from a file or from memory. Damaged input causes no exception: a call returns false,
/// and <see cref="Error"/> describes the first problem. Allocations are limited to the size that the input can hold.
/// </summary>
/// <remarks>
/// A returned span is valid until the next call. A span from <see cref="TryHeldString"/> is valid until the next call
/// of that method.
/// </remarks>
public sealed class RdbReader
{
    private const int WindowSize = 256 * 1024;

    /// <summary>Larger arrays are not kept for the next long string.</summary>
    private static readonly int s_mostKept = HeapLimit.IsSmall ? WindowSize : 16 << 20;

    /// <summary>The longest text of a number.</summary>
    private const int IntegerDigits = 20;

    /// <summary>The length of an input whose end only a read of nothing shows.</summary>
    public const long Endless = long.MaxValue / 2;

    private readonly IDiskFile? _file;
    private byte[] _buffer = [];
    private int _position;
    private int _end;
    private long _bufferOffset;
    private long _length;
    private int _summed;
    private int _lookedFrom = -1;
    private readonly byte[] _digits = new byte[IntegerDigits];
    private byte[] _text = [];
    private byte[] _held = new byte[64];
    private ulong _crc;

    /// <summary>Reads a file, starting at <paramref name="offset"/>.</summary>
    public RdbReader(IDiskFile file, long offset = 0)
    {
        _file = file;
        _length = file.Length;
        _bufferOffset = offset;
        _buffer = new byte[(int)Math.Clamp(_length - offset, 16, WindowSize)];
    }

    /// <summary>Reads from memory.</summary>
    public RdbReader(ReadOnlyMemory<byte> bytes) => Open(bytes);

    /// <summary>The first problem, or an empty string.</summary>
    public string Error { get; private set; } = "";

    /// <summary>The offset of the next byte.</summary>
    public long Offset => _bufferOffset + _position;

    public long Remaining => _length - Offset;

    /// <summary>The checksum of everything read so far.</summary>
    public ulong Crc
    {
        get
        {
            Sum();
            return _crc;
        }
    }

    /// <summary>Starts again with other bytes in memory.</summary>
    public void Open(ReadOnlyMemory<byte> bytes)
    {
        if (!MemoryMarshal.TryGetArray(bytes, out ArraySegment<byte> array)) array = new(bytes.ToArray());
        _length = array.Count;
        _buffer = array.Array!;
        _position = _summed = array.Offset;
        _end = array.Offset + array.Count;
        _bufferOffset = -array.Offset;
        _crc = 0;
        Error = "";
    }

    /// <summary>
    /// Records a problem unless there already is one. Always returns false, as the result of the caller.
    /// </summary>
    public bool Fail(string error)
    {
        if (Error.Length == 0 && _lookedFrom < 0) Error = error;
        return false;
    }

    public bool TryByte(out byte value)
    {
        value = 0;
        if (!TryBytes(1, out ReadOnlySpan<byte> bytes)) return false;
        value = bytes[0];
        return true;
    }

    public bool TryBytes(int count, out ReadOnlySpan<byte> bytes)
    {
        bytes = default;
        if (count > _end - _position && !Fill(count)) return false;
        bytes = _buffer.AsSpan(_position, count);
        _position += count;
        return true;
    }

    /// <summary>Reads a length. A special form of string is an error.</summary>
    public bool TryLength(out ulong length) =>
        TryLength(out length, out bool isSpecial)
        && (!isSpecial || Fail("expected a length and found a special form of string"));

    /// <summary>
    /// Reads a number of elements. Each element takes at least one byte, so the number is limited by the remaining
    /// bytes.
    /// </summary>
    public bool TryCount(out long count)
    {
        count = 0;
        if (!TryLength(out ulong length)) return false;
        if (length > (ulong)Remaining) return Fail("the number of elements exceeds the remaining bytes");
        count = (long)length;
        return true;
    }

    public bool TryDouble(out double value)
    {
        value = 0;
        if (!TryBytes(8, out ReadOnlySpan<byte> bytes)) return false;
        value = BinaryPrimitives.ReadDoubleLittleEndian(bytes);
        return true;
    }

    /// <summary>
    /// Reads a score of the old sorted set form: a length and a text, or one of three length values that stand for
    /// infinities and NaN.
    /// </summary>
    public bool TryTextDouble(out double value)
    {
        value = 0;
        if (!TryByte(out byte length)) return false;
        switch (length)
        {
            case 255:
                value = double.NegativeInfinity;
                return true;
            case 254:
                value = double.PositiveInfinity;
                return true;
            case 253:
                value = double.NaN;
                return true;
            default:
                return TryBytes(length, out ReadOnlySpan<byte> text)
                    && ((Utf8Parser.TryParse(text, out value, out int used) && used == length)
                        || Fail("a score is not a number"));
        }
    }

    public bool TryMilliseconds(out long value)
    {
        value = 0;
        if (!TryBytes(8, out ReadOnlySpan<byte> bytes)) return false;
        value = BinaryPrimitives.ReadInt64LittleEndian(bytes);
        return true;
    }

    public bool TrySeconds(out long value)
    {
        value = 0;
        if (!TryBytes(4, out ReadOnlySpan<byte> bytes)) return false;
        value = BinaryPrimitives.ReadInt32LittleEndian(bytes);
        return true;
    }

    /// <summary>Reads a stream ID of 128 bits.</summary>
    public bool TryRawStreamId(out ulong milliseconds, out ulong sequence)
    {
        milliseconds = sequence = 0;
        if (!TryBytes(16, out ReadOnlySpan<byte> bytes)) return false;
        milliseconds = BinaryPrimitives.ReadUInt64BigEndian(bytes);
        sequence = BinaryPrimitives.ReadUInt64BigEndian(bytes[8..]);
        return true;
    }

    /// <summary>Reads a string in any of its forms.</summary>
    public bool TryString(out ReadOnlySpan<byte> value)
    {
        value = default;
        if (!TryLength(out ulong length, out bool isSpecial)) return false;
        if (!isSpecial)
        {
            if (length > (ulong)Remaining || length > (ulong)Array.MaxLength)
                return Fail("a string exceeds the end of the input");
            return TryBytes((int)length, out value);
        }
        return length == 3 ? TryCompressed(out value) : TryNumber((int)length, out value);
    }

    /// <summary>Skips a string in any of its forms. The string must lie in the buffer.</summary>
    internal bool TrySkipString()
    {
        if (!TryLength(out ulong length, out bool isSpecial)) return false;
        if (isSpecial)
        {
            if (length == 3) return TryLength(out length) && TryLength(out _) && TrySkip(length);
            length = length < 3 ? 1ul << (int)length : ulong.MaxValue;
        }
        return TrySkip(length);
    }

    private bool TrySkip(ulong count) => count <= (ulong)(_end - _position) && TryBytes((int)count, out _);

    /// <summary>Reads a string into a separate buffer, so that it remains valid while another string is read.</summary>
    public bool TryHeldString(out ReadOnlySpan<byte> value)
    {
        if (!TryString(out value)) return false;
        Resize(ref _held, value.Length);
        value.CopyTo(_held);
        value = _held.AsSpan(0, value.Length);
        return true;
    }

    private bool TryNumber(int form, out ReadOnlySpan<byte> value)
    {
        value = default;
        long number;
        switch (form)
        {
            case 0:
                if (!TryBytes(1, out ReadOnlySpan<byte> one)) return false;
                number = (sbyte)one[0];
                break;
            case 1:
                if (!TryBytes(2, out ReadOnlySpan<byte> two)) return false;
                number = BinaryPrimitives.ReadInt16LittleEndian(two);
                break;
            case 2:
                if (!TryBytes(4, out ReadOnlySpan<byte> four)) return false;
                number = BinaryPrimitives.ReadInt32LittleEndian(four);
                break;
            default:
                return Fail("unknown form of string");
        }
        Utf8Formatter.TryFormat(number, _digits, out int length);
        value = _digits.AsSpan(0, length);
        return true;
    }

    private bool TryCompressed(out ReadOnlySpan<byte> value)
    {
        value = default;
        if (!TryLength(out ulong compressed) || !TryLength(out ulong length)) return false;
        if (compressed > (ulong)Math.Min(Remaining, Array.MaxLength))
            return Fail("a compressed string exceeds the end of the input");
        if (length > Math.Min((compressed + 1) * Lzf.MaxExpansion, (ulong)Array.MaxLength))
            return Fail("the length of a compressed string is out of range");
        if (!TryBytes((int)compressed, out ReadOnlySpan<byte> bytes)) return false;
        Resize(ref _text, (int)length);
        Span<byte> text = _text.AsSpan(0, (int)length);
        if (!Lzf.TryDecompress(bytes, text)) return Fail("a compressed string is damaged");
        value = text;
        return true;
    }

    private bool TryLength(out ulong length, out bool isSpecial)
    {
        length = 0;
        isSpecial = false;
        if (!TryByte(out byte first)) return false;
        switch (first >> 6)
        {
            case 0:
                length = first;
                return true;
            case 1:
                if (!TryByte(out byte second)) return false;
                length = (ulong)((first & 0x3F) << 8 | second);
                return true;
            case 3:
                length = first & 0x3Fu;
                isSpecial = true;
                return true;
        }
        if (first == 0x80)
        {
            if (!TryBytes(4, out ReadOnlySpan<byte> four)) return false;
            length = BinaryPrimitives.ReadUInt32BigEndian(four);
            return true;
        }
        if (first != 0x81) return Fail("unknown form of length");
        if (!TryBytes(8, out ReadOnlySpan<byte> eight)) return false;
        length = BinaryPrimitives.ReadUInt64BigEndian(eight);
        return true;
    }

    /// <summary>Fills the buffer with as much of the file as fits. Returns false if there is nothing to add.</summary>
    internal bool LookFurther()
    {
        if (_length == Endless) return TryReadMore();
        int room = (int)Math.Min(Math.Min(_buffer.Length, WindowSize), Remaining);
        return room > _end - _position && Fill(room);
    }

    /// <summary>
    /// Starts a look-ahead. Until <see cref="EndLook"/>, reads are limited to the buffer and failures are not recorded.
    /// </summary>
    internal void BeginLook() => _lookedFrom = _position;

    /// <summary>Ends a look-ahead and returns to its start. Returns the number of bytes read.</summary>
    internal int EndLook()
    {
        int length = _position - _lookedFrom;
        (_position, _lookedFrom) = (_lookedFrom, -1);
        return length;
    }

    /// <summary>Adds what one read of an endless input gives, if the buffer has room. The end of the input is no failure.</summary>
    private bool TryReadMore()
    {
        Sum();
        int kept = _end - _position;
        if (kept == _buffer.Length) return false;
        Shift(kept);
        int read = _file!.Read(_bufferOffset + _end, _buffer.AsSpan(_end));
        _end += read;
        return read > 0;
    }

    /// <summary>
    /// Reads at least <paramref name="count"/> bytes into the buffer. The buffer grows only to sizes that the file is
    /// known to hold.
    /// </summary>
    private bool Fill(int count)
    {
        if (_lookedFrom >= 0) return false;
        if (_file is null || count > Remaining) return Fail("Unexpected EOF reading RDB file");
        Sum();
        Shift(count);
        while (_end < count)
        {
            int read = _file.Read(_bufferOffset + _end, _buffer.AsSpan(_end));
            if (read == 0) return Fail("Unexpected EOF reading RDB file");
            _end += read;
        }
        return true;
    }

    /// <summary>
    /// Moves what is not read yet to the beginning of the buffer, which gets room for <paramref name="count"/> bytes. A buffer that a long
    /// string has enlarged much gets its usual size again: in a small heap, the next long string needs the memory.
    /// </summary>
    private void Shift(int count)
    {
        int kept = _end - _position;
        ReadOnlySpan<byte> from = _buffer.AsSpan(_position, kept);
        bool shrinks = _buffer.Length > s_mostKept && Math.Max(count, kept) <= WindowSize;
        if (count > _buffer.Length || shrinks)
        {
            byte[] other = HeapRelief.Allocate(shrinks ? WindowSize : count);
            from.CopyTo(other);
            _buffer = other;
        }
        else
        {
            from.CopyTo(_buffer);
        }
        _bufferOffset += _position;
        (_position, _summed, _end) = (0, 0, kept);
    }

    /// <summary>Gives a scratch array room for a string. It does not stay large after a long one.</summary>
    private static void Resize(ref byte[] scratch, int length)
    {
        if (length <= scratch.Length && (scratch.Length <= s_mostKept || length > WindowSize)) return;
        int size = length > WindowSize ? length : Math.Min(Math.Max(length, 2 * scratch.Length), WindowSize);
        scratch = [];
        scratch = HeapRelief.Allocate(size);
    }

    private void Sum()
    {
        _crc = Crc64.Append(_crc, _buffer.AsSpan(_summed, _position - _summed));
        _summed = _position;
    }
}
