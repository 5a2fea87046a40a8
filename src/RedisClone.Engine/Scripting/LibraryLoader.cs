using System.Diagnostics;
using RedisClone.Engine.Commands;
using RedisClone.Lua.Analysis;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// Loads a library: runs its source once, while the environment of functions contains only the names for registering them.
/// </summary>
internal sealed class LibraryLoader
{
    private const string BadName = "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long";
    private const string NameOption = "name=";

    /// <summary>The amount of work, in bytes, that counts as one step of a script.</summary>
    private const int BytesPerStep = 64;

    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(500);

    /// <summary>
    /// The patience with a library that was loaded before, perhaps by a faster server. It has an end, because a file or a primary may
    /// give a library that never was.
    /// </summary>
    private static readonly TimeSpan LongPatience = TimeSpan.FromSeconds(10);

    private readonly CommandTable _commands;
    private readonly LuaState _state;
    private readonly ReplyFields _fields;
    private readonly FunctionEnvironment _environment;
    private FunctionLibrary? _loading;
    private long _started;
    private bool _patient;

    /// <param name="commands">The commands that functions may call.</param>
    /// <param name="interpreter">
    /// The interpreter. The loader adds its function to the table `redis` for libraries that are being loaded.
    /// </param>
    public LibraryLoader(CommandTable commands, Interpreter interpreter)
    {
        _commands = commands;
        _state = interpreter.State;
        _fields = interpreter.Fields;
        _environment = interpreter.Functions;
        _state.SetField(interpreter.Library.ForLoading, "register_function", new LuaHostFunction(Register));
    }

    public bool IsLoading => _loading is not null;

    /// <summary>Compiles and runs a library's source. Returns null, with the error, if it cannot be loaded.</summary>
    /// <param name="source">The source as it was sent.</param>
    /// <param name="patient">Whether it may take long, because it was loaded successfully before.</param>
    /// <param name="others">The libraries that it will join.</param>
    /// <param name="replace">Whether it may replace one of them.</param>
    /// <param name="error">The error, or an empty string.</param>
    public FunctionLibrary? Load(ReadOnlySpan<byte> source, bool patient, LibrarySet others, bool replace, out string error)
    {
        if (!TryReadHeader(source, out string name, out int header, out error)) return null;
        if (!replace && others.FindLibrary(name) is not null)
        {
            error = $"ERR Library '{name}' already exists";
            return null;
        }
        long allocated = _state.AllocatedBytes;
        LuaFunction? body = _state.Compile(source[header..], "@user_function", out LuaError failure, _environment.Table);
        if (body is null)
        {
            error = $"ERR Error compiling function: {failure.Message}";
            return null;
        }
        var library = new FunctionLibrary(name, source.ToArray());
        LuaOutcome outcome = Run(body, library, patient);
        if (outcome != LuaOutcome.Returned) error = $"ERR Error registering functions: {ErrorText(_state.Error)}";
        else if (library.Functions.Count == 0) error = "ERR No functions registered";
        _state.Reset();
        // Values of the library that its registered functions do not refer to are unreachable now, so they do not count.
        library.Bytes = _environment.SizeOf(library.Functions.Select(static function => function.Body));
        _state.Settle(allocated + (error.Length == 0 ? library.Bytes : 0));
        if (error.Length > 0) return null;
        Prove(library);
        return library;
    }

    private void Prove(FunctionLibrary library)
    {
        var group = new FunctionGroup(library.Functions.Select(static function => function.Body));
        foreach (LibraryFunction function in library.Functions)
            if (KeyProof.Holds(_commands, group, function.Body)) function.KeepToKeys();
    }

    /// <summary>Runs a library's source. Functions can be registered only during this call.</summary>
    private LuaOutcome Run(LuaFunction body, FunctionLibrary library, bool patient)
    {
        _loading = library;
        _patient = patient;
        _started = Stopwatch.GetTimestamp();
        _environment.IsLoading = true;
        try
        {
            return _state.Call(body, []);
        }
        finally
        {
            _environment.IsLoading = false;
            _loading = null;
        }
    }

    /// <summary>
    /// Called periodically while a library loads. Returns the error that ends the loading, if it takes too long.
    /// </summary>
    public LuaString? Interrupt() =>
        Stopwatch.GetElapsedTime(_started) < (_patient ? LongPatience : Patience) ? null : LuaString.From("FUNCTION LOAD timeout");

    private static bool TryReadHeader(ReadOnlySpan<byte> source, out string name, out int length, out string error)
    {
        name = "";
        length = 0;
        error = "";
        if (!source.StartsWith("#!"u8)) error = "ERR Missing library metadata";
        else if (Shebang.Words(source, out length) is not { Length: > 0 } words) error = "ERR Invalid library metadata";
        else error = ReadWords(words, out name);
        return error.Length == 0;
    }

