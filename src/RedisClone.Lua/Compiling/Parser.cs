namespace RedisClone.Lua;

/// <summary>
/// Parses statements and emits code as it goes. Nesting is limited to what the run-time stack is also limited to, so
/// that no source text can exhaust the real one.
/// </summary>
internal sealed partial class Parser
{
    private readonly Lexer _lexer;
    private readonly LuaString _source;
    private readonly CompileBudget _budget;

    private FunctionBuilder _function;
    private int _depth;

    private Parser(Lexer lexer, LuaString source, CompileBudget budget, int depth)
    {
        _lexer = lexer;
        _source = source;
        _budget = budget;
        _depth = depth;
        _function = new FunctionBuilder(lexer, budget, parent: null, lineDefined: 0) { IsVararg = true };
    }

    /// <summary>Compiles a chunk into its main function, or says in one line why not.</summary>
    /// <param name="memory">The bytes that the code may take.</param>
    /// <param name="depth">The calls of the host already nested around this one.</param>
    public static Prototype? Parse(
        byte[] text, LuaString name, StringPool names, long memory, int depth, out string? error)
    {
        var lexer = new Lexer(text, name, new StringPool(names));
        var parser = new Parser(lexer, name, new CompileBudget(memory), depth);
        lexer.Next();
        parser.Chunk();
        parser.Check(Token.Eof);
        parser._function.CloseLocals(0);
        Prototype main = parser._function.Build(name);
        error = lexer.Error;
        return error is null ? main : null;
    }

    // ---- Tokens

    private bool Accept(Token kind)
    {
        if (_lexer.Kind != kind) return false;
        _lexer.Next();
        return true;
    }

    private void Check(Token kind)
    {
        if (_lexer.Kind != kind) _lexer.SyntaxError($"'{Tokens.Text(kind)}' expected");
    }

    private void Expect(Token kind)
    {
        Check(kind);
        _lexer.Next();
    }

    private void ExpectMatch(Token what, Token opener, int line)
    {
        if (Accept(what)) return;
        _lexer.SyntaxError(
            line == _lexer.Line
                ? $"'{Tokens.Text(what)}' expected"
                : $"'{Tokens.Text(what)}' expected (to close '{Tokens.Text(opener)}' at line {line})");
    }

    private LuaString ExpectName()
    {
        Check(Token.Name);
        LuaString name = _lexer.Text;
        _lexer.Next();
        return name;
    }

    private bool EnterLevel()
    {
        if (++_depth <= LuaLimits.HostCalls) return true;
        _lexer.LimitError("chunk has too many syntax levels");
        return false;
    }

    private void LeaveLevel() => _depth--;

    // ---- Blocks

    private bool AtBlockEnd => _lexer.Kind is Token.Else or Token.ElseIf or Token.End or Token.Until or Token.Eof;

    private void Chunk()
    {
        if (EnterLevel())
        {
            bool last = false;
            while (!last && !AtBlockEnd)
            {
                last = Statement();
                Accept((Token)';');
                _function.FreeRegister = _function.ActiveLocals;
            }
        }
        LeaveLevel();
    }

    private void BlockOf()
    {
        _function.EnterBlock(isLoop: false);
        Chunk();
        _function.LeaveBlock();
    }

    /// <summary>Says whether it must be the last one of its block.</summary>
    private bool Statement()
    {
        int line = _lexer.Line;
        switch (_lexer.Kind)
        {
            case Token.If:
                If(line);
                return false;
            case Token.While:
                While(line);
                return false;
            case Token.Do:
                _lexer.Next();
                BlockOf();
                ExpectMatch(Token.End, Token.Do, line);
                return false;
            case Token.For:
                For(line);
                return false;
            case Token.Repeat:
                Repeat(line);
                return false;
            case Token.Function:
                FunctionStatement(line);
                return false;
            case Token.Local:
                _lexer.Next();
                if (Accept(Token.Function)) LocalFunction();
                else Local();
                return false;
            case Token.Return:
                Return();
                return true;
            case Token.Break:
                _lexer.Next();
                Break();
                return true;
            default:
                ExpressionStatement();
                return false;
        }
    }

    private void Break()
    {
        if (!_function.Break()) _lexer.SyntaxError("no loop to break");
    }

    private int Condition()
    {
        ParseExpression(out Expression e);
        if (e.Kind == ExpressionKind.Nil) e.Kind = ExpressionKind.False;
        _function.GoIfTrue(ref e);
        return e.IfFalse;
    }

