using System.Collections.Concurrent;
using System.Text;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// The function libraries by name, and all their functions. They change only while all shards are held; any thread may look up a
/// function.
/// </summary>
internal sealed class LibrarySet
{
    private readonly OrderedDictionary<string, FunctionLibrary> _libraries = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, LibraryFunction> _functions = new(StringComparer.OrdinalIgnoreCase);
    private readonly ConcurrentDictionary<string, LibraryFunction>.AlternateLookup<ReadOnlySpan<char>> _byName;

    private readonly LuaState _state;
    private readonly Action _changed;

    /// <summary>Creates an empty set.</summary>
    /// <param name="state">The interpreter of the functions.</param>
    /// <param name="changed">Called after a change.</param>
    public LibrarySet(LuaState state, Action changed)
    {
        _state = state;
        _changed = changed;
        _byName = _functions.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    public IReadOnlyCollection<FunctionLibrary> All => _libraries.Values;

    /// <summary>The bytes of the libraries' sources.</summary>
    public long SourceBytes { get; private set; }

    /// <summary>The bytes that the functions take in the interpreter.</summary>
    public long LuaBytes { get; private set; }

    /// <summary>The bytes that the libraries take, when they are loaded.</summary>
    public long Bytes => SourceBytes + LuaBytes + (long)FunctionCount * Limits.BytesPerRoutine;

    /// <summary>A number that changes with every removal of a library.</summary>
    public int Removals { get; private set; }

    /// <summary>A number that changes with every change.</summary>
    public long Version { get; private set; }

    public int FunctionCount => _functions.Count;

    /// <summary>The function of a name, in any letter case.</summary>
    public LibraryFunction? Find(ReadOnlySpan<byte> name)
    {
        if (name.Length > Limits.FunctionName) return null;
        Span<char> characters = stackalloc char[Limits.FunctionName];
        int length = Encoding.Latin1.GetChars(name, characters);
        return _byName.TryGetValue(characters[..length], out LibraryFunction? function) ? function : null;
    }

    /// <summary>The number of functions and libraries whose memory was left to the garbage collector.</summary>
    public long LazilyFreed { get; private set; }

    public FunctionLibrary? FindLibrary(string name) => _libraries.GetValueOrDefault(name);

    /// <summary>
    /// Adds all libraries or none. With <paramref name="replace"/>, they replace libraries of the same names. Returns null, or
    /// the problem.
    /// </summary>
    public string? Add(IReadOnlyCollection<FunctionLibrary> added, bool replace)
    {
        var replaced = new List<FunctionLibrary>();
        foreach (FunctionLibrary library in added)
        {
            if (FindLibrary(library.Name) is not { } old) continue;
            if (!replace) return $"ERR Library {library.Name} already exists";
            replaced.Add(old);
        }
        foreach (FunctionLibrary library in added)
            foreach (LibraryFunction function in library.Functions)
                if (_functions.TryGetValue(function.Name, out LibraryFunction? other) && !replaced.Exists(old => old.Functions.Contains(other)))
                    return $"ERR Function {function.Name} already exists";
        foreach (FunctionLibrary old in replaced) Unlink(old);
        try
        {
            foreach (FunctionLibrary library in added) Link(library);
        }
        catch
        {
            foreach (FunctionLibrary library in added)
                if (FindLibrary(library.Name) == library) Drop(library);
            foreach (FunctionLibrary old in replaced) Link(old);
            throw;
        }
        if (replaced.Count > 0) _state.Recount();
        _changed();
        return null;
    }

    public void Remove(FunctionLibrary library)
    {
        Drop(library);
        _state.Recount();
        _changed();
    }

    /// <summary>
    /// Removes all libraries and leaves their memory to the garbage collector, as Redis leaves it to a background thread.
    /// </summary>
    public void ClearLater()
    {
        LazilyFreed += 1 + FunctionCount;
        Clear();
    }

    public void Clear()
    {
        // Removing a single library takes time in proportion to all of them.
        foreach (FunctionLibrary library in _libraries.Values) Unlink(library);
        _libraries.Clear();
        _state.Recount();
        _changed();
    }

    private void Drop(FunctionLibrary library)
    {
        Unlink(library);
        _libraries.Remove(library.Name);
    }

    /// <summary>
    /// Removes the functions. Their variables may have grown since the library was loaded, so the caller counts the memory again.
    /// </summary>
    private void Unlink(FunctionLibrary library)
    {
        Removals++;
        Version++;
        SourceBytes -= library.Source.Length;
        LuaBytes -= library.Bytes;
        _state.Settle(_state.AllocatedBytes - library.Bytes);
        foreach (LibraryFunction function in library.Functions)
        {
            _functions.TryRemove(function.Name, out _);
            _state.Forget(function.Body);
        }
    }

    private void Link(FunctionLibrary library)
    {
        Version++;
        _libraries[library.Name] = library;
        SourceBytes += library.Source.Length;
        LuaBytes += library.Bytes;
        foreach (LibraryFunction function in library.Functions)
        {
            _functions[function.Name] = function;
            _state.TrySet(_state.Registry, function.Body, new LuaValue(true));
        }
    }
}
