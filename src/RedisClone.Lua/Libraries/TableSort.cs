using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// <c>table.sort</c>: the quicksort of Lua 5.1 with identical comparisons, because a script can observe them. The
/// recursion handles the smaller half, so its depth is logarithmic.
/// </summary>
internal static class TableSort
{
    private const string InvalidOrder = "invalid order function for sorting";

    public static int Sort(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        if (!call.IsMissing(2)) call.CheckFunction(2);
        if (!call.Failed) SortRange(ref call, table, 1, table.Length);
        return 0;
    }

    private static void SortRange(ref LuaCall call, LuaTable table, int low, int high)
    {
        while (low < high && !call.Failed)
        {
            Order(ref call, table, low, high);
            if (high - low == 1) return;
            int middle = (int)(((uint)low + (uint)high) / 2);
            LuaValue pivot = table.Get(middle);
            LuaValue first = table.Get(low);
            if (Less(ref call, in pivot, in first)) Swap(ref call, table, middle, low, in pivot, in first);
            else Order(ref call, table, middle, high);
            if (high - low == 2 || call.Failed) return;

            pivot = table.Get(middle);
            LuaValue beforeLast = table.Get(high - 1);
            Swap(ref call, table, middle, high - 1, in pivot, in beforeLast);
            int split = Partition(ref call, table, low, high, in pivot);
            if (call.Failed) return;
            if (split - low < high - split)
            {
                SortRange(ref call, table, low, split - 1);
                low = split + 1;
            }
            else
            {
                SortRange(ref call, table, split + 1, high);
                high = split - 1;
            }
        }
    }

    /// <summary>
    /// Partitions around the pivot, which is the element before the last. Returns the final position of the pivot.
    /// </summary>
    private static int Partition(ref LuaCall call, LuaTable table, int low, int high, in LuaValue pivot)
    {
        int i = low, j = high - 1;
        while (true)
        {
            LuaValue left = table.Get(++i);
            while (Less(ref call, in left, in pivot))
            {
                if (i > high) call.Error(InvalidOrder);
                if (call.Failed) return 0;
                left = table.Get(++i);
            }
            LuaValue right = table.Get(--j);
            while (Less(ref call, in pivot, in right))
            {
                if (j < low) call.Error(InvalidOrder);
                if (call.Failed) return 0;
                right = table.Get(--j);
            }
            if (call.Failed) return 0;
            if (j < i) break;
            Swap(ref call, table, i, j, in left, in right);
        }
        LuaValue last = table.Get(high - 1);
        LuaValue here = table.Get(i);
        Swap(ref call, table, high - 1, i, in last, in here);
        return i;
    }

    /// <summary>Swaps two elements if the second one is less than the first.</summary>
    private static void Order(ref LuaCall call, LuaTable table, int first, int second)
    {
        LuaValue a = table.Get(first), b = table.Get(second);
        if (Less(ref call, in b, in a)) Swap(ref call, table, first, second, in a, in b);
    }

    private static void Swap(ref LuaCall call, LuaTable table, int i, int j, in LuaValue a, in LuaValue b)
    {
        if (!call.Failed && call.Store(table, i, in b)) call.Store(table, j, in a);
    }

    private static bool Less(ref LuaCall call, in LuaValue a, in LuaValue b)
    {
        if (call.Failed || !call.Spend(1)) return false;
        if (call.IsMissing(2))
        {
            if (a.IsNumber && b.IsNumber) return a.Number < b.Number;
            if (!call.Thread.IsLess(a, b, out bool less)) call.Propagate();
            return less;
        }
        call.Push(call[2]);
        call.Push(a);
        call.Push(b);
        return call.Call(2, 1) && !call.Pop().IsFalsy;
    }
}
