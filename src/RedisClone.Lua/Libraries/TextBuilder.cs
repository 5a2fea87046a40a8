using System.Buffers;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// Collects the bytes of a result in a pooled buffer. What would not fit the script's memory latches
/// <see cref="Overflowed"/> before any buffer is made for it.
/// </summary>
internal ref struct TextBuilder(LuaMeter meter, int expected = 256)
{
    /// <summary>Larger buffers are the collector's: a pool would keep a gigabyte for ever.</summary>
    private const int LargestPooled = 1 << 20;

    private byte[] _bytes = Rent(Math.Max(expected, 16));

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
        Return(_bytes);
        _bytes = [];
        Length = 0;
    }

    private static byte[] Rent(int size) => size <= LargestPooled ? ArrayPool<byte>.Shared.Rent(size) : GC.AllocateUninitializedArray<byte>(size);

    private static void Return(byte[] buffer)
    {
        if (buffer.Length is > 0 and <= LargestPooled) ArrayPool<byte>.Shared.Return(buffer);
    }

    private bool TryGrow(int count)
    {
        long needed = (long)Length + count;
        if (Overflowed || needed > LuaLimits.StringLength || needed > meter.Limit - meter.Allocated)
        {
            Overflowed = true;
            return false;
        }
        byte[] larger = Rent((int)Math.Min(Math.Max(needed, 2L * _bytes.Length), LuaLimits.StringLength));
        Written.CopyTo(larger);
        Return(_bytes);
        _bytes = larger;
        return true;
    }
}
