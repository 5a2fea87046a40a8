using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Analysis;

/// <summary>
/// Functions that may share variables, such as those of a library, and which of these variables they assign. All functions that can
/// reach a variable must be in the group.
/// </summary>
public sealed class FunctionGroup
{
    /// <summary>The work on all functions of a group, in registers. Functions for which nothing is left have no result.</summary>
    private const int MostWork = 4_000_000;

    private readonly HashSet<UpValue> _assigned = [];
    private readonly HashSet<LuaObject> _seen = [];
    private readonly Stack<LuaObject> _pending = new();
    private bool _isUnknown;
    private long _work = MostWork;

    public FunctionGroup(IEnumerable<LuaFunction> functions)
    {
        foreach (LuaFunction function in functions) Visit(new LuaValue(function));
        while (!_isUnknown && _pending.TryPop(out LuaObject? next)) VisitParts(next);
    }

    /// <summary>
    /// Returns every call of the host's functions while a function of the group runs, or null if there may be others. The function
    /// then changes nothing that outlives its call, and nothing changes what it uses.
    /// </summary>
    public IReadOnlyList<CallSite>? Find(LuaFunction function, AnalysisNames names) =>
        function is LuaClosure closure ? new CallAnalysis(names, this).Run(closure) : null;

    internal bool Spend(long registers)
    {
        if (_work >= 0) _work -= registers;
        return _work >= 0;
    }

    /// <summary>Whether no function assigns a variable.</summary>
    internal bool IsConstant(UpValue variable) => !_isUnknown && !_assigned.Contains(variable);

    private void Visit(in LuaValue value)
    {
        if (value.Tag is LuaClosure or LuaTable or LuaHostFunction) Push((LuaObject)value.Tag);
        // A suspended coroutine holds values that are not examined.
        else _isUnknown |= value.Tag is LuaObject and not LuaString;
    }

    private void Push(LuaObject o)
    {
        if (_seen.Add(o)) _pending.Push(o);
    }

    private void VisitParts(LuaObject o)
    {
        _isUnknown |= !Spend(1);
        switch (o)
        {
            case LuaClosure closure:
                NoteAssigned(closure.Prototype, index => closure.Upvalues[index]);
                foreach (UpValue variable in closure.Upvalues)
                {
                    _isUnknown |= variable.Owner is not null;
                    Visit(variable.Value);
                }
                break;
            case LuaTable table:
                if (table.Metatable is { } metatable) Push(metatable);
                for (int at = -1; table.Advance(ref at, out LuaValue key, out LuaValue value);)
                {
                    Visit(key);
                    Visit(value);
                }
                break;
            case LuaHostFunction host:
                foreach (LuaValue value in host.Upvalues) Visit(value);
                break;
        }
    }

    /// <summary>Notes the variables that a function and the functions within it assign.</summary>
    /// <param name="prototype">The function.</param>
    /// <param name="older">The variable of an upvalue; null if it belongs to a call.</param>
    private void NoteAssigned(Prototype prototype, Func<int, UpValue?> older)
    {
        _isUnknown |= !Spend(prototype.Code.Length);
        foreach (Instruction i in prototype.Code)
            if (i.Op == Op.SetUpvalue && older(i.B) is { } variable) _assigned.Add(variable);
        foreach (Prototype child in prototype.Children)
            NoteAssigned(child, index => child.Upvalues[index] is { FromRegister: false } outer ? older(outer.Index) : null);
    }
}
