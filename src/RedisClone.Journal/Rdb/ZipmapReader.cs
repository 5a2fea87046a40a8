using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>Iterates over a zipmap, the packed hash of Redis 2.4, and checks its structure.</summary>
public ref struct ZipmapReader
{
    private const byte LongLength = 254;
    private const byte End = 255;

    private readonly ReadOnlySpan<byte> _bytes;
    private int _at;
    private int _seen;

    public ZipmapReader(ReadOnlySpan<byte> bytes)
    {
        _bytes = bytes;
        _at = 1;
        IsDamaged = bytes.Length < 2 || bytes[^1] != End;
    }

    /// <summary>True after damage was found. <see cref="TryNext"/> then returns false.</summary>
    public bool IsDamaged { get; private set; }

    /// <summary>Reads the next field and its value. Returns false at the end and on damage.</summary>
    public bool TryNext(out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        field = value = default;
        if (IsDamaged) return false;
        if (_at == _bytes.Length - 1)
        {
            if (_bytes[0] < LongLength && _bytes[0] != _seen) IsDamaged = true;
            return false;
        }
        if (!TryText(0, out field) || !TryText(1, out value))
        {
            IsDamaged = true;
            return false;
        }
        _seen++;
        return true;
    }

    /// <summary>
    /// Reads a length and the bytes it counts. In a value, one byte after the length states the number of unused bytes
    /// after the value.
    /// </summary>
    private bool TryText(int freeBytes, out ReadOnlySpan<byte> text)
    {
        text = default;
        ReadOnlySpan<byte> rest = _bytes[_at..^1];
        if (rest.IsEmpty || rest[0] == End) return false;
        long length = rest[0];
        int header = 1;
        if (length == LongLength)
        {
            if (rest.Length < 5) return false;
            length = BinaryPrimitives.ReadUInt32LittleEndian(rest[1..]);
            header = 5;
        }
        if (rest.Length < header + freeBytes) return false;
        int unused = freeBytes == 0 ? 0 : rest[header];
        header += freeBytes;
        if (length + unused > rest.Length - header) return false;
        text = rest.Slice(header, (int)length);
        _at += header + (int)length + unused;
        return true;
    }
}
