using RedisClone.Journal.Disk;

namespace RedisClone.Journal.Reading;

/// <summary>
/// A file seen through a buffer that moves forward, and grows to what one group or command needs, never beyond what the file
/// still has: a damaged length cannot make it allocate.
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

    /// <summary>Where in the file <see cref="Bytes"/> begins.</summary>
    public long Offset => _bufferOffset + _start;

    public long Remaining => Length - Offset;

    public ReadOnlySpan<byte> Bytes => _buffer.AsSpan(_start, _end - _start);

    /// <summary>Looks at another file. <paramref name="progress"/> is told the offset whenever more was read.</summary>
    public void Open(IDiskFile file, Action<long> progress)
    {
        _file = file;
        _progress = progress;
        Length = file.Length;
        int size = (int)Math.Min(UsualSize, Length);
        if (_buffer.Length < size) _buffer = new byte[size];
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
    /// Makes <see cref="Bytes"/> at least this long; false where the file ends before, or no array is that long.
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
            Array.Resize(ref _buffer, (int)Math.Min(Array.MaxLength, Math.Max(atLeast, _buffer.Length * 2L)));
        while (_end - _start < atLeast)
        {
            int read = _file!.Read(_bufferOffset + _end, _buffer.AsSpan(_end));
            if (read == 0) break;
            _end += read;
        }
        _progress!(_bufferOffset + _end);
    }
}
