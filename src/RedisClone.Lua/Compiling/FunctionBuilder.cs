using System.Runtime.InteropServices;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>
/// Emits the code of one function in a single pass. Registers are allocated as a stack. Jumps with an unknown target
/// form lists that are linked through the jumps themselves.
/// </summary>
internal sealed partial class FunctionBuilder
{
    public const int NoJump = -1;

    private const int NoRegister = 255;
    private const int MaxRegisters = 250;
    private const int MaxConstants = 262143;
    private const int MaxOperandConstant = short.MaxValue;

    // The memory that the lists and dictionaries of a function use, including their growth and the copies in the
    // prototype.
    private const int BytesPerInstruction = 64;
    private const int BytesPerConstant = 160;
    private const int BytesPerLocal = 64;
    private const int BytesPerFunction = 2048;

    private readonly Lexer _lexer;
    private readonly CompileBudget _budget;
    private readonly List<Instruction> _code = [];
    private readonly List<int> _lines = [];
    private readonly List<LuaValue> _constants = [];
    private readonly Dictionary<LuaString, int> _stringConstants = [];
    private readonly Dictionary<double, int> _numberConstants = [];
    private readonly List<Prototype> _children = [];

    private int _nilConstant = -1, _trueConstant = -1, _falseConstant = -1;
    private int _stackSize = 2;

    /// <summary>The list of jumps to the next instruction.</summary>
    private int _pendingHere = NoJump;

    /// <summary>The last position that is a jump target. Instructions must not be merged across it.</summary>
    private int _lastTarget = -1;

    public FunctionBuilder(Lexer lexer, CompileBudget budget, FunctionBuilder? parent, int lineDefined)
    {
        _lexer = lexer;
        _budget = budget;
        Parent = parent;
        LineDefined = lineDefined;
        Spend(BytesPerFunction);
    }

    public FunctionBuilder? Parent { get; }

    public int LineDefined { get; }

    public bool IsVararg { get; set; }

    /// <summary>
    /// True for a function with the hidden parameter <c>arg</c>; see <see cref="Prototype.NeedsArgTable"/>.
    /// </summary>
    public bool HasArgParameter { get; set; }

    public bool NeedsArgTable { get; set; }

    public int Parameters { get; set; }

    /// <summary>The first register that holds neither a variable nor a pending value.</summary>
    public int FreeRegister { get; set; }

    public int Position => _code.Count;

    public Prototype Build(LuaString source)
    {
        EmitReturn(0, 0);
        LuaValue[] constants = [.. _constants];
        return new Prototype
        {
            Code = [.. _code],
            Constants = constants,
            Names = [.. constants.Select(c => c.AsString ?? LuaString.Empty)],
            Children = [.. _children],
            Upvalues = [.. _upvalues],
            Locals = [.. _locals],
            Lines = [.. _lines],
            Source = source,
            Parameters = Parameters,
            IsVararg = IsVararg,
            NeedsArgTable = NeedsArgTable,
            StackSize = _stackSize,
            LineDefined = LineDefined,
        };
    }

    public ref Instruction At(int position) => ref CollectionsMarshal.AsSpan(_code)[position];

    public int Emit(Op op, int a, int b = 0, int c = 0)
    {
        Patch(_pendingHere, _code.Count, NoRegister, _code.Count);
        _pendingHere = NoJump;
        Spend(BytesPerInstruction);
        _code.Add(new Instruction(op, a, b, c));
        _lines.Add(_lexer.LastLine);
        return _code.Count - 1;
    }

    /// <summary>Sets the source line of the last instruction.</summary>
    public void FixLine(int line) => _lines[^1] = line;

    public void EmitReturn(int first, int count) => Emit(Op.Return, first, count + 1);

    public void EmitNil(int from, int count)
    {
        if (_code.Count > _lastTarget)
        {
            // The registers of a new frame are already nil.
            if (_code.Count == 0 && from >= ActiveLocals) return;
            if (_code.Count > 0)
            {
                ref Instruction previous = ref At(_code.Count - 1);
                if (previous.Op == Op.LoadNil && previous.A <= from && from <= previous.B + 1)
                {
                    previous.B = Math.Max(previous.B, from + count - 1);
                    return;
                }
            }
        }
        Emit(Op.LoadNil, from, from + count - 1);
    }

    public void EmitSetList(int table, int firstIndex, int count)
    {
        Emit(Op.SetList, table, firstIndex, count);
        FreeRegister = table + 1;
    }

