using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Lists;

/// <summary>Walks a list from an index in either direction.</summary>
public ref struct ListElements
{
    private readonly Arena _arena;
    private readonly RankTree<BlockItem> _order;
    private readonly bool _backwards, _large;
    private TreePath _path;
    private ReadOnlySpan<byte> _entries;
    private int _at;

    internal ListElements(in Entry entry, long from, bool backwards)
    {
        _arena = entry.Keyspace.Store.Arena;
        _backwards = backwards;
        if (from < 0 || from >= ListValue.Count(entry)) return;
        ListBlock block;
        if (ListValue.IsLarge(entry))
        {
            _large = true;
            _order = LargeList.Order(entry);
            _path = _order.SeekRank(from, out from);
            block = LargeList.Block(_arena, _order.At(ref _path));
        }
        else
        {
            block = new ListBlock(entry.Value);
        }
        _entries = block.Entries;
        _at = block.PositionOf((int)from);
        if (backwards) _at = Packed.Next(_entries, _at);
    }

    public Element Current { get; private set; }

    public readonly ListElements GetEnumerator() => this;

    public bool MoveNext()
    {
        if ((_backwards ? _at == 0 : _at == _entries.Length) && !NextBlock()) return false;
        if (_backwards) _at = Packed.Previous(_entries, _at);
        Current = Packed.Read(_entries, _at, out int next);
        if (!_backwards) _at = next;
        return true;
    }

    private bool NextBlock()
    {
        if (!_large) return false;
        if (_backwards)
        {
            if (_path[0].Index > 0) _path[0].Index--;
            else if (!_order.PreviousLeaf(ref _path)) return false;
        }
        else
        {
            _path[0].Index++;
            if (!_order.IsAtItem(ref _path)) return false;
        }
        _entries = LargeList.Block(_arena, _order.At(ref _path)).Entries;
        _at = _backwards ? _entries.Length : 0;
        return true;
    }
}
