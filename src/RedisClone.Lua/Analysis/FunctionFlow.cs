using RedisClone.Lua.Compiling;

namespace RedisClone.Lua.Analysis;

/// <summary>
/// Follows the values of one function along every path through its code, until no instruction receives a value from a new
/// source.
/// </summary>
internal sealed partial class FunctionFlow
{
    private readonly CallAnalysis _analysis;
    private readonly Prototype _prototype;
    private readonly int _number;
    private readonly SharedVariable[] _upvalues, _parameters;
    private readonly FunctionFlow[] _children;
    private readonly List<Captured> _captured = [];

    /// <summary>The number of cells for each instruction: its registers, and the open values.</summary>
    private readonly int _width;

    private readonly Stack<int> _pending = new();
    private Source[] _before = [];
    private bool[] _isReached = [], _isPending = [];

    private Source[] _now = [];
    private int _position;
    private bool _isRefused, _isUnreached, _isReleased;

    public FunctionFlow(CallAnalysis analysis, Prototype prototype, int number)
    {
        _analysis = analysis;
        _prototype = prototype;
        _number = number;
        _width = prototype.StackSize + 1;
        _upvalues = new SharedVariable[prototype.Upvalues.Length];
        _parameters = [.. Enumerable.Range(0, prototype.Parameters).Select(_ => new SharedVariable(analysis))];
        _children = new FunctionFlow[prototype.Children.Length];
    }

    /// <summary>Whether a call of the function was found.</summary>
    public bool IsCalled { get; private set; }

    /// <summary>Connects the function with the variables that are its upvalues, and adds the functions within it.</summary>
    public void Connect(Func<int, SharedVariable> variables)
    {
        for (int i = 0; i < _upvalues.Length; i++) _upvalues[i] = variables(i);
        // Without the functions within it, the function is not followed: nothing is left of the work.
        if (!_analysis.Spend(_upvalues.Length + _parameters.Length + _prototype.Code.Length + 1L)) return;
        int[] closures = ClosuresOfChildren();
        for (int i = 0; i < _children.Length; i++)
        {
            (Prototype child, int closure) = (_prototype.Children[i], closures[i]);
            _children[i] = _analysis.AddFlow(child, index => Share(child.Upvalues[index], closure));
        }
    }

    /// <summary>The instructions that create a closure of each function within this one.</summary>
    private int[] ClosuresOfChildren()
    {
        int[] closures = new int[_children.Length];
        for (int i = _prototype.Code.Length - 1; i >= 0; i--)
            if (_prototype.Code[i].Op == Op.Closure) closures[_prototype.Code[i].B] = i;
        return closures;
    }

    /// <summary>Notes that the function may be called from anywhere. Returns false if that is known.</summary>
    public bool TryRelease() => !_isReleased && (_isReleased = true);

    /// <summary>Adds a call of the function: its first arguments, and what all further ones may be.</summary>
    public void Receive(ReadOnlySpan<Source> arguments, Source rest)
    {
        _analysis.IsChanged |= !IsCalled;
        IsCalled = true;
        for (int i = 0; i < _parameters.Length; i++) _parameters[i].Add(i < arguments.Length ? arguments[i] : rest);
    }

    /// <summary>A variable of this function that closures share, and the instructions between which it occupies its register.</summary>
    private readonly record struct Captured(int Register, int Start, int End, SharedVariable Variable);

    /// <summary>The cell of the values that a call or <c>...</c> left on the stack, for the next instruction.</summary>
    private ref Source Open => ref _now[_width - 1];

    /// <summary>Follows the function from its start. Returns false if a guarded value is used in a way that is not followed.</summary>
    public bool Follow()
    {
        if (!IsCalled) return true;
        int count = _prototype.Code.Length;
        if (!_analysis.Spend((long)count * _width)) return false;
        _before = new Source[count * _width];
        _isReached = new bool[count];
        _isPending = new bool[count];
        _now = new Source[_width];
        _now.AsSpan().Fill(new Source(Origin.Nil));
        for (int i = 0; i < _parameters.Length; i++) _now[i] = _parameters[i].Source;
        // The extra arguments of Lua 5.0 are in a register after the parameters.
        if (_prototype.NeedsArgTable) _now[_parameters.Length] = new Source(Origin.Value);
        Open = new Source(Origin.Mixed);
        Reach(0);
        while (_pending.TryPop(out int position))
        {
            if (!_analysis.Spend(_width + _captured.Count)) return false;
            _isPending[position] = false;
            Enter(position);
            Step(_prototype.Code[position]);
            if (_isRefused) return false;
        }
        return _analysis.Found is null || Collect();
    }

    /// <summary>Adds the calls of this function to those found. The sources are complete.</summary>
    private bool Collect()
    {
        for (int i = 0; i < _prototype.Code.Length; i++)
        {
            if (!_isReached[i] || _prototype.Code[i].Op is not (Op.Call or Op.TailCall)) continue;
            Enter(i);
            if (Get(_prototype.Code[i].A).Origin == Origin.Callee) _analysis.Found!.Add(SiteOf(_prototype.Code[i]));
        }
        return !_isRefused;
    }