    public int AddChild(Prototype child)
    {
        _children.Add(child);
        return _children.Count - 1;
    }

    // ---- Registers

    public void CheckStack(int count)
    {
        int size = FreeRegister + count;
        if (size <= _stackSize) return;
        if (size >= MaxRegisters) _lexer.SyntaxError("function or expression too complex");
        else _stackSize = size;
    }

    public void Reserve(int count)
    {
        CheckStack(count);
        FreeRegister += count;
    }

    private void Release(int operand)
    {
        if (operand >= ActiveLocals) FreeRegister--;
    }

    private void Release(in Expression e)
    {
        if (e.Kind == ExpressionKind.Register) Release(e.Info);
    }

    // ---- Constants

    public int StringConstant(LuaString value)
    {
        if (!_stringConstants.TryGetValue(value, out int index)) _stringConstants.Add(value, index = AddConstant(value));
        return index;
    }

    private int NumberConstant(double value)
    {
        if (!_numberConstants.TryGetValue(value, out int index)) _numberConstants.Add(value, index = AddConstant(value));
        return index;
    }

    private int AddConstant(LuaValue value)
    {
        if (_constants.Count > MaxConstants) _lexer.LimitError("constant table overflow");
        Spend(BytesPerConstant);
        _constants.Add(value);
        return _constants.Count - 1;
    }

    private void Spend(int bytes)
    {
        if (!_budget.Spend(bytes)) _lexer.PlainError(LuaState.OutOfMemoryMessage);
    }

    private int ConstantIndex(in Expression e) => e.Kind switch
    {
        ExpressionKind.Constant => e.Info,
        ExpressionKind.Number => NumberConstant(e.Number),
        ExpressionKind.Nil => _nilConstant >= 0 ? _nilConstant : _nilConstant = AddConstant(default),
        ExpressionKind.True => _trueConstant >= 0 ? _trueConstant : _trueConstant = AddConstant(true),
        _ => _falseConstant >= 0 ? _falseConstant : _falseConstant = AddConstant(false),
    };

    // ---- Jumps

    /// <summary>Emits a forward jump. Pending jumps to this position are added to its list.</summary>
    public int Jump()
    {
        int pending = _pendingHere;
        _pendingHere = NoJump;
        int jump = Emit(Op.Jump, 0, NoJump);
        Concat(ref jump, pending);
        return jump;
    }

    /// <summary>
    /// Emits a jump to the start of a loop. Pending jumps are not added to it, so every iteration of a loop executes an
    /// instruction that counts against the budget.
    /// </summary>
    public void JumpBack(int target) => Emit(Op.JumpBack, 0, target);

    /// <summary>Marks the current position as a jump target.</summary>
    public int Label() => _lastTarget = _code.Count;

    /// <summary>Appends a list of jumps to another.</summary>
    public void Concat(ref int list, int other)
    {
        if (other == NoJump) return;
        if (list == NoJump)
        {
            list = other;
            return;
        }
        int last = list;
        while (At(last).B != NoJump) last = At(last).B;
        At(last).B = other;
    }

    /// <summary>Inserts a short list of jumps before a long one, so that only the short list is walked.</summary>
    public void Prepend(ref int list, int jumps)
    {
        Concat(ref jumps, list);
        list = jumps;
    }

    public void PatchTo(int list, int target)
    {
        if (target == _code.Count) PatchHere(list);
        else Patch(list, target, NoRegister, target);
    }

    public void PatchHere(int list)
    {
        Label();
        Concat(ref _pendingHere, list);
    }

    /// <summary>
    /// Patches a list of jumps. Jumps that carry a value store it in the register and go to the first target. All
    /// others go to the second target.
    /// </summary>
    private void Patch(int list, int valueTarget, int register, int otherTarget)
    {
        while (list != NoJump)
        {
            int next = At(list).B;
            At(list).B = GiveRegister(list, register) ? valueTarget : otherTarget;
            list = next;
        }
    }

    private bool GiveRegister(int jump, int register)
    {
        ref Instruction i = ref At(jump);
        if (i.Op is not (Op.TestSet or Op.TestSetNot)) return false;
        if (register != NoRegister && register != i.C) i.A = (byte)register;
        else i = new Instruction(i.Op - Op.TestSet + Op.Test, i.C, i.B, 0);
        return true;
    }

    private bool AnyWithoutValue(int list)
    {
        for (; list != NoJump; list = At(list).B)
        {
            if (At(list).Op is not (Op.TestSet or Op.TestSetNot)) return true;
        }
        return false;
    }
}
