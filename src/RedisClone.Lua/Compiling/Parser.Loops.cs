using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>Parses while, repeat and for.</summary>
internal sealed partial class Parser
{
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
        int again = Condition(); // the variables of the block are still in scope
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
}
