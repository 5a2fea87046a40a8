using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Analysis;

/// <summary>
/// Finds all calls of the host's functions in a chunk, and which of their arguments are elements of the table of keys. It
/// follows values through registers, shared variables, loops over the keys and <c>unpack</c>. A chunk in which a guarded value
/// (see <see cref="Origin"/>) is used in any other way has no result: such a chunk could call the function elsewhere, or
/// change the keys.
/// </summary>
/// <remarks>
/// The result holds only if the global names of the chunk cannot be assigned; see <see cref="Running.LuaSandbox"/>.
/// </remarks>
public sealed class CallAnalysis
{
    /// <summary>The work on one chunk, in registers. A larger chunk has no result.</summary>
    private const int MostWork = 4_000_000;

    private readonly Dictionary<LuaString, int> _strings = [];
    private readonly Dictionary<double, int> _numbers = [];
    private readonly List<LuaValue> _constants = [default];
    private readonly List<FunctionFlow> _flows = [];
    private int _work = MostWork;

    private CallAnalysis(AnalysisNames names) => Names = names;

    internal AnalysisNames Names { get; }

    /// <summary>Whether a shared variable got a new source since the last pass over the functions began.</summary>
    internal bool IsChanged { get; set; }

    /// <summary>The calls that were found; null while the sources are not complete.</summary>
    internal List<CallSite>? Found { get; private set; }

    /// <summary>Returns every call of the host's functions, or null if the chunk may contain others.</summary>
    public static IReadOnlyList<CallSite>? Find(LuaFunction chunk, AnalysisNames names) =>
        chunk is LuaClosure { Upvalues.Length: 0 } closure ? new CallAnalysis(names).Run(closure.Prototype) : null;

    /// <summary>Counts work. Returns false if the chunk takes too much.</summary>
    internal bool Spend(int registers) => (_work -= registers) >= 0;

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
        Origin.Constant => new CallArgument(ArgumentOrigin.Constant, _constants[source.Constant]),
        _ => default,
    };

    private List<CallSite>? Run(Prototype main)
    {
        AddFlow(main, null);
        do
        {
            IsChanged = false;
            foreach (FunctionFlow flow in _flows)
                if (!flow.Follow()) return null;
        }
        while (IsChanged);
        Found = [];
        foreach (FunctionFlow flow in _flows)
            if (!flow.Follow()) return null;
        return Found;
    }

    private void AddFlow(Prototype prototype, FunctionFlow? outer)
    {
        var flow = new FunctionFlow(this, prototype, outer);
        _flows.Add(flow);
        foreach (Prototype child in prototype.Children) AddFlow(child, flow);
    }
}
