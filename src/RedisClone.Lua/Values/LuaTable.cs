using System.Runtime.CompilerServices;

namespace RedisClone.Lua.Values;

/// <summary>
/// A Lua table: an array for the keys 1..n if they are dense enough, and a chained scatter table with Brent's variation
/// for all other keys. Sizes, collisions and therefore the traversal order are exactly those of Lua 5.1 until more keys
/// collide than chance explains. The table then switches to a hash with a secret seed, so that a client cannot slow it
/// down with chosen keys.
/// </summary>
public sealed partial class LuaTable : LuaObject
{
    /// <summary>The size of the object and of its entry in the work list of a census.</summary>
    private const int BaseSize = 72;
    private const int ArrayHeader = 24;
    private const int CellSize = 16;
    private const int NodeSize = 40;

    private const int MaxBits = 26;

    /// <summary>The shared node array of tables without a hash part. It is never written.</summary>
    private static readonly Node[] s_noNodes = [new() { Next = -1 }];

    private const int LongestKept = 256;

    /// <summary>The tag of the keys of removed fields.</summary>
    private static readonly object s_removed = "removed";

    private LuaValue[] _array;
    private Node[] _nodes;

    /// <summary>All nodes at or above this index are occupied.</summary>
    private int _lastFree;

    /// <summary>True if keys are hashed by <see cref="KeyedHash"/>.</summary>
    private bool _isKeyed;

    internal LuaTable(int arraySize = 0, int hashSize = 0)
    {
        _array = arraySize == 0 ? [] : new LuaValue[arraySize];
        _nodes = s_noNodes;
        if (hashSize > 0) AllocateNodes(NodeCapacity(hashSize));
    }

    public override LuaType Type => LuaType.Table;

    public LuaTable? Metatable { get; set; }

    /// <summary>A frozen table refuses all changes by scripts. The host can still change it.</summary>
    public bool Frozen { get; set; }

    /// <summary>The cache of a metatable: bit n is set if event n is known to be absent. Any write clears it.</summary>
    internal byte AbsentEvents;

    internal long Size => SizeOf(_array.Length, _nodes == s_noNodes ? 0 : _nodes.Length);

    internal ReadOnlySpan<LuaValue> ArrayPart => _array;

    /// <summary>
    /// Returns the size of a table with parts of the given capacities. The capacity of the hash part is rounded up.
    /// </summary>
    internal static long SizeOf(int arraySize, int hashSize) =>
        BaseSize + (arraySize == 0 ? 0 : ArrayHeader + ((long)arraySize * CellSize)) +
        (hashSize == 0 ? 0 : ArrayHeader + ((long)NodeCapacity(hashSize) * NodeSize));

    /// <summary>The number of traversal indexes: first the array, then the nodes.</summary>
    public int SlotCount => _array.Length + _nodes.Length;

    /// <summary>False if the table has only the keys 1..n.</summary>
    public bool HasFields => _nodes != s_noNodes;

    /// <summary>The number of elements, counted by a traversal.</summary>
    public int Count
    {
        get
        {
            int count = 0;
            for (int at = -1; Advance(ref at, out _, out _);) count++;
            return count;
        }
    }

    /// <summary>The value of a string key, or nil.</summary>
    public LuaValue this[LuaString key] => Get(key);

    /// <summary>The value of an integer key, or nil.</summary>
    public LuaValue this[int key] => Get(key);

    /// <summary>
    /// A border: an n such that element n exists and element n + 1 does not. If there are several, any of them.
    /// </summary>
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

    /// <summary>
    /// Stores a value if that neither grows the table nor may invoke a metamethod. Otherwise returns false.
    /// </summary>
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

    /// <summary>
    /// Stores a value for an existing key if that cannot invoke a metamethod. Otherwise returns false.
    /// </summary>
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
    /// Advances to the next element. Returns false at the end, with the index past the end. The first index is -1. An
    /// index is valid until a key is inserted.
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

    /// <summary>Returns the traversal index of a key: -1 for nil, -2 if the key does not exist.</summary>
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

    /// <summary>
    /// Returns the index of a key from which a traversal goes on. The key may have been removed since: a traversal may clear fields.
    /// </summary>
    internal int FindTraversed(in LuaValue key)
    {
        int found = FindIndex(in key);
        if (found != -2 || key.Tag is not LuaObject) return found;
        long mark = RemovedMark(in key);
        for (int at = MainPosition(in key); at >= 0; at = _nodes[at].Next)
        {
            ref readonly LuaValue removed = ref _nodes[at].Key;
            if (removed.Tag == s_removed && BitConverter.DoubleToInt64Bits(removed.Number) == mark) return at + _array.Length;
        }
        return -2;
    }

    /// <summary>What remains of the key of a removed field: the hash and the length of a string, or the identity of another object.</summary>
    private static long RemovedMark(in LuaValue key) =>
        key.Tag is LuaString text ? (long)text.Hash << 32 | (uint)text.Length : (long)((LuaObject)key.Tag!).Identity << 32 | uint.MaxValue;

    /// <summary>The maximum number of keys with the same main position, for tests.</summary>
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

    /// <summary>
    /// Visits all keys and values. The key of a removed field stays in its node until the table is rehashed. It must not keep much memory, so
    /// a mark takes its place unless it is a short string.
    /// </summary>
    internal void VisitNodes(Action<LuaValue> visit)
    {
        foreach (ref Node node in _nodes.AsSpan())
        {
            if (!node.Value.IsNil)
            {
                visit(node.Key);
                visit(node.Value);
            }
            else if (node.Key.Tag is LuaString { Length: < LongestKept })
            {
                // A field that is set again stays in its place in the order of the table.
                visit(node.Key);
            }
            else if (node.Key.Tag is LuaObject)
            {
                node.Key = new LuaValue { Tag = s_removed, Number = BitConverter.Int64BitsToDouble(RemovedMark(in node.Key)) };
            }
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int HashOf(LuaString key) => _isKeyed ? key.Keyed : key.Hash;

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

    /// <summary>Searches for a border beyond the array, first by doubling and then by bisection.</summary>
    private int SearchBorder(int present)
    {
        uint low = (uint)present, high = low + 1;
        while (!Get((int)high).IsNil)
        {
            low = high;
            high *= 2;
            if (high <= int.MaxValue) continue;
            // Only a table built for this purpose gets here. The linear search of Lua would take time proportional to
            // the size of the table.
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
