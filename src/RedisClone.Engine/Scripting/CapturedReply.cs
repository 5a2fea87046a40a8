using System.Buffers;
using RedisClone.Lua.Running;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// Captures the reply of a command that a script runs, in one buffer. A long reply counts as memory of the script. If there is
/// no memory for it, the reply is dropped and <see cref="Overflowed"/> is true.
/// </summary>
internal sealed class CapturedReply(LuaState state) : IBufferWriter<byte>
{
    private const int First = 4096;

    /// <summary>A longer buffer is not kept for the next reply.</summary>
    private const int Kept = 64 << 10;

    private byte[] _buffer = new byte[First];
    private int _written;
    private long _expected;
    private long _reserved;

    public ReadOnlySpan<byte> Written => _buffer.AsSpan(0, _written);

    public bool Overflowed { get; private set; }

    /// <summary>Announces the total length of the reply, so that the buffer grows at most once.</summary>
    public void Expect(long length) => _expected = length;

    /// <summary>Discards the reply and returns the memory of a long one.</summary>
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
