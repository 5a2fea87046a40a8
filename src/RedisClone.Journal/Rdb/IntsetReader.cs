using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>Iterates over an intset: integers of two, four or eight bytes in strictly ascending order.</summary>
public ref struct IntsetReader
{
    private const int HeaderLength = 8;

    private readonly ReadOnlySpan<byte> _numbers;
    private readonly int _width;
    private int _at;
    private long _last;

    public IntsetReader(ReadOnlySpan<byte> bytes)
    {
        IsDamaged = true;
        if (bytes.Length <= HeaderLength) return;
        uint width = BinaryPrimitives.ReadUInt32LittleEndian(bytes);
        long count = BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]);
        if (width is not (2 or 4 or 8) || count * width != bytes.Length - HeaderLength) return;
        _width = (int)width;
        _numbers = bytes[HeaderLength..];
        IsDamaged = false;
    }

    /// <summary>True after damage was found. <see cref="TryNext"/> then returns false.</summary>
    public bool IsDamaged { get; private set; }

    public readonly int Count => _width == 0 ? 0 : _numbers.Length / _width;

    public bool TryNext(out long number)
    {
        number = 0;
        if (IsDamaged || _at == _numbers.Length) return false;
        ReadOnlySpan<byte> bytes = _numbers[_at..];
        number = _width switch
        {
            2 => BinaryPrimitives.ReadInt16LittleEndian(bytes),
            4 => BinaryPrimitives.ReadInt32LittleEndian(bytes),
            _ => BinaryPrimitives.ReadInt64LittleEndian(bytes),
        };
        if (_at > 0 && number <= _last)
        {
            IsDamaged = true;
            return false;
        }
        _last = number;
        _at += _width;
        return true;
    }
}
