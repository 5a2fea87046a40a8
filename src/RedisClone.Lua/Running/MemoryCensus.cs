using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// Counts the bytes of all objects that a script can reach, like the mark phase of a garbage collector without a sweep.
/// The work list is explicit, so deep structures cannot exhaust the native stack. The caller holds <see cref="Gate"/>.
/// </summary>
internal sealed class MemoryCensus
{
    /// <summary>
    /// Held during a census. A census marks objects, and interpreters share some of them: two censuses at once would remove each
    /// other's marks and count an object at every reference.
    /// </summary>
    public static readonly Lock Gate = new();

    private const int Segment = 4096;

    private static int s_lastEpoch;

    private readonly int _epoch = ++s_lastEpoch;
    private readonly Action<LuaValue> _visit;

    /// <summary>
    /// The full segments of the work list. A list that grows by doubling would itself produce garbage of twice the
    /// counted size.
    /// </summary>
    private readonly Stack<LuaObject[]> _full = new();
    private LuaObject[] _pending = [];
    private int _count;

    public MemoryCensus() => _visit = value => Visit(in value);

    public long Bytes { get; private set; }

    /// <summary>The number of visited values.</summary>
    public long Work { get; private set; }

    public void Visit(in LuaValue value)
    {
        if (value.Tag is LuaObject o) Visit(o);
    }

    public void Visit(LuaObject? o)
    {
        if (o is null || o.CensusMark == _epoch) return;
        o.CensusMark = _epoch;
        Work++;
        if (o is LuaString s) Bytes += s.Size;
        else Push(o);
    }

    public void Finish()
    {
        while (TryPop() is { } o)
        {
            switch (o)
            {
                case LuaTable table:
                    Bytes += table.Size;
                    Work += table.SlotCount / 4;
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
                    Bytes += function.Size;
                    foreach (ref readonly LuaValue value in function.Upvalues.AsSpan()) Visit(in value);
                    break;
                case LuaThread thread:
                    Bytes += thread.Size;
                    Visit(thread.Globals);
                    ReadOnlySpan<LuaValue> stack = thread.TrimStack();
                    Work += stack.Length / 4;
                    foreach (ref readonly LuaValue value in stack) Visit(in value);
                    foreach (ref readonly CallFrame frame in thread.Frames.AsSpan(0, thread.FrameCount)) Visit(frame.Function);
                    break;
                case LuaUserData:
                    Bytes += LuaUserData.Size;
                    break;
            }
        }
    }

    private void Push(LuaObject o)
    {
        if (_count == _pending.Length)
        {
            if (_count > 0) _full.Push(_pending);
            _pending = new LuaObject[Segment];
            _count = 0;
        }
        _pending[_count++] = o;
    }

    private LuaObject? TryPop()
    {
        if (_count == 0)
        {
            if (!_full.TryPop(out LuaObject[]? last)) return null;
            _pending = last;
            _count = last.Length;
        }
        return _pending[--_count];
    }

    private void VisitUpvalue(UpValue? variable)
    {
        if (variable is null || variable.CensusMark == _epoch) return;
        variable.CensusMark = _epoch;
        Bytes += UpValue.Size;
        if (variable.Owner is { } owner) Visit(owner);
        else Visit(in variable.Value);
    }

    /// <summary>
    /// Visits a function and the functions within it, which it keeps alive. Their nesting is limited by the parser.
    /// </summary>
    private void VisitPrototype(Prototype prototype)
    {
        if (prototype.CensusMark == _epoch) return;
        prototype.CensusMark = _epoch;
        Bytes += prototype.Size;
        Work += prototype.Constants.Length + prototype.Locals.Length + 1;
        foreach (ref readonly LuaValue constant in prototype.Constants.AsSpan()) Visit(in constant);
        foreach (ref readonly LocalName local in prototype.Locals.AsSpan()) Visit(local.Name);
        foreach (Prototype child in prototype.Children) VisitPrototype(child);
    }
}
