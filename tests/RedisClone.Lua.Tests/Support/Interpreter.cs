using System.Text;

namespace RedisClone.Lua.Tests;

/// <summary>Our interpreter as a program sees it when it is run by the <c>lua5.1</c> command: with a print that is kept.</summary>
internal sealed class Interpreter
{
    private readonly List<byte> _output = [];

    public Interpreter(long memoryLimit = 1L << 30)
    {
        State = new LuaState(memoryLimit);
        State.SetField(State.Globals, "print", new LuaHostFunction(Print));
    }

    public LuaState State { get; }

    public string Output => Encoding.Latin1.GetString([.. _output]);

    /// <summary>Runs a program; what it printed, and its error if it failed, as <c>lua5.1</c> would show them.</summary>
    public static string Run(string program, string chunkName = "=stdin")
    {
        var interpreter = new Interpreter();
        string? error = interpreter.TryRun(program, chunkName);
        return interpreter.Output + (error is null ? "" : $"lua: {error}\n");
    }

    /// <summary>Returns the error message.</summary>
    public string? TryRun(string program, string chunkName = "=test")
    {
        LuaFunction? chunk = State.Compile(Encoding.Latin1.GetBytes(program), chunkName, out LuaError error);
        if (chunk is null) return error.Message;
        // As deep as the lua5.1 command calls it.
        var main = new LuaHostFunction((ref LuaCall call) =>
        {
            call.Push(chunk);
            call.Call(0, 0);
            return 0;
        });
        return State.Call(main, []) == LuaOutcome.Returned ? null : State.Error.Message;
    }

    /// <summary>Evaluates expressions; their values as print shows them.</summary>
    public static string Evaluate(string expressions) => Run($"print({expressions})").TrimEnd('\n');

    /// <summary>The message of the error that a program ends with.</summary>
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
