namespace RedisClone.Lua.Compiling;

/// <summary>The location of an expression's value, or the instruction that would produce it.</summary>
internal enum ExpressionKind
{
    Void,
    Nil,
    True,
    False,
    Constant, // Info: index of a constant
    Number,
    Local, // Info: register
    Upvalue, // Info: index
    Global, // Info: index of the name among the constants
    Indexed, // Info: the table's register; Aux: the key's operand
    Jump, // Info: a conditional jump, taken if the expression is true
    Relocatable, // Info: the instruction whose target register is not yet set
    Register, // Info: the register
    Call, // Info: the instruction
    Vararg, // Info: the instruction
}

/// <summary>
/// A parsed expression whose value has no register yet. The lists contain the jumps of its <c>and</c> and <c>or</c>
/// operators, linked through the targets of the jumps.
/// </summary>
internal struct Expression
{
    public ExpressionKind Kind;
    public int Info;
    public int Aux;
    public double Number;
    public int IfTrue;
    public int IfFalse;

    public Expression(ExpressionKind kind, int info = 0)
    {
        Kind = kind;
        Info = info;
        IfTrue = IfFalse = FunctionBuilder.NoJump;
    }

    public readonly bool HasJumps => IfTrue != IfFalse;

    public readonly bool IsNumeral => Kind == ExpressionKind.Number && !HasJumps;

    public readonly bool HasMultipleResults => Kind is ExpressionKind.Call or ExpressionKind.Vararg;

    /// <summary>True for a constant that an instruction can name without a register.</summary>
    public readonly bool IsConstant => !HasJumps && Kind is >= ExpressionKind.Nil and <= ExpressionKind.Number;
}
