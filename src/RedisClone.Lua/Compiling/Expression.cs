namespace RedisClone.Lua;

/// <summary>Where the value of an expression stands, or what would have to be emitted to get it.</summary>
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
    Relocatable, // Info: the instruction that can put it into any register
    Register, // Info: the register that it stands in
    Call, // Info: the instruction
    Vararg, // Info: the instruction
}

/// <summary>
/// An expression that has been parsed but not yet put anywhere. The lists are jumps out of its <c>and</c>s and
/// <c>or</c>s, threaded through the jumps' own targets.
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

    /// <summary>A constant that an instruction can name without a register.</summary>
    public readonly bool IsConstant => !HasJumps && Kind is >= ExpressionKind.Nil and <= ExpressionKind.Number;
}
