using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Analysis;

/// <summary>What each instruction does to the sources of the values.</summary>
internal sealed partial class FunctionFlow
{
    private void Step(in Instruction i)
    {
        switch (i.Op)
        {
            case >= Op.Equal and <= Op.NotConstantLessEqual:
                Use(i.A);
                if (i.Op is Op.Equal or Op.NotEqual or Op.Less or Op.NotLess or Op.LessEqual or Op.NotLessEqual) Use(i.C);
                Branch(i.B);
                break;
            case Op.Test or Op.TestNot:
                Use(i.A);
                Branch(i.B);
                break;
            case Op.TestSet or Op.TestSetNot:
                TestSet(i);
                break;
            case Op.Jump or Op.JumpBack:
                Reach(i.B);
                break;
            case Op.Tick or Op.Close:
                Next();
                break;
            case Op.ForPrepare or Op.ForLoop:
                NumericLoop(i);
                break;
            case Op.IterateCall:
                Iterate(i);
                Next();
                break;
            case Op.IterateLoop:
                Next();
                Set(i.A + 2, Get(i.A + 3));
                Reach(i.B);
                break;
            case Op.Call:
                Call(i, i.C - 1);
                Next();
                break;
            case Op.TailCall:
                Call(i, -1);
                Next();
                break;
            case Op.Return:
                if (i.B == 0) UseToTop(i.A);
                else UseAll(i.A, i.B - 1);
                break;
            case Op.LoadFalseSkip:
                Set(i.A, Origin.Value);
                Reach(_position + 2);
                break;
            default:
                Move(i);
                Next();
                break;
        }
    }

    private void Branch(int target)
    {
        Reach(target);
        Next();
    }

    private void TestSet(in Instruction i)
    {
        Next();
        Set(i.A, Get(i.C));
        Reach(i.B);
    }

    /// <summary>Instructions that load, store or compute, and continue with the next one.</summary>
    private void Move(in Instruction i)
    {
        switch (i.Op)
        {
            case Op.Move:
                Set(i.A, Get(i.B));
                break;
            case Op.LoadConstant:
                Set(i.A, _analysis.SourceOf(_prototype.Constants[i.B]));
                break;
            case Op.LoadTrue or Op.LoadFalse or Op.NewTable:
                Set(i.A, Origin.Value);
                break;
            case Op.Closure:
                Set(i.A, new Source(Origin.Function, _children[i.B]._number));
                break;
            case Op.LoadNil:
                for (int r = i.A; r <= i.B; r++) Set(r, Origin.Nil);
                break;
            case Op.GetUpvalue:
                _isUnreached |= _upvalues[i.B].Source.Origin == Origin.Unreached;
                Set(i.A, _upvalues[i.B].Source);
                break;
            case Op.SetUpvalue:
                Source assigned = Get(i.A);
                _isRefused |= _upvalues[i.B].IsOlder;
                if (!_isUnreached) _upvalues[i.B].Add(assigned);
                break;
            case Op.GetGlobal:
                Origin global = _analysis.Names.OfGlobal(_prototype.Names[i.B]);
                _isRefused |= global == Origin.Mixed;
                Set(i.A, global);
                break;
            case Op.GetTable:
                Use(i.C);
                GetElement(i, null);
                break;
            case Op.GetField or Op.GetConstant:
                GetElement(i, _prototype.Names[i.C]);
                break;
            case Op.SetTable:
                Use(i.A);
                Use(i.B);
                if (i.C >= 0) Use(i.C);
                break;
            case Op.SetField or Op.SetConstant:
                Use(i.A);
                if (i.C >= 0) Use(i.C);
                break;
            case Op.Self:
                Source subject = Get(i.B);
                Use(subject);
                if (i.C >= 0) Use(i.C);
                Set(i.A + 1, subject);
                Set(i.A, Origin.Value);
                break;
            case Op.SetList:
                Use(i.A);
                if (i.C == 0) UseToTop(i.A + 1);
                else UseAll(i.A + 1, i.C);
                break;
            case Op.Length:
                if (Get(i.B).Origin != Origin.Keys) Use(i.B);
                Set(i.A, Origin.Value);
                break;
            case Op.Concat:
                UseAll(i.B, i.C - i.B + 1);
                Set(i.A, Origin.Value);
                break;
            case Op.Add or Op.Subtract or Op.Multiply or Op.Divide or Op.Modulo or Op.Power:
                Use(i.B);
                Use(i.C);
                Set(i.A, Origin.Value);
                break;
            case Op.AddConstant or Op.SubtractConstant or Op.MultiplyConstant or Op.DivideConstant or Op.ModuloConstant or Op.PowerConstant
                or Op.Negate or Op.Not:
                Use(i.B);
                Set(i.A, Origin.Value);
                break;
            case Op.Vararg when i.B == 0:
                SetOpen(i.A, Origin.Value);
                break;
            case Op.Vararg:
                for (int r = 0; r < i.B - 1; r++) Set(i.A + r, Origin.Value);
                break;
            default:
                // Among others, an assignment to a global name.
                _isRefused = true;
                break;
        }
    }

