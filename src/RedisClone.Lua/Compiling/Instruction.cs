using System.Runtime.InteropServices;

namespace RedisClone.Lua;

/// <summary>
/// One instruction of the register machine. R is the frame's registers, K the function's constants; a jump's target is
/// an absolute index.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct Instruction(Op op, int a, int b, int c)
{
    public Op Op = op;
    public byte A = (byte)a;
    public short C = (short)c;
    public int B = b;
}

/// <summary>The operations. Conditional jumps come in pairs whose second, odd one jumps on the opposite condition.</summary>
internal enum Op : byte
{
    // Jumps to B. The pairs must begin at an even number.
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
    JumpBack, // as Jump; the end of every loop but those with an instruction of their own, counts against the budget
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
    GetField, // R[A] := R[B][K[C]], a string
    GetConstant, // R[A] := R[B][K[C]], anything else
    SetTable, // R[A][R[B]] := C < 0 ? K[~C] : R[C]
    SetField, // R[A][K[B]] := the same, a string key
    SetConstant, // R[A][K[B]] := the same, any other key
    NewTable, // R[A] := a table with an array of B and room for 2^(C-1) hashed keys (none if C is 0)
    Self, // R[A+1] := R[B]; R[A] := R[B][C < 0 ? K[~C] : R[C]]
    SetList, // R[A][B+i] := R[A+i] for i = 1..C, or up to the top if C is 0

    // R[A] := R[B] op R[C], with the constant forms K[C], a number
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
    ForLoop, // R[A] += R[A+2]; while in range R[A+3] := R[A] and back to B
    IterateCall, // R[A+3], ... := R[A](R[A+1], R[A+2]), C results; an IterateLoop follows
    IterateLoop, // while R[A+3] is not nil R[A+2] := R[A+3] and back to B
}
