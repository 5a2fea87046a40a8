using System.Runtime.CompilerServices;

namespace RedisClone.Lua;

/// <summary>
/// A Lua table: an array for the keys 1..n that are dense enough, and a chained scatter table with Brent's variation for
/// all others. Sizes, collisions and so the order of traversal are those of Lua 5.1, to the element, until more keys collide than
/// do by chance: then the hash is one with a secret seed. So a client whose data a script uses as keys cannot make it slow.
/// </summary>
public sealed partial class LuaTable : LuaObject
{
    /// <summary>The object itself, and its place in the work list of a census.</summary>
    private const int BaseSize = 72;
    private const int ArrayHeader = 24;
    private const int CellSize = 16;
    private const int NodeSize = 40;

    private const int MaxBits = 26;

    /// <summary>The hash part of every table that has none: never written to.</summary>
    private static readonly Node[] s_noNodes = [new() { Next = -1 }];

    private LuaValue[] _array;
    private Node[] _nodes;

    /// <summary>All nodes at or above this index are taken.</summary>
    private int _lastFree;

    /// <summary>Keys are hashed by <see cref="KeyedHash"/>.</summary>
    private bool _isKeyed;

    internal LuaTable(int arraySize = 0, int hashSize = 0)
    {
        _array = arraySize == 0 ? [] : new LuaValue[arraySize];
        _nodes = s_noNodes;
        if (hashSize > 0) AllocateNodes(NodeCapacity(hashSize));
    }

    public override LuaType Type => LuaType.Table;

    public LuaTable? Metatable { get; set; }

    /// <summary>A frozen table refuses every change that a script attempts; the host may still make some.</summary>
    public bool Frozen { get; set; }

    /// <summary>Used as a metatable: bit n says that event n is known to be absent. Any write clears it.</summary>
    internal byte AbsentEvents;

    internal long Size => SizeOf(_array.Length, _nodes == s_noNodes ? 0 : _nodes.Length);

    internal ReadOnlySpan<LuaValue> ArrayPart => _array;

    /// <summary>The bytes of a table whose parts have so many places; those of the hash part are rounded up.</summary>
    internal static long SizeOf(int arraySize, int hashSize) =>
        BaseSize + (arraySize == 0 ? 0 : ArrayHeader + ((long)arraySize * CellSize)) +
        (hashSize == 0 ? 0 : ArrayHeader + ((long)NodeCapacity(hashSize) * NodeSize));

    /// <summary>Indexes for traversal: the array first, then the nodes.</summary>
    internal int SlotCount => _array.Length + _nodes.Length;

    /// <summary>False where there are only the keys 1..n: nothing else need be looked for.</summary>
    public bool HasFields => _nodes != s_noNodes;

    /// <summary>The elements, counted one by one.</summary>
    public int Count
    {
        get
        {
            int count = 0;
            for (int at = -1; Advance(ref at, out _, out _);) count++;
            return count;
        }
    }

    /// <summary>The value at a string key, nil if there is none.</summary>
    public LuaValue this[LuaString key] => Get(key);

    /// <summary>The value at an integer key, nil if there is none.</summary>
    public LuaValue this[int key] => Get(key);

