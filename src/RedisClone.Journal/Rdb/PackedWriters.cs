using System.Buffers.Binary;
using RedisClone.Memory;

namespace RedisClone.Journal.Rdb;

/// <summary>The elements of a listpack, in order.</summary>
public interface IListpack
{
    /// <summary>The number of elements so far.</summary>
    int Count { get; }

    /// <summary>Appends an element. The text of an integer is stored as an integer.</summary>
    void Append(ReadOnlySpan<byte> value);

    void Append(long number);
}

/// <summary>Builds a listpack. Reusable.</summary>
public sealed class ListpackWriter : IListpack
{
    private const int LargeBytes = 1 << 20, FirstBytes = 256;

    private byte[] _bytes = new byte[FirstBytes];
    private int _length = ListpackForm.HeaderLength;
    private int _count;

    public int Count => _count;

    /// <summary>The length that the listpack would have if it were finished now.</summary>
    public int Length => _length + 1;

    public void Clear()
    {
        if (_bytes.Length > LargeBytes) _bytes = new byte[FirstBytes];
        _length = ListpackForm.HeaderLength;
        _count = 0;
    }

    public void Append(ReadOnlySpan<byte> value)
    {
        if (RdbText.TryParseInteger(value, out long number))
        {
            Append(number);
            return;
        }
        int header = ListpackForm.HeaderOf(value.Length);
        Span<byte> into = Reserve(header + value.Length);
        ListpackForm.WriteHeader(into, value.Length);
        value.CopyTo(into[header..]);
        Finish(header + value.Length);
    }

    public void Append(long number) => Finish(ListpackForm.WriteInteger(Reserve(ListpackForm.LongestInteger), number));

    /// <summary>Returns the finished listpack, which is valid until the next append.</summary>
    public ReadOnlySpan<byte> Finish()
    {
        ListpackForm.WriteBeginning(_bytes, _length + 1, _count);
        _bytes[_length] = ListpackForm.End;
        return _bytes.AsSpan(0, _length + 1);
    }

    private Span<byte> Reserve(int size)
    {
        // Includes room for the backward length of the element and for the end mark.
        int needed = _length + size + PackedBytes.MaxBackLength + 1;
        if (_bytes.Length < needed) Grow(needed);
        return _bytes.AsSpan(_length, size);
    }

    /// <summary>A large array grows by an eighth: twice its size, beside itself, may not fit into a small heap.</summary>
    private void Grow(int needed)
    {
        byte[] larger = HeapRelief.Allocate(needed <= LargeBytes ? Math.Max(needed, _bytes.Length * 2) : (int)Math.Min(needed + needed / 8L, Array.MaxLength));
        _bytes.AsSpan(0, _length).CopyTo(larger);
        _bytes = larger;
    }

    private void Finish(int size)
    {
        _length += size;
        _length += PackedBytes.WriteBackLength(_bytes.AsSpan(_length), size);
        _count++;
    }
}

/// <summary>Builds an intset from ascending numbers.</summary>
public static class IntsetWriter
{
    public static byte[] Write(ReadOnlySpan<long> ascending)
    {
        int width = ascending.IsEmpty ? 2 : Math.Max(WidthOf(ascending[0]), WidthOf(ascending[^1]));
        byte[] bytes = new byte[8 + ascending.Length * width];
        BinaryPrimitives.WriteInt32LittleEndian(bytes, width);
        BinaryPrimitives.WriteInt32LittleEndian(bytes.AsSpan(4), ascending.Length);
        Span<byte> into = bytes.AsSpan(8);
        Span<byte> eight = stackalloc byte[8];
        foreach (long number in ascending)
        {
            BinaryPrimitives.WriteInt64LittleEndian(eight, number);
            eight[..width].CopyTo(into);
            into = into[width..];
        }
        return bytes;
    }

    private static int WidthOf(long number) => number switch
    {
        >= short.MinValue and <= short.MaxValue => 2,
        >= int.MinValue and <= int.MaxValue => 4,
        _ => 8,
    };
}