    private void If(int line)
    {
        int escapes = FunctionBuilder.NoJump;
        int otherwise = TestThenBlock();
        while (_lexer.Kind == Token.ElseIf)
        {
            _function.Prepend(ref escapes, _function.Jump());
            _function.PatchHere(otherwise);
            otherwise = TestThenBlock();
        }
        if (_lexer.Kind == Token.Else)
        {
            _function.Prepend(ref escapes, _function.Jump());
            _function.PatchHere(otherwise);
            _lexer.Next();
            BlockOf();
        }
        else
        {
            _function.Prepend(ref escapes, otherwise);
        }
        _function.PatchHere(escapes);
        ExpectMatch(Token.End, Token.If, line);
    }

    private int TestThenBlock()
    {
        _lexer.Next();
        int otherwise = Condition();
        Expect(Token.Then);
        BlockOf();
        return otherwise;
    }

    private void While(int line)
    {
        _lexer.Next();
        int start = _function.Label();
        int exit = Condition();
        _function.EnterBlock(isLoop: true);
        Expect(Token.Do);
        BlockOf();
        _function.JumpBack(start);
        ExpectMatch(Token.End, Token.While, line);
        _function.LeaveBlock();
        _function.PatchHere(exit);
    }

    private void Repeat(int line)
    {
        int start = _function.Label();
        _function.Emit(Op.Tick, 0);
        _function.EnterBlock(isLoop: true);
        FunctionBuilder.Block scope = _function.EnterBlock(isLoop: false);
        _lexer.Next();
        Chunk();
        ExpectMatch(Token.Until, Token.Repeat, line);
        int again = Condition(); // the block's variables are still in scope
        if (!scope.HasUpvalue)
        {
            _function.LeaveBlock();
            _function.PatchTo(again, start);
        }
        else
        {
            Break();
            _function.PatchHere(again);
            _function.LeaveBlock();
            _function.JumpBack(start);
        }
        _function.LeaveBlock();
    }

    private void For(int line)
    {
        _function.EnterBlock(isLoop: true);
        _lexer.Next();
        LuaString name = ExpectName();
        switch (_lexer.Kind)
        {
            case (Token)'=':
                NumericFor(name, line);
                break;
            case (Token)',' or Token.In:
                GenericFor(name);
                break;
            default:
                _lexer.SyntaxError("'=' or 'in' expected");
                break;
        }
        ExpectMatch(Token.End, Token.For, line);
        _function.LeaveBlock();
    }

    private void NumericFor(LuaString name, int line)
    {
        int first = _function.FreeRegister;
        _function.DeclareLocal(_lexer.Intern("(for index)"));
        _function.DeclareLocal(_lexer.Intern("(for limit)"));
        _function.DeclareLocal(_lexer.Intern("(for step)"));
        _function.DeclareLocal(name);
        Expect((Token)'=');
        ExpressionToNextRegister();
        Expect((Token)',');
        ExpressionToNextRegister();
        if (Accept((Token)','))
        {
            ExpressionToNextRegister();
        }
        else
        {
            Expression step = new(ExpressionKind.Number) { Number = 1 };
            _function.ToNextRegister(ref step);
        }
        _function.ActivateLocals(3);
        Expect(Token.Do);
        int prepare = _function.Emit(Op.ForPrepare, first, FunctionBuilder.NoJump);
        ForBody(variables: 1);
        int loop = _function.Position;
        _function.PatchTo(prepare, loop);
        _function.Emit(Op.ForLoop, first, prepare + 1);
        _function.FixLine(line);
    }

    private void GenericFor(LuaString firstName)
    {
        int first = _function.FreeRegister;
        _function.DeclareLocal(_lexer.Intern("(for generator)"));
        _function.DeclareLocal(_lexer.Intern("(for state)"));
        _function.DeclareLocal(_lexer.Intern("(for control)"));
        _function.DeclareLocal(firstName);
        int variables = 1;
        for (; Accept((Token)','); variables++) _function.DeclareLocal(ExpectName());
        Expect(Token.In);
        int line = _lexer.Line;
        int count = ExpressionList(out Expression last);
        AdjustAssignment(3, count, ref last);
        _function.CheckStack(3);
        _function.ActivateLocals(3);
        Expect(Token.Do);
        int prepare = _function.Jump();
        int body = _function.Position;
        ForBody(variables);
        _function.PatchHere(prepare);
        _function.Emit(Op.IterateCall, first, 0, variables);
        _function.FixLine(line);
        _function.Emit(Op.IterateLoop, first, body);
        _function.FixLine(line);
    }

    private void ForBody(int variables)
    {
        _function.EnterBlock(isLoop: false);
        _function.ActivateLocals(variables);
        _function.Reserve(variables);
        BlockOf();
        _function.LeaveBlock();
    }

