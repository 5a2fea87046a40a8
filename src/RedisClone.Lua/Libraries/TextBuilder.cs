using System.Buffers;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// Collects the bytes of a result in a buffer that counts as the script's memory. What would not fit latches
/// <see cref="Overflowed"/> before any buffer is made for it.
/// </summary>
internal ref struct TextBuilder
{
    /// <summary>Larger buffers are the collector's: a pool would keep a gigabyte for ever.</summary>
    private const int LargestPooled = 1 << 20;

    /// <summary>Smaller buffers need not be counted: library calls that have one do not nest deep.</summary>
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

    /// <summary>Room to write to, then <see cref="Advance"/>; as much even after an overflow.</summary>
    public Span<byte> Reserve(int count)
    {
        if (count <= _bytes.Length - Length || TryGrow(count)) return _bytes.AsSpan(Length);
        return count <= _bytes.Length ? _bytes : new byte[Math.Min(count, NumberText.MaxText)];
    }

    public void Advance(int count)
    {
        if (!Overflowed) Length += count;
    }

    /// <summary>Gives the buffer back and returns the text as the call's result.</summary>
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

    /// <summary>Doubles the buffer where there is memory for that, and otherwise gets what is needed.</summary>
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
