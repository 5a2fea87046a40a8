namespace RedisClone.Lua.Analysis;

/// <summary>
/// Where a value comes from. From <see cref="Keys"/> on, a value is guarded: it may be used only in the ways that the analysis
/// follows, because with it a chunk could change the keys or hide a call.
/// </summary>
internal enum Origin : byte
{
    /// <summary>No path that was followed so far assigns a value.</summary>
    Unreached,
    Nil,

    /// <summary>Any value that is not guarded.</summary>
    Value,

    /// <summary>An element of the table of keys, or nil.</summary>
    Key,

    /// <summary>A string or a number of the source text.</summary>
    Constant,

    /// <summary>A function of the chunk. Its parameters receive what its calls pass, or unknown values if it is used otherwise.</summary>
    Function,

    /// <summary>A function that reads a table and does not keep it.</summary>
    Reader,

    /// <summary>The library of functions on tables.</summary>
    Tables,

    /// <summary>The function <c>unpack</c>.</summary>
    Unpack,

    /// <summary>The function <c>pairs</c> or <c>ipairs</c>.</summary>
    Iterate,

    /// <summary>The table of keys.</summary>
    Keys,

    /// <summary>The iterator that <c>pairs</c> or <c>ipairs</c> returned for the table of keys.</summary>
    KeysIterator,

    /// <summary>A table with the host's functions.</summary>
    Module,

    /// <summary>One of the host's functions whose calls are found.</summary>
    Callee,

    /// <summary>Different values on different paths, of which one is guarded; or no value at all.</summary>
    Mixed,
}

/// <summary>An origin, and the number of a constant or a function.</summary>
internal readonly record struct Source(Origin Origin, int Number = 0)
{
    public bool IsGuarded => Origin >= Origin.Keys;

    public bool IsFunction => Origin == Origin.Function;
}

/// <summary>A variable that several functions use. Its source covers every assignment, in whatever order they run.</summary>
internal sealed class SharedVariable(CallAnalysis analysis)
{
    public Source Source { get; private set; }

    /// <summary>Whether the variable is older than the call that is analysed. An assignment would outlive the call.</summary>
    public bool IsOlder { get; init; }

    /// <summary>Adds what an assignment stores.</summary>
    public void Add(Source assigned)
    {
        Source joined = analysis.Join(Source, assigned);
        if (joined == Source) return;
        Source = joined;
        analysis.IsChanged = true;
    }
}
