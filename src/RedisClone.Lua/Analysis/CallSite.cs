using RedisClone.Lua.Values;

namespace RedisClone.Lua.Analysis;

/// <summary>What is known about an argument before a chunk runs.</summary>
public enum ArgumentOrigin
{
    /// <summary>Nothing.</summary>
    Unknown,

    /// <summary>An element of the table of keys, or nil.</summary>
    Key,

    /// <summary>A string or a number of the source text.</summary>
    Constant,
}

/// <summary>An argument of a call.</summary>
/// <param name="Kind">What is known about it.</param>
/// <param name="Constant">The value of a constant.</param>
public readonly record struct CallArgument(ArgumentOrigin Kind, LuaValue Constant);

/// <summary>A place in a chunk that calls the host's function.</summary>
/// <param name="Arguments">The arguments that stand in the call.</param>
/// <param name="Rest">
/// What is known about each further argument, if the last expression of the call has any number of results; otherwise null.
/// </param>
public sealed record CallSite(CallArgument[] Arguments, ArgumentOrigin? Rest);
