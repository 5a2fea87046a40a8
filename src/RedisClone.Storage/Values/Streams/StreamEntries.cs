using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>Walks the entries of a stream between two identifiers, both included, in either direction.</summary>
public ref struct StreamEntries
{
    private readonly Arena _arena;
    private readonly RankTree<StreamBlockItem> _blocks;
    private readonly StreamId _last;
    private readonly bool _backwards;
    private TreePath _path;
    private StreamBlock _block;
    private StreamId _first;
    private int _at;
    private bool _open;
    private int _count;

    internal StreamEntries(in Entry entry, StreamId from, StreamId to, bool backwards)
    {
        _arena = entry.Keyspace.Store.Arena;
        _blocks = LargeStream.Blocks(entry);
        _backwards = backwards;
        _last = backwards ? from : to;
        if (from > to || _blocks.IsEmpty) return;
        // The walk starts in the last block that does not begin after its start.
        _path = _blocks.Seek(new AtOrBefore(backwards ? to : from));
        if (!_blocks.StepBack(ref _path))
        {
            if (backwards) return;
            _path = _blocks.SeekRank(0, out _);
        }
        Open();
        if (!backwards) _at = _block.Seek(_first, from);
        else if (to.TryNext(out StreamId behind)) _at = _block.Seek(_first, behind);
    }

    /// <summary>Valid until the next move.</summary>
    public StreamEntry Current { get; private set; }

    /// <summary>Whether the current entry is the first one of its block, in a forward walk.</summary>
    public bool BeginsBlock { get; private set; }

    /// <summary>The identifier that the entries of the current block are relative to.</summary>
    public readonly StreamId BlockFirst => _first;

    /// <summary>The number of entries in the current block.</summary>
    public readonly int BlockCount => _count;

    /// <summary>The bytes of the current block.</summary>
    public readonly int BlockBytes => _block.Used;

    /// <summary>The names that entries of the current block share.</summary>
    public readonly StreamNames BlockNames => new(_block.Names(out int count), count);

    public readonly StreamEntries GetEnumerator() => this;

    public bool MoveNext()
    {
        if (!_open) return false;
        if (_backwards)
        {
            while (_at == _block.EntriesAt)
            {
                if (!_blocks.StepBack(ref _path)) return _open = false;
                Open();
            }
            _at = Packed.Previous(_block.Content, _at);
        }
        else
        {
            while (_at == _block.Used)
            {
                _path[0].Index++;
                if (!_blocks.IsAtItem(ref _path)) return _open = false;
                Open();
            }
        }
        BeginsBlock = _at == _block.EntriesAt;
        Current = _block.Read(_first, _at);
        if (_backwards ? Current.Id < _last : Current.Id > _last) return _open = false;
        if (!_backwards) _at = _block.Next(_at);
        return true;
    }

    private void Open()
    {
        StreamBlockItem item = _blocks.At(ref _path);
        (_first, _count) = (item.First, item.Count);
        _block = new StreamBlock(_arena.Whole(item.Block));
        _at = _backwards ? _block.Used : _block.EntriesAt;
        _open = true;
    }
}
