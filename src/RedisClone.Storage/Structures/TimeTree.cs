using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Structures;

/// <summary>A record and the time, in Unix milliseconds, at which it is due.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly record struct TimedHandle(long Time, uint Handle) : ITreeItem<TimedHandle>
{
    public static long WeightOf(ReadOnlySpan<TimedHandle> items) => items.Length;

    public static int IndexOf(ReadOnlySpan<TimedHandle> items, ref long rank) => UniformWeight.IndexOf(items.Length, ref rank);
}

/// <summary>The common part of items that all have weight 1.</summary>
internal static class UniformWeight
{
    public static int IndexOf(int items, ref long rank)
    {
        int index = (int)Math.Min(items, rank);
        rank -= index;
        return index;
    }
}

/// <summary>Records ordered by the time at which they are due, earliest first.</summary>
internal readonly ref struct TimeTree(Arena arena, ref TreeRoot root)
{
    private readonly RankTree<TimedHandle> _tree = new(arena, ref root);

    public long Count => _tree.Weight;

    public RankTree<TimedHandle> Order => _tree;

    /// <summary>The earliest record, or all zero if there is none.</summary>
    public TimedHandle First
    {
        get
        {
            if (_tree.IsEmpty) return default;
            TreePath path = _tree.SeekRank(0, out _);
            return _tree.At(ref path);
        }
    }

    public void Add(long time, uint handle)
    {
        if (!TryAdd(time, handle)) Arena.ThrowOutOfMemory();
    }

    /// <summary>Like <see cref="Add"/>, but returns false with nothing changed if memory is missing.</summary>
    public bool TryAdd(long time, uint handle)
    {
        var item = new TimedHandle(time, handle);
        TreePath path = _tree.Seek(new Before(item));
        return _tree.TryInsert(ref path, item);
    }

    /// <summary>Removes a record that is present.</summary>
    public void Remove(long time, uint handle)
    {
        TreePath path = _tree.Seek(new Before(new TimedHandle(time, handle)));
        bool found = _tree.IsAtItem(ref path);
        System.Diagnostics.Debug.Assert(found && _tree.At(ref path) == new TimedHandle(time, handle));
        _tree.Remove(ref path);
    }

    public void Compact(long rank) => _tree.Compact(rank);

    public bool DropLastLeaf() => _tree.DropLastLeaf();

    private readonly struct Before(TimedHandle sought) : ITreeProbe<TimedHandle>
    {
        public bool IsAfter(in TimedHandle item) =>
            item.Time < sought.Time || item.Time == sought.Time && item.Handle < sought.Handle;
    }
}
