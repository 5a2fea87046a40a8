using System.Buffers.Binary;
using System.Buffers.Text;
using RedisClone.Memory;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// Writes the primitives of an RDB through one buffer: lengths, strings in their shortest form, numbers and opcodes.
/// Computes the checksum on the way. Redis 7.0 can load the result unless it contains hash fields with an expiry.
/// </summary>
public sealed class RdbWriter(IRdbTarget target, bool compress = true, int bufferSize = 64 * 1024, bool checksum = true)
{
    /// <summary>The minimum length for compression.</summary>
    private const int CompressFrom = 21;

    /// <summary>In a small heap, a long string is not compressed: the result would be one more array of its size.</summary>
    private static readonly int s_compressTo = HeapLimit.IsSmall ? MostKept : int.MaxValue;

    private const int Patience = 32, MostLeft = 7;

    /// <summary>A larger buffer for compression is not kept for the next value.</summary>
    private const int MostKept = 64 * 1024;

    private readonly byte[] _buffer = GC.AllocateUninitializedArray<byte>(Math.Max(bufferSize, 512));
    private readonly int[]? _hashes = compress ? new int[Lzf.HashSize] : null;
    private byte[] _compressed = [];
    private int _length;
    private int _failed, _left;
    private bool _hasTried;             // to compress, since the start

    /// <summary>
    /// The checksum of the bytes that the target has received; after <see cref="Flush"/>, of all written bytes. Always
    /// 0 if the checksum is disabled.
    /// </summary>
    public ulong Crc { get; private set; }

    /// <summary>Begins a file. <paramref name="version"/> is 10, or 12 if hash fields have an expiry.</summary>
    public void Header(int version)
    {
        Raw("REDIS"u8);
        Span<byte> digits = Reserve(4);
        for (int i = 3; i >= 0; i--, version /= 10) digits[i] = (byte)('0' + version % 10);
    }

    /// <summary>Ends a file with the end opcode and the checksum, or a checksum of zero for none.</summary>
    public void End(bool withChecksum = true)
    {
        Byte(RdbOpcode.End);
        Flush();
        BinaryPrimitives.WriteUInt64LittleEndian(Reserve(8), withChecksum ? Crc : 0);
        Flush();
    }

