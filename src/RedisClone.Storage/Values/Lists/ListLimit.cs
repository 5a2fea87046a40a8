using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>
/// How much one block of a list may hold, from list-max-listpack-size. Sizes are counted as Redis counts a listpack's, frame and
/// estimate included, so that a list changes its encoding where it does there.
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

    /// <summary>The largest buffer of a block that elements share.</summary>
    public int BlockBytes => _bytes;

    public static ListLimit Of(in Entry entry) => new(entry.Keyspace.Store.Limits.ListMaxListpackSize);

    /// <summary>Whether a list that is one block stays so when an element of so many bytes is added.</summary>
    public bool Holds(ListBlock block, int length) =>
        Frame + block.Used + (long)length <= _bytes && block.Count < _count;

    /// <summary>Whether a list that is one large block may become small again.</summary>
    public bool HoldsHalf(int used, int count) =>
        _count == int.MaxValue ? Frame + used <= _bytes / 2 : Frame + used <= SafeBytes && count <= _count / 2;

    /// <summary>Whether a block of a large list takes one more element.</summary>
    public bool Admits(ListBlock block, int length) =>
        length <= _bytes && Frame + (long)block.Used + length + Estimate <= _bytes && block.Count < _count;

    /// <summary>Whether a block of a large list takes an element in the place of one whose entry has so many bytes.</summary>
    public bool AdmitsInstead(ListBlock block, int removed, int length) =>
        block.Count == 1 || length <= _bytes && Frame + (long)block.Used - removed + length + Estimate <= _bytes;
}
