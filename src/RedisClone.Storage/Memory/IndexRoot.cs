using System.Runtime.InteropServices;

namespace RedisClone.Storage.Memory;

/// <summary>
/// All that a <see cref="HashIndex"/> keeps outside its buckets: plain bytes, so that the root of a large collection lies in
/// its key's record and costs the collector nothing. All zero is an empty index.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
public struct IndexRoot
{
    /// <summary>The only segment of buckets while one is enough, else an array of segments.</summary>
    internal uint Table;

    internal uint Buckets;
    internal uint Records;
    internal uint Overflows;
}
