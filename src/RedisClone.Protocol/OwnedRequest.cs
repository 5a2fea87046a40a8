using System.Buffers;

namespace RedisClone.Protocol;

/// <summary>
/// A request that does not come from a parser, or that outlives its batch: an entry of a MULTI queue, a command called by a
/// script, a line of the journal. All arguments are in one pooled buffer.
/// </summary>
public sealed class OwnedRequest : IDisposable
{
    /// <summary>A larger buffer is left to the garbage collector, because a pool would keep it forever.</summary>
    private const int LargestPooled = 1 << 20;

    private readonly SliceList _slices = new();
    private byte[] _buffer = [];
    private int _length;

    public int Count => _slices.Count;

    /// <summary>Bytes of memory that the request holds.</summary>
    public int HeldBytes => _buffer.Length;

    public ReadOnlySpan<byte> this[int index]
    {
        get
        {
            ArgSlice slice = _slices.Items[index];
            return _buffer.AsSpan(slice.Offset, slice.Length);
        }
    }

    public Request AsRequest() => new(_buffer, _slices.Items, _length);

    /// <summary>Whether another argument fits. A caller that combines arguments of several requests must check this.</summary>
    public bool HasRoomFor(int length) => _length + (long)length <= RequestLimits.MaxRequestBytes;

    public OwnedRequest Append(ReadOnlySpan<byte> argument)
    {
        argument.CopyTo(Reserve(argument.Length));
        return this;
    }

    /// <summary>Appends an argument of this length. The caller fills it before the next call.</summary>
    public Span<byte> Reserve(int length)
    {
        MakeRoom(length);
        _slices.Add(new ArgSlice(_length, length));
        Span<byte> room = _buffer.AsSpan(_length, length);
        _length += length;
        return room;
    }

    /// <summary>Removes the arguments and keeps the buffer.</summary>
    public void Reset()
    {
        _slices.Clear();
        _length = 0;
    }

    /// <summary>Returns the buffer to the pool. The request is then empty and can be reused.</summary>
    public void Dispose()
    {
        Reset();
        Return(_buffer);
        _buffer = [];
    }

    /// <summary>Reserves room for arguments of this many bytes in total.</summary>
    public void MakeRoom(int more)
    {
        if (_buffer.Length - _length >= more) return;
        long wanted = Math.Max((long)_length + more, Math.Min(2L * _buffer.Length, RequestLimits.MaxRequestBytes));
        int size = checked((int)wanted);
        byte[] bigger = size > LargestPooled ? GC.AllocateUninitializedArray<byte>(size) : ArrayPool<byte>.Shared.Rent(size);
        _buffer.AsSpan(0, _length).CopyTo(bigger);
        Return(_buffer);
        _buffer = bigger;
    }

    private static void Return(byte[] buffer)
    {
        if (buffer.Length is > 0 and <= LargestPooled) ArrayPool<byte>.Shared.Return(buffer);
    }
}
