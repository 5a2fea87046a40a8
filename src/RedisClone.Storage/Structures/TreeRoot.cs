using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedisClone.Storage.Structures;

/// <summary>The part of a <see cref="RankTree{T}"/> outside its nodes, as plain bytes. All zero is an empty tree.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct TreeRoot
{
    public uint Node;
    public uint Height;           // 1 if the root is a leaf

    /// <summary>Sum of the weights of all items.</summary>
    public long Weight;

    /// <summary>Bytes of all nodes.</summary>
    public long Bytes;
}

/// <summary>The operations that a tree needs on its items.</summary>
internal interface ITreeItem<T>
{
    static abstract long WeightOf(ReadOnlySpan<T> items);

    /// <summary>
    /// The index of the item that contains a rank, or the number of items if there is none. The rank becomes relative to that
    /// item.
    /// </summary>
    static abstract int IndexOf(ReadOnlySpan<T> items, ref long rank);
}

/// <summary>An item that is a block of elements, each with a rank.</summary>
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

/// <summary>A place in an order: true for every item before the place, false for all others.</summary>
internal interface ITreeProbe<T>
{
    bool IsAfter(in T item);
}

/// <summary>
/// The way from the root to an item, or to the place between two items: the node and the index within it for each level. Level 0
/// is the leaf. Every change of the tree invalidates a path, except a change by the call that received the path.
/// </summary>
internal struct TreePath
{
    // Most nodes have dozens of entries, so 2^32 handles need far less than 16 levels. A seventeenth level would throw, and
    // damage nothing.
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
