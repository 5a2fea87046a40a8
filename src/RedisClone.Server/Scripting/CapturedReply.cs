using System.Buffers;
using RedisClone.Lua;

namespace RedisClone.Server.Scripting;

/// <summary>
/// Takes the reply of a command that a script runs, in one piece. A long one counts as the script's memory; what there is no
/// memory for is dropped, and <see cref="Overflowed"/> says so.
/// </summary>
internal sealed class CapturedReply(LuaState state) : IBufferWriter<byte>
{
    private const int First = 4096;

    /// <summary>What is longer is not kept for the next reply.</summary>
    private const int Kept = 64 << 10;

    private byte[] _buffer = new byte[First];
    private int _written;
    private long _expected;
    private long _reserved;

    public ReadOnlySpan<byte> Written => _buffer.AsSpan(0, _written);

    public bool Overflowed { get; private set; }

    /// <summary>The reply will be so long in all: where it does not fit, there is one new buffer and no other.</summary>
    public void Expect(long length) => _expected = length;

    /// <summary>Forgets the reply, and gives the memory of a long one back.</summary>
    public void Clear()
    {
        _written = 0;
        _expected = 0;
        Overflowed = false;
        if (_buffer.Length > Kept) _buffer = new byte[First];
        if (_reserved > 0) state.Release(_reserved);
        _reserved = 0;
    }

    public void Advance(int count)
    {
        if (!Overflowed) _written += count;
    }

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        if (_buffer.Length - _written < Math.Max(sizeHint, 1)) Grow(Math.Max(sizeHint, 1));
        return _buffer.AsMemory(_written);
    }

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

    private void Grow(int more)
    {
        long size = Math.Max(Math.Max(_expected, (long)_written + more), Math.Min(2L * _buffer.Length, Kept));
        if (!Overflowed && size <= Array.MaxLength && (size <= Kept || TryReserve(size)))
        {
            Array.Resize(ref _buffer, (int)size);
            return;
        }
        Overflowed = true;
        _written = 0;
        if (_buffer.Length < more) _buffer = new byte[more];
    }

    private bool TryReserve(long size)
    {
        if (!state.TryReserve(size)) return false;
        _reserved += size;
        return true;
    }
}
