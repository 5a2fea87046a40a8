using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Structures;

/// <summary>
/// A sequence of small items with weights, in a B+-tree whose nodes know the weight below each child. Finding an item by order or
/// by rank, and computing the rank of a place, take O(log n). The users are sorted sets (items: score and member, weight 1),
/// lists (blocks, weighted by their elements), expiring fields (times) and streams (blocks by identifier).
/// </summary>
/// <remarks>
/// A node is a buffer of about 1 KB: count, capacity, entries. The entries of a leaf are items. The entries of other nodes are
/// children with their weight and a copy of their first item. The copy is always exact, so a probe can compare it in place of the
/// item. Nodes are not linked to each other; walks use the path.
/// </remarks>
internal readonly ref partial struct RankTree<T>(Arena arena, ref TreeRoot root)
    where T : unmanaged, ITreeItem<T>
{
    private readonly Arena _arena = arena;
    private readonly ref TreeRoot _root = ref root;

    public bool IsEmpty => _root.Node == 0;

    public bool IsOneItem => _root.Height == 1 && Count(_root.Node) == 1;

    public long Weight => _root.Weight;

    /// <summary>The path to the first item that is not before the place of a probe, or to the end.</summary>
    public TreePath Seek<TProbe>(scoped in TProbe probe) where TProbe : struct, ITreeProbe<T>, allows ref struct
    {
        TreePath path = default;
        uint node = _root.Node;
        for (int level = (int)_root.Height - 1; level > 0; level--)
        {
            ReadOnlySpan<Child> children = Children(node);
            int low = 1, high = children.Length;
            while (low < high)
            {
                int middle = (low + high) >>> 1;
                if (probe.IsAfter(children[middle].First)) low = middle + 1;
                else high = middle;
            }
            path[level] = new TreeStep { Node = node, Index = low - 1 };
            node = children[low - 1].Node;
            // Prefetches the lines that the binary search reads first, all at once.
            for (int at = 0; at < NodeBytes; at += NodeBytes / 4) _arena.Prefetch(node + (uint)(at >> Arena.UnitShift), lines: 1);
        }
        if (node == 0) return path;

        ReadOnlySpan<T> items = Items(node);
        int from = 0, to = items.Length;
        while (from < to)
        {
            int middle = (from + to) >>> 1;
            if (probe.IsAfter(items[middle])) from = middle + 1;
            else to = middle;
        }
        path[0] = new TreeStep { Node = node, Index = from };
        return path;
    }

    /// <summary>
    /// The path to the item that contains a rank, and the rank within the item. Leads to the end if the rank is the whole weight.
    /// </summary>
    public TreePath SeekRank(long rank, out long within)
    {
        TreePath path = default;
        uint node = _root.Node;
        for (int level = (int)_root.Height - 1; level > 0; level--)
        {
            ReadOnlySpan<Child> children = Children(node);
            int index = 0;
            while (index < children.Length - 1 && rank >= children[index].Weight) rank -= children[index++].Weight;
            path[level] = new TreeStep { Node = node, Index = index };
            node = children[index].Node;
        }
        within = rank;
        if (node == 0) return path;
        path[0] = new TreeStep { Node = node, Index = T.IndexOf(Items(node), ref within) };
        return path;
    }

    /// <summary>The weight of all items before a path.</summary>
    public long RankOf(scoped ref TreePath path)
    {
        if (_root.Node == 0) return 0;
        long rank = T.WeightOf(Items(path[0].Node)[..path[0].Index]);
        for (int level = 1; level < _root.Height; level++)
        {
            foreach (ref readonly Child child in Children(path[level].Node)[..path[level].Index]) rank += child.Weight;
        }
        return rank;
    }

    /// <summary>Whether a path leads to an item. A path to the end of a leaf moves to the beginning of the next leaf.</summary>
    public bool IsAtItem(scoped ref TreePath path)
    {
        if (_root.Node == 0) return false;
        return path[0].Index < Items(path[0].Node).Length || NextLeaf(ref path);
    }

    /// <summary>The item of a path. Must not be written to: see <see cref="Update"/>.</summary>
    public ref readonly T At(scoped ref TreePath path) => ref Items(path[0].Node)[path[0].Index];

    /// <summary>The items in the leaf of a path.</summary>
    public ReadOnlySpan<T> Leaf(scoped ref TreePath path) => _root.Node == 0 ? default : Items(path[0].Node);

    /// <summary>Moves a path to the first item of the next leaf. Returns false, with nothing moved, at the last leaf.</summary>
    public bool NextLeaf(scoped ref TreePath path)
    {
        int level = 1;
        while (level < _root.Height && path[level].Index + 1 >= Count(path[level].Node)) level++;
        if (level >= _root.Height) return false;
        path[level].Index++;
        for (; level > 0; level--) path[level - 1] = new TreeStep { Node = Children(path[level].Node)[path[level].Index].Node };
        return true;
    }

    /// <summary>
    /// Moves a path to the last item of the previous leaf. Returns false, with nothing moved, at the first leaf.
    /// </summary>
    public bool PreviousLeaf(scoped ref TreePath path) => StepBack(ref path, 1) && ToLast(ref path, 0);

    /// <summary>Moves a path to the previous item. Returns false, with nothing moved, at the first item.</summary>
    public bool StepBack(scoped ref TreePath path) => _root.Node != 0 && StepBack(ref path, 0);

    private bool StepBack(scoped ref TreePath path, int at)
    {
        int level = at;
        while (level < _root.Height && path[level].Index == 0) level++;
        if (level >= _root.Height) return false;
        path[level].Index--;
        for (level--; level >= at; level--) ToLast(ref path, level);
        return true;
    }

    private bool ToLast(scoped ref TreePath path, int level)
    {
        uint node = Children(path[level + 1].Node)[path[level + 1].Index].Node;
        path[level] = new TreeStep { Node = node, Index = Count(node) - 1 };
        return true;
    }

    [StructLayout(LayoutKind.Sequential, Pack = 4)]
    private struct Child
    {
        public T First;
        public uint Node;
        public long Weight;
    }
}
