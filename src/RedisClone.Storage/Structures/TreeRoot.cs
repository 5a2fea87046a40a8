using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedisClone.Storage.Structures;

/// <summary>All that a <see cref="RankTree{T}"/> keeps outside its nodes: plain bytes. All zero is an empty tree.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct TreeRoot
{
    public uint Node;
    public uint Height;           // 1 when the root is a leaf

    /// <summary>Sum of all items' weights.</summary>
    public long Weight;

    /// <summary>Bytes of all nodes.</summary>
    public long Bytes;
}

/// <summary>What a tree needs to know of its items.</summary>
internal interface ITreeItem<T>
{
    static abstract long WeightOf(ReadOnlySpan<T> items);

    /// <summary>The item that a rank lies in, which becomes the rank within it; the end if there is none.</summary>
    static abstract int IndexOf(ReadOnlySpan<T> items, ref long rank);
}

/// <summary>An item that is a block of elements, each of which has a rank.</summary>
internal interface IBlockItem<T> : ITreeItem<T> where T : struct, IBlockItem<T>
{
    uint Block { get; }

    int Count { get; }

    /// <summary>The same elements in another buffer.</summary>
    T MovedTo(uint block);

    static long ITreeItem<T>.WeightOf(ReadOnlySpan<T> items)
    {
        long weight = 0;
        foreach (ref readonly T item in items) weight += item.Count;
        return weight;
    }

    static int ITreeItem<T>.IndexOf(ReadOnlySpan<T> items, ref long rank)
    {
        int index = 0;
        while (index < items.Length && rank >= items[index].Count) rank -= items[index++].Count;
        return index;
    }
}

/// <summary>A place in an order: true for every item before it, false for all the others.</summary>
internal interface ITreeProbe<T>
{
    bool IsAfter(in T item);
}

/// <summary>
/// The way from the root to an item, or to the place between two: per level the node and the index in it, level 0 being the leaf.
/// Every change of the tree, other than by the call that it was given to, makes it invalid.
/// </summary>
internal struct TreePath
{
    // Most nodes have dozens of entries, so 2^32 handles are far from 16 levels; a seventeenth would end in an exception, not in damage.
    private Steps _steps;

    [System.Diagnostics.CodeAnalysis.UnscopedRef]
    public ref TreeStep this[int level] => ref _steps[level];

    [InlineArray(16)]
    private struct Steps
    {
        private TreeStep _first;
    }
}

internal struct TreeStep
{
    public uint Node;
    public int Index;
}
