using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// Parts of the instruction loop that are too long for it: the end of a call, inherited fields and iterators.
/// </summary>
internal sealed partial class LuaThread
{
    private static bool MayDefineEquality(object? tag) => tag is LuaTable { Metatable: not null };

    /// <summary>Pops the topmost frame and moves its results to the position that its caller expects.</summary>
    private void FinishCall(int first, int count)
    {
        ref CallFrame frame = ref Frames[--FrameCount];
        LuaValue[] stack = Stack;
        int to = frame.Callee, wanted = frame.Wanted;
        if (wanted == 1)
        {
            if (count > 0) stack[to].Set(in stack[first]);
            else stack[to] = default;
            Top = to + 1;
            return;
        }
        int moved = wanted < 0 ? count : Math.Min(wanted, count);
        State.Meter.Budget -= moved / ValuesPerStep;
        for (int i = 0; i < moved; i++) stack[to + i].Set(in stack[first + i]);
        for (; moved < wanted; moved++) stack[to + moved] = default;
        Top = to + moved;
    }

    /// <summary>
    /// Looks up a string key along metatables whose <c>__index</c> is a table. Returns nil if that does not find a
    /// value.
    /// </summary>
    private static ref readonly LuaValue GetInherited(LuaTable table, LuaString name)
    {
        for (int i = 0; i < LuaLimits.MetatableChain; i++)
        {
            if (!LuaState.TryMetamethod(table.Metatable, Metamethod.Index, out LuaValue index)) break;
            if (index.Tag is not LuaTable next) break;
            ref readonly LuaValue value = ref next.Get(name);
            if (!value.IsNil) return ref value;
            table = next;
        }
        return ref LuaValue.NilCell[0];
    }

    /// <summary>
    /// Writes the element at the index after R[2] to R[3] and R[4], like the iterator of <c>ipairs</c>.
    /// </summary>
    private static void StepIndex(LuaTable table, Span<LuaValue> loop)
    {
        int index = (int)LuaNumber.ToInt64(loop[2].Number) + 1;
        ref readonly LuaValue value = ref table.Get(index);
        if (value.IsNil)
        {
            loop[3] = default;
            return;
        }
        loop[2].Number = index;
        loop[3].SetNumber(index);
        loop[4].Set(in value);
    }

    /// <summary>
    /// Writes the element after R[2] to R[3] and R[4], like <c>next</c>. Returns false if R[2] is not a key.
    /// </summary>
    private static bool TryNext(LuaTable table, Span<LuaValue> loop, LuaMeter meter)
    {
        int at = table.FindTraversed(in loop[2]);
        if (at < -1) return false;
        meter.Budget += at / SlotsPerStep;
        table.Advance(ref at, out loop[3], out loop[4]);
        meter.Budget -= at / SlotsPerStep;
        loop[2].Set(in loop[3]);
        return true;
    }
}
