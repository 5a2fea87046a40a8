using RedisClone.Lua.Running;

namespace RedisClone.Lua.Compiling;

/// <summary>
/// Parses assignments, local declarations and named functions. A call statement is parsed as the beginning of an
/// assignment.
/// </summary>
internal sealed partial class Parser
{
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
            else Assignment(new AssignmentTarget(target, next), variables + 1);
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

    /// <summary>
    /// Copies a local that an index expression uses before the same statement assigns to it. In <c>a[i], i = ...</c>
    /// the index must keep the old value.
    /// </summary>
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
