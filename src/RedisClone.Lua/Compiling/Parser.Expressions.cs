using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>Parses expressions.</summary>
internal sealed partial class Parser
{
    private const int FieldsPerFlush = 50;
    private const int UnaryPriority = 8;

    /// <summary>
    /// The left and right priorities of the binary operators. The right one is lower for right-associative operators.
    /// </summary>
    private static readonly (byte Left, byte Right)[] s_priorities =
    [
        (6, 6), (6, 6), (7, 7), (7, 7), (7, 7), (10, 9), (5, 4),
        (3, 3), (3, 3), (3, 3), (3, 3), (3, 3), (3, 3), (2, 2), (1, 1),
    ];

    private void ParseExpression(out Expression e) => SubExpression(out e, 0);

    /// <summary>
    /// Parses an expression with operators whose priority exceeds the limit. Returns the first operator that does not.
    /// </summary>
    private BinaryOperator SubExpression(out Expression e, int limit)
    {
        if (!EnterLevel())
        {
            LeaveLevel();
            e = new Expression(ExpressionKind.Void);
            return BinaryOperator.None;
        }
        UnaryOperator unary = _lexer.Kind switch
        {
            Token.Not => UnaryOperator.Not,
            (Token)'-' => UnaryOperator.Minus,
            (Token)'#' => UnaryOperator.Length,
            _ => UnaryOperator.None,
        };
        if (unary != UnaryOperator.None)
        {
            _lexer.Next();
            SubExpression(out e, UnaryPriority);
            _function.Prefix(unary, ref e);
        }
        else
        {
            SimpleExpression(out e);
        }
        BinaryOperator op = CurrentOperator();
        while (op != BinaryOperator.None && s_priorities[(int)op].Left > limit)
        {
            _lexer.Next();
            _function.Infix(op, ref e);
            BinaryOperator next = SubExpression(out Expression right, s_priorities[(int)op].Right);
            _function.Postfix(op, ref e, ref right);
            op = next;
        }
        LeaveLevel();
        return op;
    }

    private BinaryOperator CurrentOperator() => _lexer.Kind switch
    {
        (Token)'+' => BinaryOperator.Add,
        (Token)'-' => BinaryOperator.Subtract,
        (Token)'*' => BinaryOperator.Multiply,
        (Token)'/' => BinaryOperator.Divide,
        (Token)'%' => BinaryOperator.Modulo,
        (Token)'^' => BinaryOperator.Power,
        Token.Concat => BinaryOperator.Concat,
        Token.NotEqual => BinaryOperator.NotEqual,
        Token.Equal => BinaryOperator.Equal,
        (Token)'<' => BinaryOperator.Less,
        Token.LessEqual => BinaryOperator.LessEqual,
        (Token)'>' => BinaryOperator.Greater,
        Token.GreaterEqual => BinaryOperator.GreaterEqual,
        Token.And => BinaryOperator.And,
        Token.Or => BinaryOperator.Or,
        _ => BinaryOperator.None,
    };

    private void SimpleExpression(out Expression e)
    {
        switch (_lexer.Kind)
        {
            case Token.Number:
                e = new Expression(ExpressionKind.Number) { Number = _lexer.Number };
                break;
            case Token.String:
                e = StringExpression(_lexer.Text);
                break;
            case Token.Nil:
                e = new Expression(ExpressionKind.Nil);
                break;
            case Token.True:
                e = new Expression(ExpressionKind.True);
                break;
            case Token.False:
                e = new Expression(ExpressionKind.False);
                break;
            case Token.Dots:
                if (!_function.IsVararg) _lexer.SyntaxError("cannot use '...' outside a vararg function");
                _function.NeedsArgTable = false;
                e = new Expression(ExpressionKind.Vararg, _function.Emit(Op.Vararg, 0, 1));
                break;
            case (Token)'{':
                Constructor(out e);
                return;
            case Token.Function:
                _lexer.Next();
                FunctionBody(out e, isMethod: false, _lexer.Line);
                return;
            default:
                PrimaryExpression(out e);
                return;
        }
        _lexer.Next();
    }

