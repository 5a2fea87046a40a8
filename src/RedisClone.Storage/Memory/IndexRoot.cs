using System.Runtime.InteropServices;

namespace RedisClone.Storage.Memory;

/// <summary>
/// The part of a <see cref="HashIndex"/> outside its buckets. It consists of plain bytes, so the root of a large collection can
/// lie in its key's record and costs the garbage collector nothing. All zero is an empty index.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
public struct IndexRoot
{
    /// <summary>The only segment of buckets, or an array of segments if there are several.</summary>
    internal uint Table;

    internal uint Buckets;
    internal uint Records;
    internal uint Overflows;
}