    /// <summary>R[A] := R[B][key]. Whatever the key is, an element of the table of keys is a key or nil.</summary>
    private void GetElement(in Instruction i, LuaString? field)
    {
        Source table = Get(i.B);
        switch (table.Origin)
        {
            case Origin.Keys:
                Set(i.A, Origin.Key);
                break;
            case Origin.Module when field is not null:
                Set(i.A, _analysis.Names.OfField(field));
                break;
            case Origin.Tables when field is not null:
                Set(i.A, AnalysisNames.OfTables(field));
                break;
            default:
                Use(table);
                Set(i.A, Origin.Value);
                break;
        }
    }

    private void NumericLoop(in Instruction i)
    {
        UseAll(i.A, 3);
        for (int r = 0; r < 3; r++) Set(i.A + r, Origin.Value);
        if (i.Op == Op.ForLoop)
        {
            Next();
            Set(i.A + 3, Origin.Value);
        }
        Reach(i.B);
    }

    private void Iterate(in Instruction i)
    {
        bool overKeys = Get(i.A).Origin == Origin.KeysIterator && Get(i.A + 1).Origin == Origin.Keys;
        if (!overKeys) UseAll(i.A, 2);
        Use(i.A + 2);
        Forget(i.A + 3);
        for (int r = 0; r < i.C; r++) Set(i.A + 3 + r, overKeys && r == 1 ? Origin.Key : Origin.Value);
    }

    /// <summary>A call with a number of results, or with any number if it is negative.</summary>
    private void Call(in Instruction i, int results)
    {
        Source callee = Get(i.A);
        bool withKeys = i.B == 2 && Get(i.A + 1).Origin == Origin.Keys;
        if (callee.Origin == Origin.Iterate && withKeys && results is >= 0 and <= 3)
        {
            Forget(i.A);
            ReadOnlySpan<Origin> loop = [Origin.KeysIterator, Origin.Keys, Origin.Value];
            for (int r = 0; r < results; r++) Set(i.A + r, loop[r]);
            return;
        }
        Origin result = Origin.Value;
        bool firstIsKeys = i.B >= 2 && Get(i.A + 1).Origin == Origin.Keys;
        if (callee.Origin is Origin.Unpack or Origin.Reader && firstIsKeys)
        {
            if (callee.Origin == Origin.Unpack) result = Origin.Key;
            UseAll(i.A + 2, i.B - 2);
        }
        else if (callee.IsFunction)
        {
            CallFunction(i, _analysis.FlowOf(callee));
        }
        else
        {
            if (callee.Origin != Origin.Callee) Use(callee);
            if (i.B == 0) UseToTop(i.A + 1);
            else UseAll(i.A + 1, i.B - 1);
        }
        if (_isRefused) return;
        if (results < 0)
        {
            SetOpen(i.A, result);
            return;
        }
        Forget(i.A);
        for (int r = 0; r < results; r++) Set(i.A + r, result);
    }

    /// <summary>Passes arguments to a function of the chunk. Those without a parameter are used as others.</summary>
    private void CallFunction(in Instruction i, FunctionFlow function)
    {
        int count = i.B - 1;
        Origin rest = Origin.Nil;
        if (i.B == 0 && !TryOpen(i.A + 1, out count, out rest)) return;
        int passed = Math.Min(count, function._parameters.Length);
        var arguments = new Source[passed];
        for (int a = 0; a < passed; a++) arguments[a] = Get(i.A + 1 + a);
        UseAll(i.A + 1 + passed, count - passed);
        if (!_isRefused && !_isUnreached) function.Receive(arguments, new Source(rest));
    }

    /// <summary>The description of a call of the host's function. Its arguments have been checked.</summary>
    private CallSite SiteOf(in Instruction i)
    {
        int count = i.B - 1;
        ArgumentOrigin? rest = null;
        if (i.B == 0)
        {
            if (!TryOpen(i.A + 1, out count, out Origin open)) return new CallSite([], ArgumentOrigin.Unknown);
            rest = open == Origin.Key ? ArgumentOrigin.Key : ArgumentOrigin.Unknown;
        }
        var arguments = new CallArgument[count];
        for (int a = 0; a < count; a++) arguments[a] = _analysis.ArgumentOf(Get(i.A + 1 + a));
        return new CallSite(arguments, rest);
    }
}
