using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Structures;

/// <summary>A record in a tree that is ordered by name.</summary>
internal readonly record struct NamedHandle(uint Handle) : ITreeItem<NamedHandle>
{
    public static long WeightOf(ReadOnlySpan<NamedHandle> items) => items.Length;

    public static int IndexOf(ReadOnlySpan<NamedHandle> items, ref long rank) => UniformWeight.IndexOf(items.Length, ref rank);
}

/// <summary>
/// Values of a fixed size, ordered by name: the groups of a stream, the consumers of a group. They are few and are read in order.
/// The handle of a name does not change as long as the name is present.
/// </summary>
internal readonly ref struct NameTree(Arena arena, ref TreeRoot root)
{
    private readonly Arena _arena = arena;
    private readonly RankTree<NamedHandle> _tree = new(arena, ref root);

    public long Count => _tree.Weight;

    public RankTree<NamedHandle> Order => _tree;

    /// <summary>The handle of a name, 0 if it is absent.</summary>
    public uint Find(ReadOnlySpan<byte> name)
    {
        TreePath path = _tree.Seek(new Before(_arena, name));
        if (!_tree.IsAtItem(ref path)) return 0;
        uint handle = _tree.At(ref path).Handle;
        return NameOf(_arena, handle).SequenceEqual(name) ? handle : 0;
    }

    /// <summary>Adds a name, with a value that is all zero. The caller knows that the name is absent.</summary>
    public uint Add(ReadOnlySpan<byte> name, int valueBytes)
    {
        uint handle = _arena.Allocate(MemberRecord.SizeOf(name.Length, NumberForm.None, valueBytes));
        MemberRecord.Write(_arena.FromStart(handle), name, NumberForm.None, 0, valueBytes).Clear();
        if (TryAttach(handle)) return handle;
        _arena.Free(handle);
        Arena.ThrowOutOfMemory();
        return 0;
    }

    /// <summary>Removes a present name. Needs no memory. The caller frees the structures that its value refers to.</summary>
    public void Remove(uint handle)
    {
        Detach(handle);
        _arena.Free(handle);
    }

    /// <summary>Takes a name out of the tree. The caller then owns its record.</summary>
    public void Detach(uint handle)
    {
        TreePath path = _tree.Seek(new Before(_arena, NameOf(_arena, handle)));
        bool found = _tree.IsAtItem(ref path);
        System.Diagnostics.Debug.Assert(found && _tree.At(ref path).Handle == handle);
        _tree.Remove(ref path);
    }

    /// <summary>
    /// Adds a record that is in no tree, or that is about to leave another tree. Returns false if memory is missing.
    /// </summary>
    public bool TryAttach(uint handle)
    {
        TreePath path = _tree.Seek(new Before(_arena, NameOf(_arena, handle)));
        return _tree.TryInsert(ref path, new NamedHandle(handle));
    }

    /// <summary>The handle at a place in the order. The place must exist.</summary>
    public uint At(long index)
    {
        TreePath path = _tree.SeekRank(index, out _);
        return _tree.At(ref path).Handle;
    }

    public static ReadOnlySpan<byte> NameOf(Arena arena, uint handle) => new MemberRecord(arena.FromStart(handle)).Name;

    public static Span<byte> ValueOf(Arena arena, uint handle) => new MemberRecord(arena.FromStart(handle)).Value;

    private readonly ref struct Before(Arena arena, ReadOnlySpan<byte> name) : ITreeProbe<NamedHandle>
    {
        private readonly ReadOnlySpan<byte> _name = name;

        public bool IsAfter(in NamedHandle item) => NameOf(arena, item.Handle).SequenceCompareTo(_name) < 0;
    }
}