    private static string ReadWords(string[] words, out string name)
    {
        string? given = null;
        name = "";
        foreach (string word in words.AsSpan(1))
        {
            if (!word.StartsWith(NameOption, StringComparison.OrdinalIgnoreCase)) return $"ERR Invalid metadata value given: {word}";
            if (given is not null) return "ERR Invalid metadata value, name argument was given multiple times";
            given = word[NameOption.Length..];
        }
        if (given is null) return "ERR Library name was not given";
        if (!IsName(given)) return BadName;
        string engine = words[0]["#!".Length..];
        if (!engine.Equals("lua", StringComparison.OrdinalIgnoreCase)) return $"ERR Engine '{engine}' not found";
        name = given;
        return "";
    }

    private static bool IsName(string name)
    {
        foreach (char c in name)
            if (!char.IsAsciiLetterOrDigit(c) && c != '_') return false;
        return name.Length is > 0 and <= Limits.FunctionName;
    }

    private string ErrorText(in LuaError error)
    {
        if (error.Value.AsTable is { } table) return table[_fields.Err].AsString is { } text ? Interpreter.Shown(text) : "ERR";
        return "ERR " + Interpreter.Shown(_state.Describe(error.Value));
    }

    // ---- redis.register_function

    private int Register(ref LuaCall call)
    {
        if (_loading is null) return Fail(ref call, "redis.register_function can only be called on FUNCTION LOAD command");
        if (call.Count is < 1 or > 2) return Fail(ref call, "wrong number of arguments to redis.register_function");
        var read = new Registration();
        string? problem = call.Count == 1 ? ReadNamed(call[1], ref read) : ReadPositional(call[1], call[2], ref read);
        if (problem is not null) return Fail(ref call, problem);
        if (!IsName(read.Name!)) return Fail(ref call, BadName["ERR ".Length..]);
        if (_loading.Functions.Exists(f => f.Name == read.Name)) return Fail(ref call, "Function already exists in the library");
        _loading.Functions.Add(new LibraryFunction(read.Name!, read.Description, read.Callback!, read.Flags));
        return 0;
    }

    private string? ReadPositional(LuaValue name, LuaValue callback, ref Registration read)
    {
        if (Text(name) is not { } text) return "first argument to redis.register_function must be a string";
        read.Name = text;
        read.Callback = callback.AsFunction;
        return read.Callback is null ? "second argument to redis.register_function must be a function" : null;
    }

    private string? ReadNamed(LuaValue arguments, ref Registration read)
    {
        if (arguments.AsTable is not { } table)
            return "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).";
        for (int at = -1; table.Advance(ref at, out LuaValue key, out LuaValue value);)
        {
            if (Text(key) is not { } name) return "named argument key given to redis.register_function is not a string";
            if (ReadArgument(name.ToLowerInvariant(), value, ref read) is { } problem) return problem;
        }
        if (read.Name is null) return "redis.register_function must get a function name argument";
        return read.Callback is null ? "redis.register_function must get a callback argument" : null;
    }

    private string? ReadArgument(string name, LuaValue value, ref Registration read)
    {
        switch (name)
        {
            case "function_name":
                read.Name = Text(value);
                return read.Name is null ? "function_name argument given to redis.register_function must be a string" : null;
            case "description":
                read.Description = Text(value);
                return read.Description is null ? "description argument given to redis.register_function must be a string" : null;
            case "callback":
                read.Callback = value.AsFunction;
                return read.Callback is null ? "callback argument given to redis.register_function must be a function" : null;
            case "flags" when value.AsTable is not { } list:
                return "flags argument to redis.register_function must be a table representing function flags";
            case "flags":
                return ReadFlags(value.AsTable!, ref read) ? null : "unknown flag given";
            default:
                return "unknown argument given to redis.register_function";
        }
    }

    private bool ReadFlags(LuaTable list, ref Registration read)
    {
        for (int i = 1; !list[i].IsNil; i++)
        {
            if (Text(list[i]) is not { } name || ScriptFlagNames.Find(name, StringComparison.OrdinalIgnoreCase) is not { } flag) return false;
            read.Flags |= flag;
        }
        return true;
    }

    /// <summary>Returns an argument as text, or null. Each text counts as a step, and its copy counts as work.</summary>
    private string? Text(LuaValue value)
    {
        if (value.Type is not (LuaType.String or LuaType.Number)) return null;
        LuaString text = _state.Describe(value);
        _state.CountWork(BytesPerStep + 2L * text.Length);
        return text.ToString();
    }

    private int Fail(ref LuaCall call, string problem)
    {
        LuaTable? table = _state.TryNewTable(0, 1);
        if (table is null || !_state.TrySet(table, _fields.Err, LuaString.From("ERR " + problem))) return call.Error("not enough memory");
        return call.Raise(table);
    }

    private struct Registration
    {
        public string? Name, Description;
        public LuaFunction? Callback;
        public ScriptFlags Flags;
    }
}
