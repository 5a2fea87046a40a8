namespace RedisClone.Lua.Compiling;

internal enum UnaryOperator
{
    None,
    Minus,
    Not,
    Length,
}

internal enum BinaryOperator
{
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Concat,
    NotEqual,
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    None,
}

/// <summary>Emits the code of operators.</summary>
internal sealed partial class FunctionBuilder
{
    public void Prefix(UnaryOperator op, ref Expression e)
    {
        switch (op)
        {
            case UnaryOperator.Not:
                Not(ref e);
                break;
            case UnaryOperator.Minus when e.IsNumeral && !double.IsNaN(e.Number):
                e.Number = -e.Number;
                break;
            default:
                int operand = ToAnyRegister(ref e);
                Release(in e);
                e.Info = Emit(op == UnaryOperator.Minus ? Op.Negate : Op.Length, 0, operand);
                e.Kind = ExpressionKind.Relocatable;
                break;
        }
    }

    /// <summary>Prepares the left operand before the right operand is parsed.</summary>
    public void Infix(BinaryOperator op, ref Expression left)
    {
        switch (op)
        {
            case BinaryOperator.And:
                GoIfTrue(ref left);
                break;
            case BinaryOperator.Or:
                GoIfFalse(ref left);
                break;
            case BinaryOperator.Concat:
                ToNextRegister(ref left);
                break;
            case <= BinaryOperator.Power:
                if (!left.IsNumeral) ToAnyRegister(ref left);
                break;
            default:
                if (left.IsConstant) ToOperand(ref left);
                else ToAnyRegister(ref left);
                break;
        }
    }

    public void Postfix(BinaryOperator op, ref Expression left, ref Expression right)
    {
        switch (op)
        {
            case BinaryOperator.And:
                DischargeVariable(ref right);
                Concat(ref right.IfFalse, left.IfFalse);
                left = right;
                break;
            case BinaryOperator.Or:
                DischargeVariable(ref right);
                Concat(ref right.IfTrue, left.IfTrue);
                left = right;
                break;
            case BinaryOperator.Concat:
                ConcatStrings(ref left, ref right);
                break;
            case <= BinaryOperator.Power:
                Arithmetic(op, ref left, ref right);
                break;
            case BinaryOperator.Equal:
                CompareEqual(Op.Equal, ref left, ref right);
                break;
            case BinaryOperator.NotEqual:
                CompareEqual(Op.NotEqual, ref left, ref right);
                break;
            case BinaryOperator.Less:
                CompareOrder(Op.Less, Op.LessConstant, Op.ConstantLess, ref left, ref right, swap: false);
                break;
            case BinaryOperator.LessEqual:
                CompareOrder(Op.LessEqual, Op.LessEqualConstant, Op.ConstantLessEqual, ref left, ref right, swap: false);
                break;
            case BinaryOperator.Greater:
                CompareOrder(Op.Less, Op.LessConstant, Op.ConstantLess, ref left, ref right, swap: true);
                break;
            case BinaryOperator.GreaterEqual:
                CompareOrder(Op.LessEqual, Op.LessEqualConstant, Op.ConstantLessEqual, ref left, ref right, swap: true);
                break;
        }
    }

    private void Not(ref Expression e)
    {
        DischargeVariable(ref e);
        switch (e.Kind)
        {
            case ExpressionKind.Nil or ExpressionKind.False:
                e.Kind = ExpressionKind.True;
                break;
            case ExpressionKind.Constant or ExpressionKind.Number or ExpressionKind.True:
                e.Kind = ExpressionKind.False;
                break;
            case ExpressionKind.Jump:
                Invert(e.Info);
                break;
            case ExpressionKind.Relocatable or ExpressionKind.Register:
                DischargeToAnyRegister(ref e);
                Release(in e);
                e.Info = Emit(Op.Not, 0, e.Info);
                e.Kind = ExpressionKind.Relocatable;
                break;
        }
        (e.IfTrue, e.IfFalse) = (e.IfFalse, e.IfTrue);
        DropValues(e.IfFalse);
        DropValues(e.IfTrue);
    }

