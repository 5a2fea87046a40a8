namespace RedisClone.Engine.Scripting;

/// <summary>
/// The interpreters for scripts that run beside others, about one for each processor. A thread usually gets the one that it used
/// last. A thread that finds none free makes one.
/// </summary>
internal sealed class InterpreterPool(ScriptEngine engine)
{
    private readonly Interpreter?[] _free = new Interpreter?[Environment.ProcessorCount];

    /// <summary>The bytes of the interpreters that are not in use.</summary>
    public long AllocatedBytes
    {
        get
        {
            long bytes = 0;
            foreach (Interpreter? interpreter in _free) bytes += interpreter?.State.AllocatedBytes ?? 0;
            return bytes;
        }
    }

    /// <summary>Returns an interpreter that no other thread uses until <see cref="Return"/>.</summary>
    public Interpreter Take()
    {
        for (int i = 0; i < _free.Length; i++)
            if (Interlocked.Exchange(ref _free[Slot(i)], null) is { } interpreter) return interpreter;
        var made = new Interpreter(engine.Server, engine, Limits.OwnScriptMemory, engine.Main);
        made.Seal();
        return made;
    }

    /// <summary>Keeps an interpreter for the next script. One that finds no place is left to the garbage collector.</summary>
    public void Return(Interpreter interpreter)
    {
        for (int i = 0; i < _free.Length; i++)
            if (Interlocked.CompareExchange(ref _free[Slot(i)], interpreter, null) is null) return;
    }

    private int Slot(int i) => (Environment.CurrentManagedThreadId + i) % _free.Length;
}
