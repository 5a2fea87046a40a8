using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>
/// Parses statements and emits their code in one pass. The nesting is limited like the depth of host calls at run time,
/// so that no source text can exhaust the native stack.
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

    /// <summary>
    /// Compiles a chunk into its main function. Returns null and a message of one line after an error.
    /// </summary>
    /// <param name="budget">Counts the memory used.</param>
    /// <param name="depth">The number of host calls in progress.</param>
    public static Prototype? Parse(
        byte[] text, LuaString name, StringPool names, CompileBudget budget, int depth, out string? error)
    {
        var lexer = new Lexer(text, name, new StringPool(names, budget), budget);
        var parser = new Parser(lexer, name, budget, depth);
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

    /// <summary>Parses a statement. Returns true if it must be the last one of its block.</summary>
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
}
