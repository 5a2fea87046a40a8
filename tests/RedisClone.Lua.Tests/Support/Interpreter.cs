using System.Text;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Tests;

/// <summary>
/// Runs a program in our interpreter as the <c>lua5.1</c> command does. The output of print is collected.
/// </summary>
internal sealed class Interpreter
{
    private readonly List<byte> _output = [];

    public Interpreter(long memoryLimit = 1L << 30)
    {
        State = new LuaState(memoryLimit);
        State.SetField(State.Globals, "print", new LuaHostFunction(Print));
    }

    /// <summary>The message of a program that exceeded its steps.</summary>
    public static LuaString Killed { get; } = LuaString.From("killed");

    public LuaState State { get; }

    public string Output => Encoding.Latin1.GetString([.. _output]);

    /// <summary>Runs a program. Returns its output and its error, if any, as <c>lua5.1</c> would show them.</summary>
    public static string Run(string program, string chunkName = "=stdin")
    {
        var interpreter = new Interpreter();
        string? error = interpreter.TryRun(program, chunkName);
        return interpreter.Output + (error is null ? "" : $"lua: {error}\n");
    }

    /// <summary>Runs a program. Returns the error message, or null.</summary>
    public string? TryRun(string program, string chunkName = "=test")
    {
        LuaFunction? chunk = State.Compile(Encoding.Latin1.GetBytes(program), chunkName, out LuaError error);
        if (chunk is null) return error.Message;
        // Calls the program at the same depth as the lua5.1 command.
        var main = new LuaHostFunction((ref LuaCall call) =>
        {
            call.Push(chunk);
            call.Call(0, 0);
            return 0;
        });
        return State.Call(main, []) == LuaOutcome.Returned ? null : State.Error.Message;
    }

    /// <summary>Runs a program with little memory and few steps. Returns "killed" if it exceeded the steps.</summary>
    public static string Outcome(string program, int periods = 100, long memory = 64 << 20)
    {
        var interpreter = new Interpreter(memory);
        int left = periods;
        interpreter.State.OnBudget = _ => --left < 0 ? Killed : null;
        string outcome = interpreter.TryRun(program) ?? interpreter.Output.TrimEnd('\n');
        interpreter.State.OnBudget = null;
        Assert.Null(interpreter.TryRun("assert(1 + 1 == 2 and #('x'):rep(100) == 100 and pcall(error) == false)"));
        return outcome;
    }

    /// <summary>Evaluates expressions. Returns their values as print shows them.</summary>
    public static string Evaluate(string expressions) => Run($"print({expressions})").TrimEnd('\n');

    /// <summary>Returns the message of the error that ends a program.</summary>
    public static string ErrorOf(string program) =>
        new Interpreter().TryRun(program) ?? throw new InvalidOperationException("The program did not fail.");

    private int Print(ref LuaCall call)
    {
        LuaValue toString = call.State.Globals[LuaString.From("tostring")];
        for (int i = 1; i <= call.Count; i++)
        {
            if (i > 1) _output.Add((byte)'\t');
            call.Push(toString);
            call.Push(call[i]);
            if (!call.Call(1, 1)) return 0;
            _output.AddRange(call.Pop().AsString!.Span);
        }
        _output.Add((byte)'\n');
        return 0;
    }
}