    private void Enter(int position)
    {
        _position = position;
        _isUnreached = false;
        _before.AsSpan(position * _width, _width).CopyTo(_now);
        foreach (Captured captured in _captured)
            if (captured.Start == position) captured.Variable.Add(_now[captured.Register]);
    }

    /// <summary>Continues at an instruction with the present sources. One that received nothing new is not followed again.</summary>
    private void Reach(int position)
    {
        if (_isRefused || _isUnreached) return;
        Span<Source> before = _before.AsSpan(position * _width, _width);
        bool isNew = !_isReached[position];
        if (isNew) _now.CopyTo(before);
        else
        {
            for (int i = 0; i < _width; i++)
            {
                Source joined = _analysis.Join(before[i], _now[i]);
                isNew |= joined != before[i];
                before[i] = joined;
            }
        }
        if (!isNew || _isPending[position]) return;
        _isReached[position] = _isPending[position] = true;
        _pending.Push(position);
    }

    private void Next() => Reach(_position + 1);

    // ---- Variables

    /// <summary>The variable that a new closure of a function within this one shares with it.</summary>
    private SharedVariable Share(UpvalueSource from, int closure)
    {
        if (!from.FromRegister) return _upvalues[from.Index];
        if (!_analysis.Spend(_prototype.Locals.Length + _captured.Count)) return new SharedVariable(_analysis);
        // A local function is in scope for itself one instruction later.
        LocalName local = FindLocal(closure, from.Index) ?? FindLocal(closure + 1, from.Index) ?? new LocalName(from.Name, 0, int.MaxValue);
        int known = _captured.FindIndex(c => c.Register == from.Index && c.Start == local.Start && c.End == local.End);
        if (known >= 0) return _captured[known].Variable;
        var variable = new SharedVariable(_analysis);
        _captured.Add(new Captured(from.Index, local.Start, local.End, variable));
        return variable;
    }

    /// <summary>The local variable in a register at an instruction: the variables in scope occupy the registers from 0.</summary>
    private LocalName? FindLocal(int position, int register)
    {
        foreach (LocalName local in _prototype.Locals)
        {
            if (local.Start > position) break;
            if (position < local.End && register-- == 0) return local;
        }
        return null;
    }

    /// <summary>Where the value of a register comes from. No path continues while that is not known yet.</summary>
    private Source Get(int register)
    {
        Source source = register < _width - 1 ? _now[register] : new Source(Origin.Mixed);
        foreach (Captured captured in _captured)
            if (captured.Register == register && captured.Start <= _position && _position < captured.End) source = captured.Variable.Source;
        _isUnreached |= source.Origin == Origin.Unreached;
        return source;
    }

    private void Set(int register, Source source)
    {
        if (_isRefused || _isUnreached) return;
        if (register >= _width - 1)
        {
            _isRefused = true;
            return;
        }
        _now[register] = source;
        foreach (Captured captured in _captured)
            if (captured.Register == register && captured.Start <= _position && _position < captured.End) captured.Variable.Add(source);
    }

    private void Set(int register, Origin origin) => Set(register, new Source(origin));

    /// <summary>Uses a value in a way in which only a value that is not guarded may be used.</summary>
    private void Use(Source source)
    {
        _isRefused |= source.IsGuarded;
        _analysis.Release(source);
    }

    private void Use(int register) => Use(Get(register));

    private void UseAll(int from, int count)
    {
        for (int i = 0; i < count; i++) Use(from + i);
    }

    /// <summary>Uses the values from a register to the top of the stack.</summary>
    private void UseToTop(int from)
    {
        if (TryOpen(from, out int fixedValues, out Origin rest)) UseAll(from, fixedValues);
        Use(new Source(rest));
    }

    /// <summary>
    /// The number of single registers before the open values, and the source of these. Without open values, it refuses the
    /// function.
    /// </summary>
    private bool TryOpen(int from, out int fixedValues, out Origin rest)
    {
        rest = Open.Origin;
        fixedValues = Open.Number - from;
        bool follows = _position > 0 && _prototype.Code[_position - 1] is { Op: Op.Call or Op.TailCall, C: 0 } or { Op: Op.Vararg, B: 0 };
        _isRefused |= !follows || Open.IsGuarded || fixedValues < 0;
        return !_isRefused;
    }

    /// <summary>Notes that any number of values begins at a register. The number is that of the register.</summary>
    private void SetOpen(int register, Origin origin)
    {
        Forget(register);
        Open = new Source(origin, register);
    }

    /// <summary>Notes that registers hold nothing that may be read.</summary>
    private void Forget(int from)
    {
        for (int i = from; i < _width - 1; i++) _now[i] = new Source(Origin.Mixed);
    }
}
