namespace RedisClone.Storage.Structures;

/// <summary>
/// The bytes that stream entries would take in a node of a Redis stream, which is a listpack. The limits of nodes are configured
/// in these bytes, and an approximate trim removes whole nodes.
/// </summary>
internal static class StreamNodeSize
{
    private const int Frame = 7;            // header and end of the listpack

    /// <summary>The part before the entries: two counts, the shared names, and an end.</summary>
    public static int OfHead<TFields>(scoped in TFields fields) where TFields : struct, IStreamFields, allows ref struct
    {
        int size = Frame + 3 * OfInteger(0) + OfInteger(fields.Count);
        for (int i = 0; i < fields.Count; i++) size += OfText(fields.Name(i));
        return size;
    }

    /// <summary>An entry, including the growth of the count of entries.</summary>
    public static int OfEntry<TFields>(StreamId first, StreamId id, scoped in TFields fields, bool shared, int before)
        where TFields : struct, IStreamFields, allows ref struct
    {
        long milliseconds = (long)(id.Milliseconds - first.Milliseconds), sequence = (long)(id.Sequence - first.Sequence);
        int size = OfInteger(0) + OfInteger(milliseconds) + OfInteger(sequence);
        if (!shared) size += OfInteger(fields.Count);
        for (int i = 0; i < fields.Count; i++)
        {
            if (!shared) size += OfText(fields.Name(i));
            size += OfText(fields.Value(i));
        }
        size += OfInteger(shared ? fields.Count + 3 : 2L * fields.Count + 4);
        return size + OfInteger(before + 1L) - OfInteger(before);
    }

    private static int OfText(ReadOnlySpan<byte> text)
    {
        if (IntegerText.TryParse(text, out long integer)) return OfInteger(integer);
        return OfElement((text.Length < 64 ? 1 : text.Length < 4096 ? 2 : 5) + text.Length);
    }

    private static int OfInteger(long value) => OfElement(value switch
    {
        >= 0 and < 128 => 1,
        >= -4096 and < 4096 => 2,
        >= short.MinValue and <= short.MaxValue => 3,
        >= -(1 << 23) and < 1 << 23 => 4,
        >= int.MinValue and <= int.MaxValue => 5,
        _ => 9,
    });

    /// <summary>Each element is followed by its length, with seven bits per byte.</summary>
    private static int OfElement(int bytes) =>
        bytes + (bytes < 1 << 7 ? 1 : bytes < 1 << 14 ? 2 : bytes < 1 << 21 ? 3 : bytes < 1 << 28 ? 4 : 5);
}
