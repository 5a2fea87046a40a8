using System.Numerics;
using RedisClone.Lua.Running;

namespace RedisClone.Lua.Values;

/// <summary>The result of a store into a table.</summary>
internal enum StoreResult
{
    Stored,
    NilKey,
    NanKey,
    Overflow,
    NoMemory,
}

/// <summary>Insertion and growth.</summary>
public sealed partial class LuaTable
{
    private const int NoNode = -1, Collides = -2;

    /// <summary>In a full table with 2^26 keys and random hashes, about a dozen keys share a position.</summary>
    private const int LongestByChance = 32;

    /// <summary>Stores without metamethods, for the host or a library. The growth of the table is charged.</summary>
    internal StoreResult Set(LuaMeter meter, in LuaValue key, in LuaValue value)
    {
        ref LuaValue cell = ref Slot(meter, in key, out StoreResult result);
        if (result == StoreResult.Stored) cell.Set(in value);
        return result;
    }

    internal StoreResult Set(LuaMeter meter, int key, in LuaValue value)
    {
        LuaValue[] array = _array;
        if ((uint)(key - 1) < (uint)array.Length)
        {
            AbsentEvents = 0;
            array[key - 1].Set(in value);
            return StoreResult.Stored;
        }
        LuaValue boxed = new(key);
        return Set(meter, in boxed, in value);
    }

    internal StoreResult Set(LuaMeter meter, LuaString key, in LuaValue value)
    {
        LuaValue boxed = key;
        return Set(meter, in boxed, in value);
    }

    /// <summary>
    /// Returns the cell of a key and inserts the key if necessary. After a failure the cell belongs to no table.
    /// </summary>
    internal ref LuaValue Slot(LuaMeter meter, in LuaValue key, out StoreResult result)
    {
        AbsentEvents = 0;
        result = StoreResult.Stored;
        while (true)
        {
            int at = FindIndex(in key);
            if (at >= _array.Length) return ref _nodes[at - _array.Length].Value;
            if (at >= 0) return ref _array[at];
            if (key.IsNil) result = StoreResult.NilKey;
            else if (key.IsNumber && double.IsNaN(key.Number)) result = StoreResult.NanKey;
            else
            {
                at = Insert(in key);
                if (at >= 0) return ref _nodes[at].Value;
                result = at == NoNode ? Grow(meter, in key) : TurnKeyed(meter);
                if (result == StoreResult.Stored) continue;
            }
            LuaValue[] nobodys = new LuaValue[1];
            return ref nobodys[0];
        }
    }

    /// <summary>Makes room in the array part for elements that will be stored next.</summary>
    internal StoreResult EnsureArray(LuaMeter meter, int size) =>
        size <= _array.Length ? StoreResult.Stored : Resize(meter, size, _nodes == s_noNodes ? 0 : _nodes.Length);

    private static int NodeCapacity(int hashSize) => (int)BitOperations.RoundUpToPowerOf2((uint)hashSize);

    /// <summary>
    /// Inserts a new key. If its main position is occupied by a key with another main position, that key moves to a
    /// free node. Otherwise the new key takes a free node. Returns <see cref="NoNode"/> if there is no free node, and
    /// <see cref="Collides"/> if too many keys share one position.
    /// </summary>
    private int Insert(in LuaValue key)
    {
        int main = MainPosition(in key);
        if (!_nodes[main].Value.IsNil || _nodes == s_noNodes)
        {
            int other = MainPosition(in _nodes[main].Key);
            if (other == main && !_isKeyed && ChainLength(main) >= LongestByChance) return Collides;
            int free = TakeFreeNode();
            if (free < 0) return NoNode;
            if (other != main)
            {
                while (_nodes[other].Next != main) other = _nodes[other].Next;
                _nodes[other].Next = free;
                _nodes[free] = _nodes[main];
                _nodes[main].Next = -1;
                _nodes[main].Value = default;
            }
            else
            {
                _nodes[free].Next = _nodes[main].Next;
                _nodes[main].Next = free;
                main = free;
            }
        }
        _nodes[main].Key = key;
        return main;
    }

    private int TakeFreeNode()
    {
        while (_lastFree-- > 0)
        {
            if (_nodes[_lastFree].Key.IsNil) return _lastFree;
        }
        return -1;
    }

    /// <summary>
    /// Resizes the table for a new key. The array part is the largest one of which more than half is used.
    /// </summary>
    private StoreResult Grow(LuaMeter meter, in LuaValue extraKey)
    {
        // Alternating removals and insertions can make a full table resize each time, so the work counts as many steps.
        meter.Budget -= SlotCount / 4;

        // counts[i] is the number of integer keys k with 2^(i-1) < k <= 2^i.
        Span<int> counts = stackalloc int[MaxBits + 1];
        counts.Clear();
        int integerKeys = CountArray(counts);
        int total = integerKeys;
        foreach (ref readonly Node node in _nodes.AsSpan())
        {
            if (node.Value.IsNil) continue;
            integerKeys += CountInteger(in node.Key, counts);
            total++;
        }
        integerKeys += CountInteger(in extraKey, counts);
        total++;
        (int arraySize, int inArray) = ChooseArraySize(counts, integerKeys);
        return Resize(meter, arraySize, total - inArray);
    }

