using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>The table functions. They bypass metamethods, as in Lua 5.1.</summary>
internal static class TableLibrary
{
    public static void Open(LuaState state) => Library.Open(
        state,
        "table",
        ("concat", Concat),
        ("foreach", ForEach),
        ("foreachi", ForEachIndex),
        ("getn", GetN),
        ("insert", Insert),
        ("maxn", MaxN),
        ("remove", Remove),
        ("setn", SetN),
        ("sort", TableSort.Sort));

    private static int GetN(ref LuaCall call) => call.Return(call.CheckTable(1).Length);

    private static int SetN(ref LuaCall call)
    {
        call.CheckTable(1);
        return call.Error("'setn' is obsolete");
    }

    private static int MaxN(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        double most = 0;
        int at = -1;
        if (!call.Spend(table.SlotCount >> 4)) return 0;
        while (table.Advance(ref at, out LuaValue key, out _))
        {
            if (key.IsNumber && key.Number > most) most = key.Number;
        }
        return call.Return(most);
    }

    private static int Insert(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        if (call.Failed) return 0;
        int end = table.Length + 1;
        if (call.Count == 2)
        {
            call.Store(table, end, in call[2]);
            return 0;
        }
        if (call.Count != 3) return call.Error("wrong number of arguments to 'insert'");
        int position = call.CheckInt(2);
        if (call.Failed) return 0;
        if (position > end) end = position;
        if (!Move(ref call, table, end - 1, position - 1, -1)) return 0;
        call.Store(table, position, in call[3]);
        return 0;
    }

    private static int Remove(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        int end = table.Length;
        int position = call.OptionalInt(2, end);
        if (call.Failed || position < 1 || position > end) return 0;
        LuaValue removed = table.Get(position);
        if (!Move(ref call, table, position + 1, end + 1, 1)) return 0;
        if (!call.Store(table, end, LuaValue.Nil)) return 0;
        return call.Return(removed);
    }

    /// <summary>
    /// Moves the elements from one index up to another (exclusive) by one position against the direction.
    /// </summary>
    private static bool Move(ref LuaCall call, LuaTable table, int from, int to, int step)
    {
        for (int i = from; i != to; i += step)
        {
            if ((i & 0xFF) == 0 && !call.Spend(256)) return false;
            LuaValue value = table.Get(i);
            if (!call.Store(table, i - step, in value)) return false;
        }
        return true;
    }

    private static int Concat(ref LuaCall call)
    {
        LuaString separator = call.OptionalString(2, LuaString.Empty);
        LuaTable table = call.CheckTable(1);
        int first = call.OptionalInt(3, 1);
        int last = call.IsMissing(4) ? table.Length : call.CheckInt(4);
        if (call.Failed) return 0;
        long length = ConcatLength(ref call, table, separator, first, last);
        if (call.Failed) return 0;
        if (length == 0) return call.Return(LuaString.Empty);
        byte[]? bytes = length > LuaLimits.StringLength ? null : call.State.TryNewBytes((int)length);
        if (bytes is null) return call.OutOfMemory();
        Span<byte> rest = bytes;
        for (long i = first; i <= last; i++)
        {
            rest = rest[Write(in table.Get((int)i), rest)..];
            if (i == last) break;
            separator.Span.CopyTo(rest);
            rest = rest[separator.Length..];
        }
        call.Meter.Work(length);
        return call.Return(new LuaString(bytes));
    }

    /// <summary>Returns the length of the result, so that the result is written without another buffer.</summary>
    private static long ConcatLength(ref LuaCall call, LuaTable table, LuaString separator, int first, int last)
    {
        long length = 0;
        Span<byte> number = stackalloc byte[LuaNumber.MaxText];
        for (long i = first; i <= last; i++)
        {
            ref readonly LuaValue value = ref table.Get((int)i);
            if (value.Tag is LuaString s) length += s.Length;
            else if (value.IsNumber) length += Write(in value, number);
            else call.Error($"invalid value ({value.TypeName}) at index {i} in table for 'concat'");
            if (i < last) length += separator.Length;
            if (call.Failed || ((i & 0xFF) == 0 && !call.Spend(256))) break;
        }
        return length;
    }

    private static int Write(in LuaValue value, Span<byte> to)
    {
        if (value.Tag is not LuaString s) return LuaNumber.Format(value.Number, to);
        s.Span.CopyTo(to);
        return s.Length;
    }

    private static int ForEach(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        call.CheckFunction(2);
        int at = -1;
        for (int from = at; !call.Failed && table.Advance(ref at, out LuaValue key, out LuaValue value); from = at)
        {
            // An emptied table has many slots to skip.
            if (at > from && !call.Spend((at - from) >> 4)) return 0;
            call.Push(call[2]);
            call.Push(key);
            call.Push(value);
            if (!call.Call(2, 1)) return 0;
            LuaValue result = call.Pop();
            if (!result.IsNil) return call.Return(result);
            // The called function may have rebuilt the table.
            at = table.FindTraversed(in key);
            if (at < -1)
            {
                call.Thread.Fail("invalid key to 'next'");
                return call.Propagate();
            }
        }
        return 0;
    }

    private static int ForEachIndex(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        int count = table.Length;
        call.CheckFunction(2);
        for (int i = 1; i <= count && !call.Failed; i++)
        {
            call.Push(call[2]);
            call.Push(i);
            call.Push(table.Get(i));
            if (!call.Call(2, 1)) return 0;
            LuaValue result = call.Pop();
            if (!result.IsNil) return call.Return(result);
        }
        return 0;
    }
}