    private void DropValues(int list)
    {
        for (; list != NoJump; list = At(list).B) GiveRegister(list, NoRegister);
    }

    private void ConcatStrings(ref Expression left, ref Expression right)
    {
        ToValue(ref right);
        if (right.Kind == ExpressionKind.Relocatable && At(right.Info).Op == Op.Concat)
        {
            Release(in left);
            At(right.Info).B = left.Info;
            left.Kind = ExpressionKind.Relocatable;
            left.Info = right.Info;
            return;
        }
        ToNextRegister(ref right);
        Release(in right);
        Release(in left);
        left.Info = Emit(Op.Concat, 0, left.Info, right.Info);
        left.Kind = ExpressionKind.Relocatable;
    }

    private void Arithmetic(BinaryOperator op, ref Expression left, ref Expression right)
    {
        if (TryFold(op, ref left, in right)) return;
        int rightOperand = right.IsNumeral ? ToOperand(ref right) : ToAnyRegister(ref right);
        int leftRegister = ToAnyRegister(ref left);
        ReleaseBoth(in left, in right);
        var code = (Op)((int)Op.Add + ((int)op * 2));
        left.Info = rightOperand >= 0
            ? Emit(code, 0, leftRegister, rightOperand)
            : Emit(code + 1, 0, leftRegister, ~rightOperand);
        left.Kind = ExpressionKind.Relocatable;
    }

    /// <summary>Releases the higher register first, because registers form a stack.</summary>
    private void ReleaseBoth(in Expression a, ref readonly Expression b)
    {
        bool aFirst = a.Kind == ExpressionKind.Register && (b.Kind != ExpressionKind.Register || a.Info > b.Info);
        Release(in aFirst ? ref a : ref b);
        Release(in aFirst ? ref b : ref a);
    }

    private static bool TryFold(BinaryOperator op, ref Expression left, in Expression right)
    {
        if (!left.IsNumeral || !right.IsNumeral) return false;
        double a = left.Number, b = right.Number;
        if (op is BinaryOperator.Divide or BinaryOperator.Modulo && b == 0) return false;
        double result = op switch
        {
            BinaryOperator.Add => a + b,
            BinaryOperator.Subtract => a - b,
            BinaryOperator.Multiply => a * b,
            BinaryOperator.Divide => a / b,
            BinaryOperator.Modulo => a - (Math.Floor(a / b) * b),
            _ => Math.Pow(a, b),
        };
        if (double.IsNaN(result)) return false;
        left.Number = result;
        return true;
    }

    private void CompareEqual(Op op, ref Expression left, ref Expression right)
    {
        if (left.IsConstant) (left, right) = (right, left);
        Op constantForm = op - Op.Equal + Op.EqualConstant;
        int operand = right.IsConstant ? ToOperand(ref right) : ToAnyRegister(ref right);
        int register = ToAnyRegister(ref left);
        ReleaseBoth(in left, in right);
        left.Info = operand >= 0
            ? ConditionalJump(op, register, operand)
            : ConditionalJump(constantForm, register, ~operand);
        left.Kind = ExpressionKind.Jump;
    }

    private void CompareOrder(
        Op op, Op constantRight, Op constantLeft, ref Expression left, ref Expression right, bool swap)
    {
        if (left.IsConstant && right.IsConstant) ToAnyRegister(ref left);
        int rightOperand = ToOperand(ref right);
        int leftOperand = ToOperand(ref left);
        ReleaseBoth(in left, in right);
        (int low, int high) = swap ? (rightOperand, leftOperand) : (leftOperand, rightOperand);
        left.Info = high < 0 ? ConditionalJump(constantRight, low, ~high)
            : low < 0 ? ConditionalJump(constantLeft, high, ~low)
            : ConditionalJump(op, low, high);
        left.Kind = ExpressionKind.Jump;
    }
}