    private void FunctionStatement(int line)
    {
        _lexer.Next();
        _function.Resolve(ExpectName(), out Expression target);
        bool isMethod = false;
        while (_lexer.Kind == (Token)'.') Field(ref target);
        if (_lexer.Kind == (Token)':')
        {
            isMethod = true;
            Field(ref target);
        }
        FunctionBody(out Expression body, isMethod, line);
        _function.Store(in target, ref body);
        _function.FixLine(line);
    }

    private void LocalFunction()
    {
        _function.DeclareLocal(ExpectName());
        Expression variable = new(ExpressionKind.Local, _function.FreeRegister);
        _function.Reserve(1);
        _function.ActivateLocals(1);
        FunctionBody(out Expression body, isMethod: false, _lexer.Line);
        _function.Store(in variable, ref body);
        _function.RestartLocal(_function.ActiveLocals - 1);
    }

    private void Local()
    {
        int variables = 0, count = 0;
        do
        {
            _function.DeclareLocal(ExpectName());
            variables++;
        }
        while (Accept((Token)','));
        Expression last = new(ExpressionKind.Void);
        if (Accept((Token)'=')) count = ExpressionList(out last);
        AdjustAssignment(variables, count, ref last);
        _function.ActivateLocals(variables);
    }

    private void Return()
    {
        _lexer.Next();
        if (AtBlockEnd || _lexer.Kind == (Token)';')
        {
            _function.EmitReturn(0, 0);
            return;
        }
        int count = ExpressionList(out Expression last);
        if (last.HasMultipleResults)
        {
            _function.SetMultipleResults(ref last);
            if (last.Kind == ExpressionKind.Call && count == 1) _function.At(last.Info).Op = Op.TailCall;
            _function.EmitReturn(_function.ActiveLocals, -1);
        }
        else if (count == 1)
        {
            _function.EmitReturn(_function.ToAnyRegister(ref last), 1);
        }
        else
        {
            _function.ToNextRegister(ref last);
            _function.EmitReturn(_function.ActiveLocals, count);
        }
    }

    private void ExpressionStatement()
    {
        PrimaryExpression(out Expression e);
        if (e.Kind == ExpressionKind.Call) _function.At(e.Info).C = 1; // no results
        else Assignment(new AssignmentTarget(null, e), 1);
    }

    private sealed class AssignmentTarget(AssignmentTarget? previous, Expression target)
    {
        public readonly AssignmentTarget? Previous = previous;
        public Expression Target = target;
    }

    private void Assignment(AssignmentTarget target, int variables)
    {
        if (target.Target.Kind is < ExpressionKind.Local or > ExpressionKind.Indexed) _lexer.SyntaxError("syntax error");
        Expression e;
        if (Accept((Token)','))
        {
            PrimaryExpression(out Expression next);
            if (next.Kind == ExpressionKind.Local) KeepOldValue(target, next.Info);
            if (variables > LuaLimits.HostCalls - _depth)
                _function.Limit(LuaLimits.HostCalls - _depth, "variables in assignment");
            else
                Assignment(new AssignmentTarget(target, next), variables + 1);
        }
        else
        {
            Expect((Token)'=');
            int count = ExpressionList(out e);
            if (count == variables)
            {
                _function.SetOneResult(ref e);
                _function.Store(in target.Target, ref e);
                return;
            }
            AdjustAssignment(variables, count, ref e);
            if (count > variables) _function.FreeRegister -= count - variables;
        }
        e = new Expression(ExpressionKind.Register, _function.FreeRegister - 1);
        _function.Store(in target.Target, ref e);
    }

    /// <summary>In <c>a[i], i = ...</c> the index must keep the value from before: a copy takes its place.</summary>
    private void KeepOldValue(AssignmentTarget? targets, int local)
    {
        int copy = _function.FreeRegister;
        bool conflict = false;
        for (AssignmentTarget? t = targets; t is not null; t = t.Previous)
        {
            if (t.Target.Kind != ExpressionKind.Indexed) continue;
            if (t.Target.Info == local)
            {
                conflict = true;
                t.Target.Info = copy;
            }
            if (t.Target.Aux == local)
            {
                conflict = true;
                t.Target.Aux = copy;
            }
        }
        if (!conflict) return;
        _function.Emit(Op.Move, copy, local);
        _function.Reserve(1);
    }

    private void AdjustAssignment(int variables, int values, ref Expression last)
    {
        int extra = variables - values;
        if (last.HasMultipleResults)
        {
            extra = Math.Max(extra + 1, 0);
            _function.SetResults(ref last, extra);
            if (extra > 1) _function.Reserve(extra - 1);
            return;
        }
        if (last.Kind != ExpressionKind.Void) _function.ToNextRegister(ref last);
        if (extra <= 0) return;
        int register = _function.FreeRegister;
        _function.Reserve(extra);
        _function.EmitNil(register, extra);
    }
}
