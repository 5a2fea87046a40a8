using System.Diagnostics;

namespace RedisClone.Storage;

/// <summary>What can be told of a value of any type.</summary>
public static class ValueInfo
{
    private const int MaxEmbedded = 44;

    /// <summary>Redis's name for the form that a value has.</summary>
    public static ReadOnlySpan<byte> EncodingName(in Entry entry) => (entry.Type, entry.Encoding) switch
    {
        (ValueType.String, ValueEncoding.Integer) => "int"u8,
        (ValueType.String, ValueEncoding.Raw) when entry.Value.Length <= MaxEmbedded => "embstr"u8,
        (ValueType.String, _) => "raw"u8,
        (ValueType.Stream, _) => "stream"u8,
        (_, ValueEncoding.Packed) => "listpack"u8,
        (_, ValueEncoding.PackedWithExpiry) => "listpackex"u8,
        (_, ValueEncoding.Integers) => "intset"u8,
        (ValueType.List, ValueEncoding.Large) => "quicklist"u8,
        (ValueType.SortedSet, ValueEncoding.Large) => "skiplist"u8,
        (ValueType.Hash or ValueType.Set, ValueEncoding.Large) => "hashtable"u8,
        _ => throw new UnreachableException("a record holds a form that its type does not have"),
    };

    /// <summary>Bytes that a key takes with its value, its part of the index not counted: exact.</summary>
    public static long MemoryUsage(in Entry entry) => entry.RecordBytes + (entry.Encoding == ValueEncoding.Large
        ? LargeValues.BytesOutside(entry.Keyspace.Store.Arena, entry.Type, entry.Value)
        : 0);
}
