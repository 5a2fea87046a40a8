using System.Buffers;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// Collects the bytes of a result in a buffer that counts as memory of the script. A text that exceeds the limit sets
/// <see cref="Overflowed"/> before a buffer is allocated for it.
/// </summary>
internal ref struct TextBuilder
{
    /// <summary>
    /// The largest buffer taken from the pool. A pool would keep larger buffers forever, so they are left to the
    /// garbage collector.
    /// </summary>
    private const int LargestPooled = 1 << 20;

    /// <summary>Smaller buffers are not counted, because the library calls that use one do not nest deeply.</summary>
    private const int LeastCounted = 16 << 10;

    private readonly LuaMeter _meter;
    private byte[] _bytes;

    public TextBuilder(LuaMeter meter, int expected = 256)
    {
        _meter = meter;
        _bytes = [];
        if (TryRent(Math.Max(expected, 16), out byte[] bytes)) _bytes = bytes;
        else Overflowed = true;
    }

    public int Length { get; private set; }

    public bool Overflowed { get; private set; }

    public readonly ReadOnlySpan<byte> Written => _bytes.AsSpan(0, Length);

    public void Append(byte value)
    {
        if (Length == _bytes.Length && !TryGrow(1)) return;
        _bytes[Length++] = value;
    }

    public void Append(scoped ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _bytes.Length - Length && !TryGrow(bytes.Length)) return;
        bytes.CopyTo(_bytes.AsSpan(Length));
        Length += bytes.Length;
    }

    public void Append(byte value, int count)
    {
        Span<byte> room = Reserve(count);
        if (Overflowed) return;
        room[..count].Fill(value);
        Length += count;
    }

    public void AppendNumber(double value) => Advance(LuaNumber.Format(value, Reserve(LuaNumber.MaxText)));

    /// <summary>
    /// Returns room for at least <paramref name="count"/> bytes, which the caller writes and then confirms with
    /// <see cref="Advance"/>. After an overflow the room is a scratch buffer.
    /// </summary>
    public Span<byte> Reserve(int count)
    {
        if (count <= _bytes.Length - Length || TryGrow(count)) return _bytes.AsSpan(Length);
        return count <= _bytes.Length ? _bytes : new byte[Math.Min(count, NumberText.MaxText)];
    }

    public void Advance(int count)
    {
        if (!Overflowed) Length += count;
    }

    /// <summary>Returns the text as the result of the call and releases the buffer.</summary>
    public int Return(ref LuaCall call)
    {
        int results = Overflowed ? call.OutOfMemory() : call.ReturnString(Written);
        Dispose();
        return results;
    }

    public void Dispose()
    {
        _meter.Work(Length);
        Return(_bytes);
        _bytes = [];
        Length = 0;
    }

    private readonly bool TryRent(int size, out byte[] buffer)
    {
        buffer = [];
        if (size > LargestPooled)
        {
            if (!_meter.TryReserve(size)) return false;
            buffer = GC.AllocateUninitializedArray<byte>(size);
            return true;
        }
        buffer = ArrayPool<byte>.Shared.Rent(size);
        if (buffer.Length <= LeastCounted || _meter.TryReserve(buffer.Length)) return true;
        ArrayPool<byte>.Shared.Return(buffer);
        return false;
    }

    private readonly void Return(byte[] buffer)
    {
        bool isPooled = buffer.Length <= LargestPooled;
        if (buffer.Length > LeastCounted) _meter.Release(buffer.Length, isGarbage: !isPooled);
        if (isPooled && buffer.Length > 0) ArrayPool<byte>.Shared.Return(buffer);
    }

    /// <summary>Doubles the buffer. If the memory limit does not allow that, grows it to the needed size.</summary>
    private bool TryGrow(int count)
    {
        long needed = (long)Length + count;
        byte[] larger = [];
        Overflowed = Overflowed || needed > LuaLimits.StringLength ||
            (!TryRent((int)Math.Min(Math.Max(needed, 2L * _bytes.Length), LuaLimits.StringLength), out larger) &&
            !TryRent((int)Math.Min(needed + (needed / 8), LuaLimits.StringLength), out larger));
        if (Overflowed) return false;
        Written.CopyTo(larger);
        Return(_bytes);
        _bytes = larger;
        return true;
    }
}