    /// <summary>A border: an n whose element is there while the next is not (any of them where there are several).</summary>
    public int Length
    {
        get
        {
            int high = _array.Length;
            if (high > 0 && _array[high - 1].IsNil)
            {
                int low = 0;
                while (high - low > 1)
                {
                    int middle = (low + high) >>> 1;
                    if (_array[middle - 1].IsNil) high = middle;
                    else low = middle;
                }
                return low;
            }
            return _nodes == s_noNodes ? high : SearchBorder(high);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ref readonly LuaValue Get(int key)
    {
        LuaValue[] array = _array;
        return ref (uint)(key - 1) < (uint)array.Length ? ref array[key - 1] : ref GetNumber(key);
    }

    internal ref readonly LuaValue Get(LuaString key)
    {
        Node[] nodes = _nodes;
        int at = HashOf(key) & (nodes.Length - 1);
        do
        {
            ref readonly Node node = ref nodes[at];
            if (node.Key.Tag == key || (node.Key.Tag is LuaString other && other.ContentEquals(key))) return ref node.Value;
            at = node.Next;
        }
        while (at >= 0);
        return ref LuaValue.NilCell[0];
    }

    internal ref readonly LuaValue Get(in LuaValue key)
    {
        if (key.Tag is LuaString s) return ref Get(s);
        if (key.Tag == LuaValue.NumberTag)
        {
            int index = double.ConvertToIntegerNative<int>(key.Number);
            return ref index == key.Number ? ref Get(index) : ref GetNumber(key.Number);
        }
        if (key.Tag is null) return ref LuaValue.NilCell[0];
        Node[] nodes = _nodes;
        int at = MainPosition(in key);
        do
        {
            ref readonly Node node = ref nodes[at];
            if (node.Key.Tag == key.Tag) return ref node.Value;
            at = node.Next;
        }
        while (at >= 0);
        return ref LuaValue.NilCell[0];
    }

    /// <summary>Stores where that neither makes the table grow nor may concern a metamethod; false if it might.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryStore(int key, in LuaValue value)
    {
        LuaValue[] array = _array;
        if ((uint)(key - 1) >= (uint)array.Length || Frozen) return false;
        ref LuaValue cell = ref array[key - 1];
        if (cell.IsNil && Metatable is not null) return false;
        AbsentEvents = 0;
        cell.Set(in value);
        return true;
    }

    /// <summary>As above, for a value that is there already.</summary>
    internal bool TryStore(LuaString key, in LuaValue value)
    {
        Node[] nodes = _nodes;
        int at = HashOf(key) & (nodes.Length - 1);
        do
        {
            ref Node node = ref nodes[at];
            if (node.Key.Tag == key || (node.Key.Tag is LuaString other && other.ContentEquals(key)))
            {
                if (node.Value.IsNil || Frozen) return false;
                AbsentEvents = 0;
                node.Value.Set(in value);
                return true;
            }
            at = node.Next;
        }
        while (at >= 0);
        return false;
    }

    /// <summary>
    /// Steps to the next element; false at the end, and then the index is past it. Start at -1; an index stays valid
    /// while nothing is inserted.
    /// </summary>
    public bool Advance(ref int index, out LuaValue key, out LuaValue value)
    {
        int i = index + 1;
        for (; i < _array.Length; i++)
        {
            if (_array[i].IsNil) continue;
            index = i;
            key = new LuaValue(i + 1);
            value = _array[i];
            return true;
        }
        for (; i - _array.Length < _nodes.Length; i++)
        {
            ref readonly Node node = ref _nodes[i - _array.Length];
            if (node.Value.IsNil) continue;
            index = i;
            key = node.Key;
            value = node.Value;
            return true;
        }
        index = i;
        key = value = default;
        return false;
    }

    /// <summary>Where a key stands in the order of traversal: -1 for nil, -2 if it is not there at all.</summary>
    internal int FindIndex(in LuaValue key)
    {
        if (key.IsNil) return -1;
        if (key.IsNumber)
        {
            int index = (int)key.Number;
            if (index == key.Number && index > 0 && index <= _array.Length) return index - 1;
        }
        int at = MainPosition(in key);
        do
        {
            ref readonly Node node = ref _nodes[at];
            if (LuaValue.RawEquals(in node.Key, in key)) return at + _array.Length;
            at = node.Next;
        }
        while (at >= 0);
        return -2;
    }

    /// <summary>The most keys that share a main position, for tests.</summary>
    internal int LongestChain
    {
        get
        {
            int longest = 0;
            for (int i = 0; i < _nodes.Length; i++)
            {
                if (!_nodes[i].Key.IsNil && MainPosition(in _nodes[i].Key) == i) longest = Math.Max(longest, ChainLength(i));
            }
            return longest;
        }
    }

    internal void VisitNodes(Action<LuaValue> visit)
    {
        foreach (ref readonly Node node in _nodes.AsSpan())
        {
            if (node.Value.IsNil) continue;
            visit(node.Key);
            visit(node.Value);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int HashOf(LuaString key) => _isKeyed ? KeyedHash.Of(key.Span) : key.Hash;

    private int ChainLength(int at)
    {
        int length = 0;
        for (; at >= 0; at = _nodes[at].Next) length++;
        return length;
    }

    private ref readonly LuaValue GetNumber(double key)
    {
        Node[] nodes = _nodes;
        int at = NumberPosition(key);
        do
        {
            ref readonly Node node = ref nodes[at];
            if (node.Key.Tag == LuaValue.NumberTag && node.Key.Number == key) return ref node.Value;
            at = node.Next;
        }
        while (at >= 0);
        return ref LuaValue.NilCell[0];
    }

    /// <summary>Looks for a border beyond the array, by doubling and then by halving.</summary>
    private int SearchBorder(int present)
    {
        uint low = (uint)present, high = low + 1;
        while (!Get((int)high).IsNil)
        {
            low = high;
            high *= 2;
            if (high <= int.MaxValue) continue;
            // Only a table built for this purpose gets here. A straight search, as in Lua, takes as long as the table is large.
            high = int.MaxValue;
            if (!Get((int)high).IsNil) return int.MaxValue - 1;
            break;
        }
        while (high - low > 1)
        {
            uint middle = (low + high) / 2;
            if (Get((int)middle).IsNil) high = middle;
            else low = middle;
        }
        return (int)low;
    }

    private struct Node
    {
        public LuaValue Key;
        public LuaValue Value;

        /// <summary>The next node of the chain, or -1.</summary>
        public int Next;
    }
}
