using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>Manages local variables, upvalues and blocks.</summary>
internal sealed partial class FunctionBuilder
{
    private const int MaxLocals = 200;
    private const int MaxUpvalues = 60;

    private readonly List<LocalName> _locals = [];
    private readonly List<UpvalueSource> _upvalues = [];

    /// <summary>
    /// The indexes into the list of locals, for variables in scope and for declared variables that are not yet in
    /// scope.
    /// </summary>
    private readonly List<int> _active = [];

    private Block? _block;

    /// <summary>The number of variables in scope. They occupy the registers from 0.</summary>
    public int ActiveLocals { get; private set; }

    /// <summary>Declares a variable that comes into scope with <see cref="ActivateLocals"/>.</summary>
    public void DeclareLocal(LuaString name)
    {
        if (_active.Count + 1 > MaxLocals) Limit(MaxLocals, "local variables");
        Spend(BytesPerLocal);
        _active.Add(_locals.Count);
        _locals.Add(new LocalName(name, 0, 0));
    }

    public void ActivateLocals(int count)
    {
        for (; count > 0; count--) RestartLocal(ActiveLocals++);
    }

    /// <summary>Makes a variable visible to error messages only from the current position on.</summary>
    public void RestartLocal(int index) => _locals[_active[index]] = _locals[_active[index]] with { Start = Position };

    public void CloseLocals(int downTo)
    {
        while (ActiveLocals > downTo)
        {
            int index = _active[--ActiveLocals];
            _locals[index] = _locals[index] with { End = Position };
        }
        _active.RemoveRange(downTo, _active.Count - downTo);
    }

    /// <summary>
    /// Resolves a name in this function and the enclosing functions: a local, an upvalue or a global.
    /// </summary>
    public void Resolve(LuaString name, out Expression e)
    {
        if (!TryResolve(name, isUse: true, out e)) e = new Expression(ExpressionKind.Global, StringConstant(name));
    }

    public Block EnterBlock(bool isLoop)
    {
        _block = new Block(_block, ActiveLocals, isLoop);
        return _block;
    }

    public void LeaveBlock()
    {
        if (_block is not { } block) return;
        _block = block.Outer;
        CloseLocals(block.ActiveLocals);
        if (block.HasUpvalue) Emit(Op.Close, block.ActiveLocals);
        FreeRegister = ActiveLocals;
        PatchHere(block.Breaks);
    }

    /// <summary>Emits a jump out of the innermost loop. Returns false if there is none.</summary>
    public bool Break()
    {
        bool close = false;
        Block? block = _block;
        for (; block is { IsLoop: false }; block = block.Outer) close |= block.HasUpvalue;
        if (block is null) return false;
        if (close) Emit(Op.Close, block.ActiveLocals);
        Prepend(ref block.Breaks, Jump());
        return true;
    }

    public void Limit(int limit, string what) => _lexer.LimitError(
        LineDefined == 0
            ? $"main function has more than {limit} {what}"
            : $"function at line {LineDefined} has more than {limit} {what}");

    private bool TryResolve(LuaString name, bool isUse, out Expression e)
    {
        for (int i = ActiveLocals - 1; i >= 0; i--)
        {
            if (!ReferenceEquals(_locals[_active[i]].Name, name)) continue;
            if (!isUse) MarkUpvalue(i);
            e = new Expression(ExpressionKind.Local, i);
            return true;
        }
        e = default;
        if (Parent is null || !Parent.TryResolve(name, isUse: false, out Expression outer)) return false;
        e = new Expression(ExpressionKind.Upvalue, UpvalueIndex(name, outer.Kind == ExpressionKind.Local, outer.Info));
        return true;
    }

    private int UpvalueIndex(LuaString name, bool fromRegister, int index)
    {
        for (int i = 0; i < _upvalues.Count; i++)
        {
            if (_upvalues[i].FromRegister == fromRegister && _upvalues[i].Index == index) return i;
        }
        if (_upvalues.Count + 1 > MaxUpvalues) Limit(MaxUpvalues, "upvalues");
        _upvalues.Add(new UpvalueSource(name, fromRegister, index));
        return _upvalues.Count - 1;
    }

    /// <summary>Marks the block of a captured variable. The block closes the variable when it ends.</summary>
    private void MarkUpvalue(int local)
    {
        Block? block = _block;
        while (block is not null && block.ActiveLocals > local) block = block.Outer;
        if (block is not null) block.HasUpvalue = true;
    }

    internal sealed class Block(Block? outer, int activeLocals, bool isLoop)
    {
        public Block? Outer { get; } = outer;

        public int ActiveLocals { get; } = activeLocals;

        public bool IsLoop { get; } = isLoop;

        public bool HasUpvalue { get; set; }

        /// <summary>The list of jumps out of the loop.</summary>
        public int Breaks = NoJump;
    }
}
