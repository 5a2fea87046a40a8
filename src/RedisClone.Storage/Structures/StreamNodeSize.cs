using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Streams;

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
        int size = Frame + 3 * Packed.SizeOf(0L) + Packed.SizeOf((long)fields.Count);
        for (int i = 0; i < fields.Count; i++) size += Packed.SizeOf(Element.Of(fields.Name(i)));
        return size;
    }

    /// <summary>An entry, including the growth of the count of entries.</summary>
    public static int OfEntry<TFields>(StreamId first, StreamId id, scoped in TFields fields, bool shared, int before)
        where TFields : struct, IStreamFields, allows ref struct
    {
        long milliseconds = (long)(id.Milliseconds - first.Milliseconds), sequence = (long)(id.Sequence - first.Sequence);
        int size = Packed.SizeOf(0L) + Packed.SizeOf(milliseconds) + Packed.SizeOf(sequence);
        if (!shared) size += Packed.SizeOf((long)fields.Count);
        for (int i = 0; i < fields.Count; i++)
        {
            if (!shared) size += Packed.SizeOf(Element.Of(fields.Name(i)));
            size += Packed.SizeOf(Element.Of(fields.Value(i)));
        }
        size += Packed.SizeOf(shared ? fields.Count + 3L : 2L * fields.Count + 4);
        return size + Packed.SizeOf(before + 1L) - Packed.SizeOf((long)before);
    }
}
