using System.Runtime.InteropServices;

namespace RedisClone.Lua.Compiling;

/// <summary>
/// One instruction of the register machine. R stands for the registers of the frame and K for the constants of the
/// function. Jump targets are absolute indexes.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct Instruction(Op op, int a, int b, int c)
{
    public Op Op = op;
    public byte A = (byte)a;
    public short C = (short)c;
    public int B = b;
}

/// <summary>
/// The operations. Conditional jumps come in pairs. The second operation of a pair has an odd number and jumps on the
/// opposite condition.
/// </summary>
internal enum Op : byte
{
    // Conditional jumps to B. Each pair begins at an even number.
    Equal, // R[A] == R[C]
    NotEqual,
    EqualConstant, // R[A] == K[C]
    NotEqualConstant,
    Less, // R[A] < R[C]
    NotLess,
    LessConstant, // R[A] < K[C]
    NotLessConstant,
    ConstantLess, // K[C] < R[A]
    NotConstantLess,
    LessEqual,
    NotLessEqual,
    LessEqualConstant,
    NotLessEqualConstant,
    ConstantLessEqual,
    NotConstantLessEqual,
    Test, // R[A] is true
    TestNot,
    TestSet, // R[C] is true, then also R[A] := R[C]
    TestSetNot,
    Jump,
    JumpBack, // as Jump, and counts against the budget: the end of a loop without a loop instruction
    Tick, // counts against the budget: the start of a repeat loop

    Move, // R[A] := R[B]
    LoadConstant, // R[A] := K[B]
    LoadTrue,
    LoadFalse,
    LoadFalseSkip, // R[A] := false, then skips an instruction
    LoadNil, // R[A..B] := nil
    GetUpvalue, // R[A] := Upvalue[B]
    SetUpvalue, // Upvalue[B] := R[A]
    GetGlobal, // R[A] := Environment[K[B]]
    SetGlobal, // Environment[K[B]] := R[A]
    GetTable, // R[A] := R[B][R[C]]
    GetField, // R[A] := R[B][K[C]], a string key
    GetConstant, // R[A] := R[B][K[C]], any other key
    SetTable, // R[A][R[B]] := C < 0 ? K[~C] : R[C]
    SetField, // R[A][K[B]] := C < 0 ? K[~C] : R[C], a string key
    SetConstant, // R[A][K[B]] := C < 0 ? K[~C] : R[C], any other key
    NewTable, // R[A] := a table with an array of B and room for 2^(C-1) hashed keys (none if C is 0)
    Self, // R[A+1] := R[B]; R[A] := R[B][C < 0 ? K[~C] : R[C]]
    SetList, // R[A][B+i] := R[A+i] for i = 1..C, or up to the top if C is 0

    // R[A] := R[B] op R[C], or R[A] := R[B] op K[C] in the constant forms, where K[C] is a number.
    Add,
    AddConstant,
    Subtract,
    SubtractConstant,
    Multiply,
    MultiplyConstant,
    Divide,
    DivideConstant,
    Modulo,
    ModuloConstant,
    Power,
    PowerConstant,
    Negate, // R[A] := -R[B]
    Not,
    Length,
    Concat, // R[A] := R[B] .. ... .. R[C]

    Call, // R[A], ... := R[A](R[A+1], ...): B-1 arguments and C-1 results, up to the top if 0
    TailCall,
    Return, // R[A], ...: B-1 values, up to the top if 0
    Vararg, // R[A], ... := ..., B-1 values, all if 0
    Closure, // R[A] := a closure of child B
    Close, // closes the variables at R[A] and above
    ForPrepare, // checks R[A..A+2] and jumps to the loop instruction at B
    ForLoop, // R[A] += R[A+2]; while in range: R[A+3] := R[A] and jump to B
    IterateCall, // R[A+3], ... := R[A](R[A+1], R[A+2]), C results; an IterateLoop follows
    IterateLoop, // while R[A+3] is not nil: R[A+2] := R[A+3] and jump to B
}
