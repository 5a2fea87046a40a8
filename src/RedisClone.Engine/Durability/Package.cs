using RedisClone.Journal.Rdb;
using RedisClone.Memory;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Durability;

/// <summary>Captured data on its way to the snapshot's file: whole keys, or a part of one large value.</summary>
internal sealed class Package : IRdbTarget, IDisposable
{
    private const int BufferBytes = 16 * 1024;

    private readonly List<(byte[] Bytes, int Length)> _full = [];
    private byte[] _last = HeapRelief.Rent(BufferBytes);
    private int _used;

    public long Length { get; private set; }

    /// <summary>The number of keys that end in this package.</summary>
    public int Keys { get; set; }

    /// <summary>
    /// Whether the package is a part of a large value. No other package may come between the parts of a value.
    /// </summary>
    public bool IsPart { get; init; }

    public bool IsLastPart { get; set; }

    public void Write(ReadOnlySpan<byte> bytes)
    {
        Length += bytes.Length;
        while (bytes.Length > _last.Length - _used)
        {
            int part = _last.Length - _used;
            bytes[..part].CopyTo(_last.AsSpan(_used));
            // The array that is full must not be the last one too when this fails: it would go back to the pool twice.
            FaultPoint.Allocation();
            byte[] next = HeapRelief.Rent(BufferBytes);
            _full.Add((_last, _last.Length));
            (_last, _used) = (next, 0);
            bytes = bytes[part..];
        }
        bytes.CopyTo(_last.AsSpan(_used));
        _used += bytes.Length;
    }

    public void CopyTo(SnapshotFile file)
    {
        foreach ((byte[] bytes, int length) in _full) file.Append(bytes.AsSpan(0, length));
        file.Append(_last.AsSpan(0, _used));
    }

    public void Dispose()
    {
        foreach ((byte[] bytes, _) in _full) RentedArrays.Return(bytes);
        _full.Clear();
        RentedArrays.Return(_last);
        (_last, _used) = ([], 0);
    }
}
