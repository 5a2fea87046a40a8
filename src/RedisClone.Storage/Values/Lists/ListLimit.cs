using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Lists;

/// <summary>
/// The capacity of one block of a list, from list-max-listpack-size. Sizes include the header of a Redis listpack and
/// the overhead that Redis estimates for a new element, so a list changes its encoding at the same size as in Redis.
/// </summary>
internal readonly struct ListLimit
{
    private const int Frame = 7, Estimate = 8, SafeBytes = 8192;

    private readonly int _bytes, _count;

    private ListLimit(int setting)
    {
        _bytes = setting >= 0 ? SafeBytes : 2048 << Math.Min(-setting, 5);
        _count = setting >= 0 ? Math.Max(setting, 1) : int.MaxValue;
    }

    /// <summary>The size limit of a block with several elements.</summary>
    public int BlockBytes => _bytes;

    public static ListLimit Of(in Entry entry) => new(entry.Keyspace.Store.Limits.ListMaxListpackSize);

    /// <summary>Whether a list of one block stays packed when an element of this length is added.</summary>
    public bool Holds(ListBlock block, int length) =>
        Frame + block.Used + (long)length <= _bytes && block.Count < _count;

    /// <summary>Whether a list of one large block may become packed again.</summary>
    public bool HoldsHalf(int used, int count) =>
        _count == int.MaxValue ? Frame + used <= _bytes / 2 : Frame + used <= SafeBytes && count <= _count / 2;

    /// <summary>Whether a block of a large list can take one more element.</summary>
    public bool Admits(ListBlock block, int length) =>
        length <= _bytes && Frame + (long)block.Used + length + Estimate <= _bytes && block.Count < _count;

    /// <summary>
    /// Whether a block of a large list can take an element in place of an entry of <paramref name="removed"/> bytes.
    /// </summary>
    public bool AdmitsInstead(ListBlock block, int removed, int length) =>
        block.Count == 1 || length <= _bytes && Frame + (long)block.Used - removed + length + Estimate <= _bytes;
}
