using System.Runtime.InteropServices;
using RedisClone.Memory;

namespace RedisClone.Engine.Commands.Collections;

/// <summary>
/// A list of byte strings in rented memory. A command copies them out of a value before it changes the value.
/// </summary>
internal ref struct ByteList
{
    private byte[]? _rented;
    private int _length;

    public long Count { get; private set; }

    /// <summary>The total length of all byte strings.</summary>
    public long Bytes { get; private set; }

    /// <summary>The position of the next byte string.</summary>
    public readonly int End => _length;

    public void Add(scoped ReadOnlySpan<byte> text)
    {
        long needed = (long)_length + sizeof(int) + text.Length;
        if (_rented is null || needed > _rented.Length) Grow(needed);
        MemoryMarshal.Write(_rented.AsSpan(_length), text.Length);
        text.CopyTo(_rented.AsSpan(_length + sizeof(int)));
        _length = (int)needed;
        Count++;
        Bytes += text.Length;
    }

    /// <summary>Reads the byte string at a position, from 0 on, and advances the position to the next one.</summary>
    public readonly bool TryNext(ref int at, out ReadOnlySpan<byte> text)
    {
        text = default;
        if (at >= _length) return false;
        int length = MemoryMarshal.Read<int>(_rented.AsSpan(at));
        text = _rented.AsSpan(at + sizeof(int), length);
        at += sizeof(int) + length;
        return true;
    }

    public readonly void Dispose()
    {
        if (_rented is not null) RentedArrays.Return(_rented);
    }

    private void Grow(long needed)
    {
        if (needed > Array.MaxLength) throw new InsufficientMemoryException("The texts are longer than an array can be.");
        byte[] larger = RentedArrays.Rent<byte>((int)Math.Clamp(2L * _length, Math.Max(needed, 1024), Array.MaxLength));
        if (_rented is not null)
        {
            _rented.AsSpan(0, _length).CopyTo(larger);
            RentedArrays.Return(_rented);
        }
        _rented = larger;
    }
}