    public void Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        Byte(RdbOpcode.Aux);
        String(name);
        String(value);
    }

    public void SelectDatabase(int database)
    {
        Byte(RdbOpcode.SelectDatabase);
        Length((ulong)database);
    }

    public void ResizeDatabase(long keys, long expiring)
    {
        Byte(RdbOpcode.ResizeDatabase);
        Length((ulong)keys);
        Length((ulong)expiring);
    }

    /// <summary>
    /// Writes a function library: its source, including the first line with the names of the engine and the library.
    /// </summary>
    public void Function(ReadOnlySpan<byte> code)
    {
        Byte(RdbOpcode.Function);
        String(code);
    }

    /// <summary>Writes the attributes that precede a key. A negative attribute is omitted.</summary>
    public void KeyAttributes(long expireMilliseconds = -1, long idleSeconds = -1, int frequency = -1)
    {
        if (expireMilliseconds >= 0)
        {
            Byte(RdbOpcode.ExpireMilliseconds);
            Milliseconds(expireMilliseconds);
        }
        if (idleSeconds >= 0)
        {
            Byte(RdbOpcode.Idle);
            Length((ulong)idleSeconds);
        }
        if (frequency >= 0)
        {
            Byte(RdbOpcode.Frequency);
            Byte((byte)frequency);
        }
    }

    public void Type(RdbType type) => Byte((byte)type);

    public void Byte(byte value) => Reserve(1)[0] = value;

    public void Length(ulong length)
    {
        if (length < 1 << 6)
        {
            Byte((byte)length);
        }
        else if (length < 1 << 14)
        {
            BinaryPrimitives.WriteUInt16BigEndian(Reserve(2), (ushort)(length | 0x4000));
        }
        else if (length <= uint.MaxValue)
        {
            Span<byte> bytes = Reserve(5);
            bytes[0] = 0x80;
            BinaryPrimitives.WriteUInt32BigEndian(bytes[1..], (uint)length);
        }
        else
        {
            Span<byte> bytes = Reserve(9);
            bytes[0] = 0x81;
            BinaryPrimitives.WriteUInt64BigEndian(bytes[1..], length);
        }
    }

    /// <summary>
    /// Writes a string: as an integer if it is the canonical text of one, and compressed if that saves space.
    /// </summary>
    public void String(ReadOnlySpan<byte> value)
    {
        if (value.Length <= 11 && RdbText.TryParseInteger(value, out long number)
            && number is >= int.MinValue and <= int.MaxValue)
        {
            ShortInteger((int)number);
            return;
        }
        if (_hashes is not null && value.Length >= CompressFrom && value.Length <= s_compressTo && IsWorthTrying() && TryCompressed(value)) return;
        Length((ulong)value.Length);
        Raw(value);
    }

    /// <summary>Writes the text of a number as a string.</summary>
    public void StringOf(long number)
    {
        if (number is >= int.MinValue and <= int.MaxValue)
        {
            ShortInteger((int)number);
            return;
        }
        Span<byte> text = stackalloc byte[20];
        Utf8Formatter.TryFormat(number, text, out int length);
        Length((ulong)length);
        Raw(text[..length]);
    }

    /// <summary>
    /// Begins a string whose bytes follow through <see cref="Raw"/>, for a string that is not contiguous in memory.
    /// </summary>
    public void BeginString(long length) => Length((ulong)length);

    public void Double(double value) => BinaryPrimitives.WriteDoubleLittleEndian(Reserve(8), value);

    public void Milliseconds(long value) => BinaryPrimitives.WriteInt64LittleEndian(Reserve(8), value);

    /// <summary>Writes a stream ID as 128 bits, the form of the pending lists.</summary>
    public void RawStreamId(ulong milliseconds, ulong sequence)
    {
        Span<byte> bytes = Reserve(16);
        BinaryPrimitives.WriteUInt64BigEndian(bytes, milliseconds);
        BinaryPrimitives.WriteUInt64BigEndian(bytes[8..], sequence);
    }

    public void Raw(ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length > _buffer.Length - _length)
        {
            int part = _buffer.Length - _length;
            bytes[..part].CopyTo(_buffer.AsSpan(_length));
            _length += part;
            bytes = bytes[part..];
            Flush();
        }
        bytes.CopyTo(_buffer.AsSpan(_length));
        _length += bytes.Length;
    }

    /// <summary>Passes the buffered bytes to the target.</summary>
    public void Flush()
    {
        Span<byte> bytes = _buffer.AsSpan(0, _length);
        _length = 0;
        if (bytes.IsEmpty) return;
        if (checksum) Crc = Crc64.Append(Crc, bytes);
        target.Write(bytes);
    }

    /// <summary>Starts again, for another value. The same value has the same bytes then.</summary>
    public void Reset()
    {
        _length = 0;
        Crc = 0;
        _failed = _left = 0;
        if (_compressed.Length > MostKept) _compressed = [];
        if (!_hasTried) return;
        _hasTried = false;
        _hashes.AsSpan().Clear();
    }

    private Span<byte> Reserve(int count)
    {
        if (count > _buffer.Length - _length) Flush();
        _length += count;
        return _buffer.AsSpan(_length - count, count);
    }

    private void ShortInteger(int number)
    {
        switch (number)
        {
            case >= sbyte.MinValue and <= sbyte.MaxValue:
                Span<byte> one = Reserve(2);
                one[0] = RdbText.Int8;
                one[1] = (byte)number;
                break;
            case >= short.MinValue and <= short.MaxValue:
                Span<byte> two = Reserve(3);
                two[0] = RdbText.Int16;
                BinaryPrimitives.WriteInt16LittleEndian(two[1..], (short)number);
                break;
            default:
                Span<byte> four = Reserve(5);
                four[0] = RdbText.Int32;
                BinaryPrimitives.WriteInt32LittleEndian(four[1..], number);
                break;
        }
    }

    /// <summary>
    /// Returns false for most strings after many strings in a row did not compress, because failed attempts would take
    /// most of the time. Every eighth string is still tried, until one compresses.
    /// </summary>
    private bool IsWorthTrying()
    {
        if (_failed < Patience) return true;
        if (++_left <= MostLeft) return false;
        _left = 0;
        return true;
    }

    private bool TryCompressed(ReadOnlySpan<byte> value)
    {
        // Compression must save at least the four bytes that the second length may cost.
        if (_compressed.Length < value.Length)
            _compressed = GC.AllocateUninitializedArray<byte>(Math.Max(value.Length, _compressed.Length * 2));
        _failed++;
        _hasTried = true;
        if (!Lzf.TryCompress(value, _compressed.AsSpan(0, value.Length - 4), _hashes, out int length)) return false;
        _failed = 0;
        Byte(RdbText.Compressed);
        Length((ulong)length);
        Length((ulong)value.Length);
        Raw(_compressed.AsSpan(0, length));
        return true;
    }
}
