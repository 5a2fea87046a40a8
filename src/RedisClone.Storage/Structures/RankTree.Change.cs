using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Structures;

/// <summary>Changes of items: insert, remove, update, and how nodes share, split and merge.</summary>
internal readonly ref partial struct RankTree<T>
{
    private const int NodeBytes = 1024, HeaderBytes = 8, LeastItems = 8;

    private static int ItemBytes => Unsafe.SizeOf<T>();

    private static int ChildBytes => Unsafe.SizeOf<Child>();

    private int RootLevel => (int)_root.Height - 1;

    /// <summary>
    /// Inserts an item at the place of a path. The path then leads to the item. If memory is missing, the tree stays unchanged.
    /// </summary>
    public void Insert(scoped ref TreePath path, T item)
    {
        if (_root.Node == 0)
        {
            _root.Node = NewNode(HeaderBytes + LeastItems * ItemBytes, ItemBytes);
            _root.Height = 1;
            path[0] = new TreeStep { Node = _root.Node };
        }
        else if (Count(path[0].Node) == Capacity(path[0].Node))
        {
            MakeRoom(ref path, in item);
        }
        long weight = T.WeightOf(new ReadOnlySpan<T>(in item));
        _root.Weight += weight;
        Put(ref path, 0, MemoryMarshal.AsBytes(new ReadOnlySpan<T>(in item)), in item, weight);
    }

    /// <summary>Like <see cref="Insert"/>, but returns false if memory is missing.</summary>
    public bool TryInsert(scoped ref TreePath path, T item)
    {
        // Most nodes have room, so most inserts need no exception handler.
        if (_root.Node != 0 && Count(path[0].Node) < Capacity(path[0].Node))
        {
            Insert(ref path, item);
            return true;
        }
        try
        {
            Insert(ref path, item);
            return true;
        }
        catch (OutOfMemoryException)
        {
            return false;
        }
    }

    /// <summary>
    /// Like <see cref="TryInsert(ref TreePath, T)"/>, and also updates another path. The other path stays valid if the leaf had
    /// room.
    /// </summary>
    public bool TryInsert(scoped ref TreePath path, T item, scoped ref TreePath other, out bool isOtherValid)
    {
        isOtherValid = Count(path[0].Node) < Capacity(path[0].Node);
        if (!TryInsert(ref path, item)) return false;
        if (isOtherValid && path[0].Node == other[0].Node && path[0].Index <= other[0].Index) other[0].Index++;
        return true;
    }

    /// <summary>Removes the item of a path and invalidates the path. Needs no memory.</summary>
    public void Remove(scoped ref TreePath path)
    {
        long weight = T.WeightOf(new ReadOnlySpan<T>(in At(ref path)));
        _arena.BeginChange();
        _root.Weight -= weight;
        AddWeight(ref path, 1, -weight);
        Remove(ref path, 0);
        _arena.EndChange();
    }

    /// <summary>Replaces the item of a path. The order of the items must stay the same.</summary>
    public void Update(scoped ref TreePath path, T item)
    {
        ref T place = ref Items(path[0].Node)[path[0].Index];
        long change = T.WeightOf(new ReadOnlySpan<T>(in item)) - T.WeightOf(new ReadOnlySpan<T>(in place));
        place = item;
        if (change != 0)
        {
            _root.Weight += change;
            AddWeight(ref path, 1, change);
        }
        if (path[0].Index == 0) SetFirst(ref path, 1, in item);
    }

    /// <summary>
    /// Frees the last leaf of an abandoned tree. The caller has dealt with its items. Returns false when the tree is empty. Needs
    /// no memory.
    /// </summary>
    public bool DropLastLeaf()
    {
        if (_root.Node == 0) return false;
        TreePath path = Last();
        _arena.BeginChange();
        _root.Weight -= T.WeightOf(Items(path[0].Node));
        Count(path[0].Node) = 0;
        RemoveEmptied(ref path, 0);
        _arena.EndChange();
        return _root.Node != 0;
    }

    /// <summary>
    /// Moves the nodes on the way to the item of a rank out of leaving slabs (see <see cref="Arena.TryMove"/>). Returns the path
    /// to the item.
    /// </summary>
    public TreePath Compact(long rank)
    {
        for (int level = RootLevel; level >= 0; level--)
        {
            TreePath path = SeekRank(rank, out _);
            uint node = path[level].Node;
            if (!_arena.TryMove(node, out uint moved)) continue;
            if (level == RootLevel) _root.Node = moved;
            else Children(path[level + 1].Node)[path[level + 1].Index].Node = moved;
            _arena.Free(node);
        }
        return SeekRank(rank, out _);
    }

    /// <summary>The path to the last item.</summary>
    public TreePath Last()
    {
        TreePath path = default;
        if (_root.Node == 0) return path;
        path[RootLevel] = new TreeStep { Node = _root.Node, Index = Count(_root.Node) - 1 };
        for (int level = RootLevel - 1; level >= 0; level--) ToLast(ref path, level);
        return path;
    }

    /// <summary>Frees every node.</summary>
    public void Clear()
    {
        while (DropLastLeaf()) { }
    }

    /// <summary>Puts an entry into a node that has room for it.</summary>
    private void Put(scoped ref TreePath path, int level, scoped ReadOnlySpan<byte> entry, in T first, long weight)
    {
        (uint node, int index) = (path[level].Node, path[level].Index);
        int size = entry.Length, count = Count(node)++;
        Span<byte> entries = Entries(node, (count + 1) * size);
        entries[(index * size)..(count * size)].CopyTo(entries[((index + 1) * size)..]);
        entry.CopyTo(entries[(index * size)..]);
        AddWeight(ref path, level + 1, weight);
        if (index == 0) SetFirst(ref path, level + 1, in first);
    }

    /// <summary>
    /// Makes room in the full leaf of a path, and keeps the path at the same place. All nodes that this can need are allocated
    /// before the first change.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void MakeRoom(scoped ref TreePath path, in T first)
    {
        if (RootLevel == 0 && TryGrowLeaf(ref path)) return;
        if (RootLevel > 0 && TryShare(ref path, 0)) return;
        int needed = 1;
        while (needed < _root.Height && Count(path[needed].Node) == Capacity(path[needed].Node)) needed++;
        if (needed == _root.Height) needed++;
        Span<uint> spare = stackalloc uint[needed];
        TakeSpare(spare);
        _arena.BeginChange();
        MakeRoom(ref path, 0, in first, ref spare);
        // Some are left over if a node above shared with a sibling instead of splitting.
        foreach (uint node in spare) FreeNode(node);
        _arena.EndChange();
    }

    private void MakeRoom(scoped ref TreePath path, int level, in T first, ref Span<uint> spare)
    {
        if (level == RootLevel) AddRoot(ref path, TakeOne(ref spare));
        else if (level > 0 && TryShare(ref path, level)) return;
        uint node = path[level].Node;
        int index = path[level].Index, at = path[level + 1].Index, count = Count(node), size = SizeAt(level);
        bool rightEdge = index == count && IsRightEdge(ref path, level), leftEdge = index == 0 && IsLeftEdge(ref path, level);

        // A tree that is filled from one end keeps full nodes: there, the new node begins empty.
        int kept = rightEdge ? count : leftEdge ? 0 : count / 2, moved = count - kept;
        uint right = TakeOne(ref spare);
        Format(right, size);
        Entries(node, count * size)[(kept * size)..].CopyTo(Entries(right, moved * size));
        Count(right) = moved;
        Count(node) = kept;
        long weight = WeightOf(right, level, 0, moved);
        AddWeight(ref path, level + 1, -weight);
        var child = new Child { First = moved > 0 ? FirstOf(right, level) : first, Node = right, Weight = weight };
        path[level + 1].Index = at + 1;
        if (Count(path[level + 1].Node) == Capacity(path[level + 1].Node))
            MakeRoom(ref path, level + 1, in child.First, ref spare);
        Put(ref path, level + 1, MemoryMarshal.AsBytes(new ReadOnlySpan<Child>(in child)), in child.First, weight);
        if (index > kept || rightEdge) path[level] = new TreeStep { Node = right, Index = index - kept };
        else StepBack(ref path, level + 1);
    }

    /// <summary>Moves entries of a full node to a sibling with room, except in a tree that is filled from one end.</summary>
    private bool TryShare(scoped ref TreePath path, int level)
    {
        int index = path[level].Index;
        if (index == Count(path[level].Node) && IsRightEdge(ref path, level)) return false;
        if (index == 0 && IsLeftEdge(ref path, level)) return false;
        return ShareRight(ref path, level) || ShareLeft(ref path, level);
    }

    private void TakeSpare(Span<uint> spare)
    {
        for (int i = 0; i < spare.Length; i++)
        {
            spare[i] = _arena.TryAllocate(NodeBytes);
            if (spare[i] != 0) continue;
            foreach (uint node in spare[..i]) _arena.Free(node);
            Arena.ThrowOutOfMemory();
        }
        foreach (uint node in spare) _root.Bytes += _arena.Capacity(node);
    }

    private static uint TakeOne(ref Span<uint> spare)
    {
        uint node = spare[0];
        spare = spare[1..];
        return node;
    }

    /// <summary>Moves entries to the right sibling if it has room.</summary>
    private bool ShareRight(scoped ref TreePath path, int level)
    {
        (uint parent, int at) = (path[level + 1].Node, path[level + 1].Index);
        if (at + 1 == Count(parent)) return false;
        uint node = path[level].Node, right = Children(parent)[at + 1].Node;
        int count = Count(node), rightCount = Count(right), moved = SharedPart(count, rightCount), size = SizeAt(level);
        if (moved == 0) return false;

        long weight = WeightOf(node, level, count - moved, moved);
        Span<byte> to = Entries(right, (rightCount + moved) * size);
        to[..(rightCount * size)].CopyTo(to[(moved * size)..]);
        Entries(node, count * size)[((count - moved) * size)..].CopyTo(to);
        Count(node) -= moved;
        Count(right) += moved;
        Span<Child> children = Children(parent);
        children[at].Weight -= weight;
        children[at + 1].Weight += weight;
        children[at + 1].First = FirstOf(right, level);
        int index = path[level].Index;
        if (index > count - moved)
        {
            path[level] = new TreeStep { Node = right, Index = index - (count - moved) };
            path[level + 1].Index++;
        }
        return true;
    }

    /// <summary>Moves entries to the left sibling if it has room.</summary>
    private bool ShareLeft(scoped ref TreePath path, int level)
    {
        (uint parent, int at) = (path[level + 1].Node, path[level + 1].Index);
        if (at == 0) return false;
        uint node = path[level].Node, left = Children(parent)[at - 1].Node;
        int count = Count(node), leftCount = Count(left), moved = SharedPart(count, leftCount), size = SizeAt(level);
        if (moved == 0) return false;

        long weight = WeightOf(node, level, 0, moved);
        Span<byte> from = Entries(node, count * size);
        from[..(moved * size)].CopyTo(Entries(left, (leftCount + moved) * size)[(leftCount * size)..]);
        from[(moved * size)..].CopyTo(from);
        Count(node) -= moved;
        Count(left) += moved;
        Span<Child> children = Children(parent);
        children[at - 1].Weight += weight;
        children[at].Weight -= weight;
        children[at].First = FirstOf(node, level);
        int index = path[level].Index;
        if (index <= moved)
        {
            path[level] = new TreeStep { Node = left, Index = leftCount + index };
            path[level + 1].Index--;
        }
        else
        {
            path[level].Index -= moved;
        }
        return true;
    }

    /// <summary>
    /// The number of entries that a full node moves to a sibling: half the difference, or none if that is too few.
    /// </summary>
    private static int SharedPart(int count, int siblingCount) =>
        count - siblingCount < count / 8 + 2 ? 0 : (count - siblingCount) / 2;

    private void Remove(scoped ref TreePath path, int level)
    {
        (uint node, int index) = (path[level].Node, path[level].Index);
        int size = SizeAt(level), count = --Count(node);
        Span<byte> entries = Entries(node, (count + 1) * size);
        entries[((index + 1) * size)..].CopyTo(entries[(index * size)..]);
        if (count == 0)
        {
            RemoveEmptied(ref path, level);
            return;
        }
        if (index == 0) SetFirst(ref path, level + 1, FirstOf(node, level));
        if (level == RootLevel) ShrinkRoot();
        else if (count < Capacity(node) / 3) Merge(ref path, level);
    }

    /// <summary>Frees an empty node and removes it from its parent.</summary>
    private void RemoveEmptied(scoped ref TreePath path, int level)
    {
        FreeNode(path[level].Node);
        if (level == RootLevel) _root = default;
        else Remove(ref path, level + 1);
    }

    /// <summary>Merges a sparsely filled node with a sibling, if the result is not too full.</summary>
    private void Merge(scoped ref TreePath path, int level)
    {
        (uint parent, int at) = (path[level + 1].Node, path[level + 1].Index);
        int left = at + 1 < Count(parent) ? at : at - 1;
        if (left < 0) return;
        Span<Child> children = Children(parent);
        (uint node, uint right) = (children[left].Node, children[left + 1].Node);
        int count = Count(node), moved = Count(right), size = SizeAt(level);
        if (count + moved > Capacity(node) * 3 / 4) return;

        Entries(right, moved * size).CopyTo(Entries(node, (count + moved) * size)[(count * size)..]);
        Count(node) += moved;
        children[left].Weight += children[left + 1].Weight;
        FreeNode(right);
        path[level + 1].Index = left + 1;
        Remove(ref path, level + 1);
    }

    /// <summary>Lowers the tree while its root has one child, and shrinks an only leaf if there is memory for that.</summary>
    private void ShrinkRoot()
    {
        while (_root.Height > 1 && Count(_root.Node) == 1)
        {
            uint only = Children(_root.Node)[0].Node;
            FreeNode(_root.Node);
            _root.Node = only;
            _root.Height--;
        }
        if (_root.Height == 1 && Count(_root.Node) is var count && count >= LeastItems && count <= Capacity(_root.Node) / 4)
            TryResizeRootLeaf(HeaderBytes + 2 * count * ItemBytes);
    }

    private bool TryGrowLeaf(scoped ref TreePath path)
    {
        if (Capacity(_root.Node) >= CapacityOf(NodeBytes, ItemBytes)) return false;
        if (!TryResizeRootLeaf(Math.Min(NodeBytes, HeaderBytes + 2 * Capacity(_root.Node) * ItemBytes))) Arena.ThrowOutOfMemory();
        path[0].Node = _root.Node;
        return true;
    }

    private bool TryResizeRootLeaf(int bytes)
    {
        uint old = _root.Node, resized = _arena.TryAllocate(bytes);
        if (resized == 0) return false;
        int count = Count(old);
        _root.Bytes += _arena.Capacity(resized);
        Format(resized, ItemBytes);
        _root.Node = resized;
        Items(old).CopyTo(MemoryMarshal.Cast<byte, T>(Entries(_root.Node, count * ItemBytes)));
        Count(_root.Node) = count;
        FreeNode(old);
        return true;
    }

    private void AddRoot(scoped ref TreePath path, uint root)
    {
        var only = new Child { First = FirstOf(_root.Node, RootLevel), Node = _root.Node, Weight = 0 };
        only.Weight = WeightOf(only.Node, RootLevel, 0, Count(only.Node));
        Format(root, ChildBytes);
        Count(root) = 1;
        Children(root)[0] = only;
        _root.Node = root;
        _root.Height++;
        path[RootLevel] = new TreeStep { Node = root };
    }

    private bool IsRightEdge(scoped ref TreePath path, int level)
    {
        while (++level < _root.Height)
            if (path[level].Index != Count(path[level].Node) - 1) return false;
        return true;
    }

    private bool IsLeftEdge(scoped ref TreePath path, int level)
    {
        while (++level < _root.Height)
            if (path[level].Index != 0) return false;
        return true;
    }

    private void AddWeight(scoped ref TreePath path, int level, long weight)
    {
        for (; level < _root.Height; level++) Children(path[level].Node)[path[level].Index].Weight += weight;
    }

    private void SetFirst(scoped ref TreePath path, int level, in T first)
    {
        for (; level < _root.Height; level++)
        {
            Children(path[level].Node)[path[level].Index].First = first;
            if (path[level].Index != 0) return;
        }
    }

    private T FirstOf(uint node, int level) => level == 0 ? Items(node)[0] : Children(node)[0].First;

    private long WeightOf(uint node, int level, int from, int count)
    {
        if (level == 0) return T.WeightOf(Items(node).Slice(from, count));
        long weight = 0;
        foreach (ref readonly Child child in Children(node).Slice(from, count)) weight += child.Weight;
        return weight;
    }

    private uint NewNode(int bytes, int size)
    {
        uint node = _arena.Allocate(bytes);
        _root.Bytes += _arena.Capacity(node);
        Format(node, size);
        return node;
    }

    private void Format(uint node, int size)
    {
        Header(node)[0] = 0;
        Header(node)[1] = CapacityOf(_arena.Capacity(node), size);
    }

    private void FreeNode(uint node)
    {
        _root.Bytes -= _arena.Capacity(node);
        _arena.Free(node);
    }

    private static int CapacityOf(int bytes, int size) => (bytes - HeaderBytes) / size;

    private static int SizeAt(int level) => level == 0 ? ItemBytes : ChildBytes;

    private ref int Count(uint node) => ref Header(node)[0];

    private int Capacity(uint node) => Header(node)[1];

    private Span<int> Header(uint node) => MemoryMarshal.Cast<byte, int>(_arena.Bytes(node, HeaderBytes));

    private Span<byte> Entries(uint node, int length) => _arena.Bytes(node, HeaderBytes + length)[HeaderBytes..];

    private Span<T> Items(uint node) => MemoryMarshal.Cast<byte, T>(Entries(node, Count(node) * ItemBytes));

    private Span<Child> Children(uint node) => MemoryMarshal.Cast<byte, Child>(Entries(node, Count(node) * ChildBytes));
}