    private Expression StringExpression(LuaString text) =>
        new(ExpressionKind.Constant, _function.StringConstant(text));

    private void PrefixExpression(out Expression e)
    {
        switch (_lexer.Kind)
        {
            case (Token)'(':
                int line = _lexer.Line;
                _lexer.Next();
                ParseExpression(out e);
                ExpectMatch((Token)')', (Token)'(', line);
                _function.DischargeVariable(ref e);
                return;
            case Token.Name:
                _function.Resolve(ExpectName(), out e);
                return;
            default:
                _lexer.SyntaxError("unexpected symbol");
                e = new Expression(ExpressionKind.Void);
                return;
        }
    }

    private void PrimaryExpression(out Expression e)
    {
        PrefixExpression(out e);
        while (true)
        {
            switch (_lexer.Kind)
            {
                case (Token)'.':
                    Field(ref e);
                    break;
                case (Token)'[':
                    _function.ToAnyRegister(ref e);
                    BracketIndex(out Expression key);
                    _function.Index(ref e, ref key);
                    break;
                case (Token)':':
                    _lexer.Next();
                    Expression name = StringExpression(ExpectName());
                    _function.EmitSelf(ref e, ref name);
                    Arguments(ref e);
                    break;
                case (Token)'(' or (Token)'{' or Token.String:
                    _function.ToNextRegister(ref e);
                    Arguments(ref e);
                    break;
                default:
                    return;
            }
        }
    }

    private void Field(ref Expression e)
    {
        _function.ToAnyRegister(ref e);
        _lexer.Next();
        Expression key = StringExpression(ExpectName());
        _function.Index(ref e, ref key);
    }

    private void BracketIndex(out Expression key)
    {
        _lexer.Next();
        ParseExpression(out key);
        _function.ToValue(ref key);
        Expect((Token)']');
    }

    private void Arguments(ref Expression function)
    {
        int line = _lexer.Line;
        Expression last = new(ExpressionKind.Void);
        switch (_lexer.Kind)
        {
            case (Token)'(':
                if (line != _lexer.LastLine) _lexer.SyntaxError("ambiguous syntax (function call x new statement)");
                _lexer.Next();
                if (_lexer.Kind != (Token)')')
                {
                    ExpressionList(out last);
                    _function.SetMultipleResults(ref last);
                }
                ExpectMatch((Token)')', (Token)'(', line);
                break;
            case (Token)'{':
                Constructor(out last);
                break;
            case Token.String:
                last = StringExpression(_lexer.Text);
                _lexer.Next();
                break;
            default:
                _lexer.SyntaxError("function arguments expected");
                return;
        }
        int register = function.Info;
        int arguments = -1;
        if (!last.HasMultipleResults)
        {
            if (last.Kind != ExpressionKind.Void) _function.ToNextRegister(ref last);
            arguments = _function.FreeRegister - (register + 1);
        }
        function = new Expression(ExpressionKind.Call, _function.Emit(Op.Call, register, arguments + 1, 2));
        _function.FixLine(line);
        _function.FreeRegister = register + 1;
    }

    private int ExpressionList(out Expression last)
    {
        int count = 1;
        ParseExpression(out last);
        for (; Accept((Token)','); count++)
        {
            _function.ToNextRegister(ref last);
            ParseExpression(out last);
        }
        return count;
    }

    private void ExpressionToNextRegister()
    {
        ParseExpression(out Expression e);
        _function.ToNextRegister(ref e);
    }

    private void FunctionBody(out Expression e, bool isMethod, int line)
    {
        var builder = new FunctionBuilder(_lexer, _budget, _function, line);
        _function = builder;
        Expect((Token)'(');
        if (isMethod)
        {
            builder.DeclareLocal(_lexer.Intern("self"));
            builder.ActivateLocals(1);
        }
        Parameters();
        Expect((Token)')');
        Chunk();
        ExpectMatch(Token.End, Token.Function, line);
        builder.CloseLocals(0);
        _function = builder.Parent!;
        int child = _function.AddChild(builder.Build(_source));
        e = new Expression(ExpressionKind.Relocatable, _function.Emit(Op.Closure, 0, child));
    }