    private int CountArray(Span<int> counts)
    {
        int used = 0, i = 1;
        for (int bit = 0, power = 1; bit <= MaxBits; bit++, power *= 2)
        {
            int limit = Math.Min(power, _array.Length);
            if (i > limit) break;
            int here = 0;
            for (; i <= limit; i++)
            {
                if (!_array[i - 1].IsNil) here++;
            }
            counts[bit] += here;
            used += here;
        }
        return used;
    }

    private static int CountInteger(in LuaValue key, Span<int> counts)
    {
        if (!key.IsNumber) return 0;
        int index = (int)key.Number;
        if (index != key.Number || index <= 0 || index > 1 << MaxBits) return 0;
        counts[32 - BitOperations.LeadingZeroCount((uint)index - 1)]++;
        return 1;
    }

    private static (int Size, int Used) ChooseArraySize(Span<int> counts, int integerKeys)
    {
        int sum = 0, used = 0, size = 0;
        for (int bit = 0, power = 1; power / 2 < integerKeys; bit++, power *= 2)
        {
            if (counts[bit] > 0)
            {
                sum += counts[bit];
                if (sum > power / 2)
                {
                    size = power;
                    used = sum;
                }
            }
            if (sum == integerKeys) break;
        }
        return (size, used);
    }

    private StoreResult TurnKeyed(LuaMeter meter)
    {
        meter.Budget -= SlotCount / 4;
        _isKeyed = true;
        StoreResult result = Resize(meter, _array.Length, _nodes.Length);
        if (result != StoreResult.Stored) _isKeyed = false;
        return result;
    }

    private StoreResult Resize(LuaMeter meter, int arraySize, int hashSize)
    {
        if (hashSize > 1 << MaxBits) return StoreResult.Overflow;
        int nodeCount = hashSize == 0 ? 0 : NodeCapacity(hashSize);
        // The old parts become garbage after the resize and remain counted until the next census.
        if (!meter.TryCharge(SizeOf(arraySize, nodeCount))) return StoreResult.NoMemory;

        Node[] oldNodes = _nodes;
        LuaValue[] oldArray = _array;
        // Both parts are allocated before either is replaced, because an allocation may fail.
        LuaValue[] array = arraySize != oldArray.Length ? new LuaValue[arraySize] : oldArray;
        AllocateNodes(nodeCount);
        if (array != oldArray) oldArray.AsSpan(0, Math.Min(arraySize, oldArray.Length)).CopyTo(array);
        _array = array;
        // Every cell below exists or has a free node, so these calls cannot grow the table again.
        for (int i = arraySize; i < oldArray.Length; i++)
        {
            if (oldArray[i].IsNil) continue;
            LuaValue key = new(i + 1);
            Slot(meter, in key, out _) = oldArray[i];
        }
        if (oldNodes == s_noNodes) return StoreResult.Stored;
        for (int i = oldNodes.Length - 1; i >= 0; i--)
        {
            if (!oldNodes[i].Value.IsNil) Slot(meter, in oldNodes[i].Key, out _) = oldNodes[i].Value;
        }
        return StoreResult.Stored;
    }

    /// <summary>Drops the keys of removed fields. Without the memory for it, they stay.</summary>
    internal void Compact(LuaMeter meter)
    {
        int live = 0;
        foreach (ref readonly Node node in _nodes.AsSpan())
            if (!node.Value.IsNil) live++;
        try
        {
            Resize(meter, _array.Length, live);
        }
        catch (OutOfMemoryException)
        {
            // Nothing has changed.
        }
    }

    private void AllocateNodes(int count)
    {
        if (count == 0)
        {
            _nodes = s_noNodes;
            _lastFree = 0;
            return;
        }
        _nodes = new Node[count];
        foreach (ref Node node in _nodes.AsSpan()) node.Next = -1;
        _lastFree = count;
    }

    private int MainPosition(in LuaValue key)
    {
        int mask = _nodes.Length - 1;
        if (_isKeyed && !key.IsNil) return KeyedHash.Of(in key) & mask;
        return key.Tag switch
        {
            null => 0,
            LuaString s => s.Hash & mask,
            LuaObject o => (int)((uint)o.Identity % ((uint)mask | 1)),
            _ when key.IsNumber => NumberPosition(key.Number),
            _ => (key.IsTrue ? 1 : 0) & mask,
        };
    }

    private int NumberPosition(double key)
    {
        if (_isKeyed)
        {
            LuaValue boxed = new(key);
            return KeyedHash.Of(in boxed) & (_nodes.Length - 1);
        }
        if (key == 0) return 0;
        ulong bits = BitConverter.DoubleToUInt64Bits(key);
        return (int)((uint)(bits + (bits >> 32)) % ((uint)(_nodes.Length - 1) | 1));
    }
}
