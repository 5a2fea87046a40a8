namespace RedisClone.Journal.Rdb;

/// <summary>
/// Writes a listpack as a string into an RDB without an array of its size, because a small heap may have none for it. The caller gives the
/// elements twice: first to measure the listpack, whose length comes first, and then to write it. Reusable.
/// </summary>
public sealed class ListpackStream(RdbWriter writer) : IListpack
{
    private long _length;
    private bool _isWriting;

    public int Count { get; private set; }

    /// <summary>Begins the measurement.</summary>
    public void Measure() => (_length, Count, _isWriting) = (ListpackForm.HeaderLength + 1, 0, false);

    /// <summary>Begins to write what was measured.</summary>
    public void Begin()
    {
        writer.BeginString(_length);
        Span<byte> beginning = stackalloc byte[ListpackForm.HeaderLength];
        ListpackForm.WriteBeginning(beginning, checked((int)_length), Count);
        writer.Raw(beginning);
        (Count, _isWriting) = (0, true);
    }

    public void End() => writer.Byte(ListpackForm.End);

    public void Append(ReadOnlySpan<byte> value)
    {
        if (RdbText.TryParseInteger(value, out long number))
        {
            Append(number);
            return;
        }
        Span<byte> header = stackalloc byte[ListpackForm.LongestHeader];
        ListpackForm.WriteHeader(header, value.Length);
        Element(header[..ListpackForm.HeaderOf(value.Length)], value);
    }

    public void Append(long number)
    {
        Span<byte> bytes = stackalloc byte[ListpackForm.LongestInteger];
        Element(bytes[..ListpackForm.WriteInteger(bytes, number)], []);
    }

    private void Element(ReadOnlySpan<byte> header, ReadOnlySpan<byte> text)
    {
        int size = header.Length + text.Length;
        Span<byte> backward = stackalloc byte[PackedBytes.MaxBackLength];
        backward = backward[..PackedBytes.WriteBackLength(backward, size)];
        Count++;
        if (!_isWriting)
        {
            _length += size + backward.Length;
            return;
        }
        writer.Raw(header);
        writer.Raw(text);
        writer.Raw(backward);
    }
}
