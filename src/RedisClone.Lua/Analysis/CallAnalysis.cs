using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Analysis;

/// <summary>
/// Finds all calls of the host's functions in a chunk or in a function, and which of their arguments are elements of the table of
/// keys. It follows values through registers, shared variables, calls of the chunk's own functions, loops over the keys and
/// <c>unpack</c>. A chunk in which a guarded value (see <see cref="Origin"/>) is used in any other way has no result: such a chunk
/// could call the host's function elsewhere, or change the keys.
/// </summary>
/// <remarks>
/// The result holds only if the global names of the chunk cannot be assigned; see <see cref="Running.LuaSandbox"/>.
/// </remarks>
public sealed class CallAnalysis
{
    /// <summary>The number of older functions that a function may use. It limits the depth of recursion.</summary>
    private const int MostClosures = 200;

    private readonly Dictionary<LuaString, int> _strings = [];
    private readonly Dictionary<double, int> _numbers = [];
    private readonly List<LuaValue> _constants = [default];
    private readonly List<FunctionFlow> _flows = [];
    private readonly Queue<FunctionFlow> _released = [];
    private readonly Dictionary<LuaClosure, Source> _closures = [];
    private readonly Dictionary<UpValue, SharedVariable> _variables = [];
    private readonly FunctionGroup _group;

    internal CallAnalysis(AnalysisNames names, FunctionGroup group)
    {
        Names = names;
        _group = group;
    }

    internal AnalysisNames Names { get; }

    /// <summary>Whether a shared variable got a new source since the last pass over the functions began.</summary>
    internal bool IsChanged { get; set; }

    /// <summary>The calls that were found; null while the sources are not complete.</summary>
    internal List<CallSite>? Found { get; private set; }

    /// <summary>Returns every call of the host's functions in a chunk, or null if it may contain others.</summary>
    public static IReadOnlyList<CallSite>? Find(LuaFunction chunk, AnalysisNames names) => new FunctionGroup([chunk]).Find(chunk, names);

    /// <summary>Counts work. Returns false if it is too much.</summary>
    internal bool Spend(long registers) => _group.Spend(registers);

    /// <summary>What is known about a value that comes from one of two sources.</summary>
    internal Source Join(Source a, Source b)
    {
        if (a == b || b.Origin == Origin.Unreached) return a;
        if (a.Origin == Origin.Unreached) return b;
        if (a.IsFunction && b.Origin == Origin.Nil) return a;
        if (b.IsFunction && a.Origin == Origin.Nil) return b;
        // It is not known which function a call runs.
        Release(a);
        Release(b);
        if (a.IsGuarded || b.IsGuarded) return new Source(Origin.Mixed);
        bool isKey = a.Origin is Origin.Key or Origin.Nil && b.Origin is Origin.Key or Origin.Nil;
        return new Source(isKey ? Origin.Key : Origin.Value);
    }

    /// <summary>
    /// Notes that a value may be called from anywhere, with any arguments. The function receives them later, because one of its parameters may
    /// be a function that is released then: itself, for example.
    /// </summary>
    internal void Release(Source source)
    {
        if (source.IsFunction && _flows[source.Number].TryRelease()) _released.Enqueue(_flows[source.Number]);
    }

    /// <summary>The function that a value stands for.</summary>
    internal FunctionFlow FlowOf(Source function) => _flows[function.Number];

    /// <summary>Adds a function and the functions within it.</summary>
    /// <param name="prototype">The function.</param>
    /// <param name="variables">The variable that is its upvalue of a number.</param>
    internal FunctionFlow AddFlow(Prototype prototype, Func<int, SharedVariable> variables)
    {
        var flow = new FunctionFlow(this, prototype, _flows.Count);
        _flows.Add(flow);
        flow.Connect(variables);
        return flow;
    }

    /// <summary>The source of a constant of the source text.</summary>
    internal Source SourceOf(in LuaValue constant)
    {
        int number = _constants.Count;
        bool isNew = constant.AsString is { } text ? _strings.TryAdd(text, number) : constant.IsNumber && _numbers.TryAdd(constant.AsNumber, number);
        if (isNew) _constants.Add(constant);
        else if (constant.AsString is { } known) number = _strings[known];
        else if (constant.IsNumber) number = _numbers[constant.AsNumber];
        else return new Source(Origin.Value);
        return new Source(Origin.Constant, number);
    }

    /// <summary>What a call site says about an argument.</summary>
    internal CallArgument ArgumentOf(Source source) => source.Origin switch
    {
        Origin.Key or Origin.Nil => new CallArgument(ArgumentOrigin.Key, default),
        Origin.Constant => new CallArgument(ArgumentOrigin.Constant, _constants[source.Number]),
        _ => default,
    };

    /// <summary>Returns the calls of a function that receives the table of keys and other arguments.</summary>
    internal List<CallSite>? Run(LuaClosure function)
    {
        FlowOf(SourceOf(function)).Receive([new Source(Origin.Keys), new Source(Origin.Value)], new Source(Origin.Nil));
        do
        {
            IsChanged = false;
            if (!FollowAll()) return null;
        }
        while (IsChanged);
        Found = [];
        return FollowAll() ? Found : null;
    }

    /// <summary>Follows every function. Those that are found on the way are followed too.</summary>
    private bool FollowAll()
    {
        for (int i = 0; i < _flows.Count; i++)
        {
            if (!_flows[i].Follow()) return false;
            while (_released.TryDequeue(out FunctionFlow? released)) released.Receive([], new Source(Origin.Value));
        }
        return true;
    }

    /// <summary>The source of a function that exists before the call.</summary>
    private Source SourceOf(LuaClosure closure)
    {
        if (_closures.TryGetValue(closure, out Source known)) return known;
        _closures[closure] = known = new Source(Origin.Function, _flows.Count);
        AddFlow(closure.Prototype, index => Older(closure.Upvalues[index]));
        return known;
    }

    /// <summary>A variable that exists before the call. It is known if no function assigns it.</summary>
    private SharedVariable Older(UpValue variable)
    {
        if (_variables.TryGetValue(variable, out SharedVariable? known)) return known;
        _variables[variable] = known = new SharedVariable(this) { IsOlder = true };
        known.Add(_group.IsConstant(variable) ? SourceOfOlder(variable.Value) : new Source(Origin.Mixed));
        return known;
    }

    private Source SourceOfOlder(in LuaValue value) => value.Type switch
    {
        LuaType.Nil => new Source(Origin.Nil),
        LuaType.Boolean => new Source(Origin.Value),
        LuaType.String or LuaType.Number => SourceOf(value),
        LuaType.Function when value.Tag is LuaClosure closure && _closures.Count < MostClosures => SourceOf(closure),
        // A function may change a table, which would outlive the call.
        _ => new Source(Origin.Mixed),
    };
}