    private void Parameters()
    {
        FunctionBuilder f = _function;
        int count = 0;
        if (_lexer.Kind != (Token)')')
        {
            do
            {
                if (_lexer.Kind == Token.Name)
                {
                    f.DeclareLocal(ExpectName());
                    count++;
                }
                else if (Accept(Token.Dots))
                {
                    f.DeclareLocal(_lexer.Intern("arg"));
                    count++;
                    f.IsVararg = f.HasArgParameter = f.NeedsArgTable = true;
                }
                else
                {
                    _lexer.SyntaxError("<name> or '...' expected");
                }
            }
            while (!f.IsVararg && Accept((Token)','));
        }
        f.ActivateLocals(count);
        f.Parameters = f.ActiveLocals - (f.HasArgParameter ? 1 : 0);
        f.Reserve(f.ActiveLocals);
    }

    // ---- Table constructors

    private struct Constructing
    {
        public Expression Table;
        public Expression Pending;
        public int Fields;
        public int Items;
        public int Unstored;
    }

    private void Constructor(out Expression e)
    {
        int line = _lexer.Line;
        int position = _function.Emit(Op.NewTable, 0);
        Constructing c = new() { Table = new(ExpressionKind.Relocatable, position), Pending = new(ExpressionKind.Void) };
        _function.ToNextRegister(ref c.Table);
        Expect((Token)'{');
        do
        {
            if (_lexer.Kind == (Token)'}') break;
            FlushItems(ref c);
            if (_lexer.Kind == (Token)'[' || (_lexer.Kind == Token.Name && _lexer.Peek() == (Token)'=')) RecordField(ref c);
            else ListItem(ref c);
        }
        while (Accept((Token)',') || Accept((Token)';'));
        ExpectMatch((Token)'}', (Token)'{', line);
        StoreLastItems(ref c);
        ref Instruction create = ref _function.At(position);
        create.B = RoundSize(c.Items);
        int fields = RoundSize(c.Fields);
        create.C = (short)(fields == 0 ? 0 : 1 + int.Log2(fields) + (int.IsPow2(fields) ? 0 : 1));
        e = c.Table;
    }

    private void RecordField(ref Constructing c)
    {
        int register = _function.FreeRegister;
        Expression key;
        if (_lexer.Kind == Token.Name) key = StringExpression(ExpectName());
        else BracketIndex(out key);
        c.Fields++;
        Expect((Token)'=');
        int keyOperand = _function.ToOperand(ref key);
        ParseExpression(out Expression value);
        _function.EmitSetTable(c.Table.Info, keyOperand, _function.ToOperand(ref value));
        _function.FreeRegister = register;
    }

    private void ListItem(ref Constructing c)
    {
        ParseExpression(out c.Pending);
        c.Items++;
        c.Unstored++;
    }

    private void FlushItems(ref Constructing c)
    {
        if (c.Pending.Kind == ExpressionKind.Void) return;
        _function.ToNextRegister(ref c.Pending);
        c.Pending.Kind = ExpressionKind.Void;
        if (c.Unstored < FieldsPerFlush) return;
        _function.EmitSetList(c.Table.Info, c.Items - c.Unstored, c.Unstored);
        c.Unstored = 0;
    }

    private void StoreLastItems(ref Constructing c)
    {
        if (c.Unstored == 0) return;
        if (c.Pending.HasMultipleResults)
        {
            _function.SetMultipleResults(ref c.Pending);
            _function.EmitSetList(c.Table.Info, c.Items - c.Unstored, 0);
            c.Items--;
            return;
        }
        if (c.Pending.Kind != ExpressionKind.Void) _function.ToNextRegister(ref c.Pending);
        _function.EmitSetList(c.Table.Info, c.Items - c.Unstored, c.Unstored);
    }

    /// <summary>
    /// Rounds a size as Lua 5.1 does, which stores sizes as floating-point bytes. Tables then have the same sizes as in
    /// Lua.
    /// </summary>
    private static int RoundSize(int size)
    {
        int exponent = 0;
        while (size >= 16)
        {
            size = (size + 1) >> 1;
            exponent++;
        }
        return size << exponent;
    }
}
