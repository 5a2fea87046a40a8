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

/// <summary>An origin, and for a constant its number.</summary>
internal readonly record struct Source(Origin Origin, int Constant = 0)
{
    public bool IsGuarded => Origin >= Origin.Keys;

    /// <summary>What is known about a value that comes from one of two sources.</summary>
    public static Source Join(Source a, Source b)
    {
        if (a == b || b.Origin == Origin.Unreached) return a;
        if (a.Origin == Origin.Unreached) return b;
        if (a.IsGuarded || b.IsGuarded) return new Source(Origin.Mixed);
        bool isKey = a.Origin is Origin.Key or Origin.Nil && b.Origin is Origin.Key or Origin.Nil;
        return new Source(isKey ? Origin.Key : Origin.Value);
    }
}

/// <summary>A variable that closures share. Its source covers every assignment, in whatever order they run.</summary>
internal sealed class SharedVariable
{
    public Source Source { get; private set; }

    /// <summary>Adds what an assignment stores. Returns true if this is new.</summary>
    public bool Add(Source assigned)
    {
        Source joined = Source.Join(Source, assigned);
        if (joined == Source) return false;
        Source = joined;
        return true;
    }
}
