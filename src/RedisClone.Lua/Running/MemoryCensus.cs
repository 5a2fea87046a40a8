namespace RedisClone.Lua;

/// <summary>
/// Counts the bytes of everything that a script can still reach, as the mark phase of a collector would, but with
/// nothing to sweep. The work list is explicit: no structure is too deep for it.
/// </summary>
internal sealed class MemoryCensus
{
    private static int s_lastEpoch;

    private readonly int _epoch = Interlocked.Increment(ref s_lastEpoch);
    private readonly Stack<LuaObject> _pending = new();
    private readonly Action<LuaValue> _visit;

    public MemoryCensus() => _visit = value => Visit(in value);

    public long Bytes { get; private set; }

    public int Objects { get; private set; }

    public void Visit(in LuaValue value)
    {
        if (value.Tag is LuaObject o) Visit(o);
    }

    public void Visit(LuaObject? o)
    {
        if (o is null || o.CensusMark == _epoch) return;
        o.CensusMark = _epoch;
        Objects++;
        if (o is LuaString s) Bytes += s.Size;
        else _pending.Push(o);
    }

    public void Finish()
    {
        while (_pending.TryPop(out LuaObject? o))
        {
            switch (o)
            {
                case LuaTable table:
                    Bytes += table.Size;
                    Visit(table.Metatable);
                    foreach (ref readonly LuaValue value in table.ArrayPart) Visit(in value);
                    table.VisitNodes(_visit);
                    break;
                case LuaClosure closure:
                    Bytes += closure.Size;
                    Visit(closure.Environment);
                    VisitPrototype(closure.Prototype);
                    foreach (UpValue? variable in closure.Upvalues) VisitUpvalue(variable);
                    break;
                case LuaHostFunction function:
                    Bytes += LuaHostFunction.Size + (16L * function.Upvalues.Length);
                    foreach (ref readonly LuaValue value in function.Upvalues.AsSpan()) Visit(in value);
                    break;
                case LuaThread thread:
                    Bytes += thread.Size;
                    Visit(thread.Globals);
                    foreach (ref readonly LuaValue value in thread.TrimStack()) Visit(in value);
                    foreach (ref readonly CallFrame frame in thread.Frames.AsSpan(0, thread.FrameCount)) Visit(frame.Function);
                    break;
                case LuaUserData:
                    Bytes += LuaUserData.Size;
                    break;
            }
        }
    }

    private void VisitUpvalue(UpValue? variable)
    {
        if (variable is null || variable.CensusMark == _epoch) return;
        variable.CensusMark = _epoch;
        Bytes += UpValue.Size;
        if (variable.Owner is { } owner) Visit(owner);
        else Visit(in variable.Value);
    }

    /// <summary>A function's own code counts, its children's with the closures made of them.</summary>
    private void VisitPrototype(Prototype prototype)
    {
        if (prototype.CensusMark == _epoch) return;
        prototype.CensusMark = _epoch;
        Bytes += prototype.Size;
        foreach (ref readonly LuaValue constant in prototype.Constants.AsSpan()) Visit(in constant);
    }
}
