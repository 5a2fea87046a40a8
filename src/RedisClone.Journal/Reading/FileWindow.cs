using RedisClone.Journal.Disk;
using RedisClone.Memory;

namespace RedisClone.Journal.Reading;

/// <summary>
/// A forward-moving buffer over a file. It grows to the size of one group or command, but never beyond the rest of the
/// file, so a damaged length cannot cause a large allocation.
/// </summary>
internal sealed class FileWindow
{
    private const int UsualSize = 1 << 20;

    private byte[] _buffer = [];
    private IDiskFile? _file;
    private Action<long>? _progress;
    private int _start;
    private int _end;
    private long _bufferOffset;

    public long Length { get; private set; }

    /// <summary>The file offset of <see cref="Bytes"/>.</summary>
    public long Offset => _bufferOffset + _start;

    public long Remaining => Length - Offset;

    public ReadOnlySpan<byte> Bytes => _buffer.AsSpan(_start, _end - _start);

    /// <summary>Opens another file. <paramref name="progress"/> receives the offset after each read.</summary>
    public void Open(IDiskFile file, Action<long> progress)
    {
        _file = file;
        _progress = progress;
        Length = file.Length;
        int size = (int)Math.Min(UsualSize, Length);
        if (_buffer.Length < size) _buffer = HeapRelief.Allocate(size);
        MoveTo(0);
    }

    public void MoveTo(long offset)
    {
        _bufferOffset = offset;
        _start = _end = 0;
    }

    public void Advance(long count)
    {
        if (count > _end - _start) MoveTo(Offset + count);
        else _start += (int)count;
    }

    /// <summary>
    /// Extends <see cref="Bytes"/> to at least this length. Returns false if the file ends earlier or the length
    /// exceeds the maximum of an array.
    /// </summary>
    public bool Fill(long atLeast)
    {
        if (_end - _start >= atLeast) return true;
        if (atLeast > Remaining || atLeast > Array.MaxLength)
        {
            atLeast = Math.Min(Remaining, _buffer.Length);
            ReadTo(atLeast);
            return false;
        }
        ReadTo(atLeast);
        return _end - _start >= atLeast;
    }

    private void ReadTo(long atLeast)
    {
        if (_start > 0 && _buffer.Length - _start < atLeast)
        {
            Bytes.CopyTo(_buffer);
            _bufferOffset += _start;
            _end -= _start;
            _start = 0;
        }
        if (_buffer.Length < atLeast)
        {
            // What was read is read again, so that a small heap need not hold both arrays.
            long size = HeapLimit.IsSmall ? atLeast : Math.Min(Array.MaxLength, Math.Max(atLeast, _buffer.Length * 2L));
            MoveTo(Offset);
            _buffer = [];
            _buffer = HeapRelief.Allocate((int)size);
        }
        while (_end - _start < atLeast)
        {
            int read = _file!.Read(_bufferOffset + _end, _buffer.AsSpan(_end));
            if (read == 0) break;
            _end += read;
        }
        _progress!(_bufferOffset + _end);
    }
}
