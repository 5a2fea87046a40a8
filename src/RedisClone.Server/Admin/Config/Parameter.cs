using System.Runtime.CompilerServices;

namespace RedisClone.Server.Admin;

[Flags]
internal enum ParameterFlags
{
    None = 0,

    /// <summary>Decided at start-up; CONFIG SET refuses it.</summary>
    Immutable = 1 << 0,

    /// <summary>CONFIG GET shows it only when asked by its full name.</summary>
    Hidden = 1 << 1,

    /// <summary>CONFIG SET needs enable-protected-configs.</summary>
    Protected = 1 << 2,

    /// <summary>CONFIG SET refuses it while a data set is loading.</summary>
    DenyLoading = 1 << 3,

    /// <summary>A value that logs, MONITOR and the slow log must not show.</summary>
    Secret = 1 << 4,

    /// <summary>Setting the same value again means something (a file is read again), so it is applied.</summary>
    Volatile = 1 << 5,

    /// <summary>Accepted and remembered; what it tunes in Redis does not exist here.</summary>
    TunesNothing = 1 << 6,

    /// <summary>Promises something that this server does not do: any value but the default is refused.</summary>
    Unsupported = 1 << 7,
}

/// <summary>Where the value of a parameter lives: the field itself, for reading and writing.</summary>
internal delegate ref T Field<T>(ServerConfig config);

/// <summary>A line (without its end) for CONFIG REWRITE; one that is not forced is written only over a line that is there already.</summary>
internal readonly record struct RewriteLine(string Text, bool Forced);

/// <summary>
/// One row of the table: name, meaning and rules of a parameter. It holds no value; values are in the <see cref="ServerConfig"/>
/// that is passed in. Words are what is left of a line behind the name; errors are Redis's reasons, null is success.
/// </summary>
internal abstract class Parameter(string name, string doc, string? alias, ParameterFlags flags)
{
    public string Name { get; } = name;

    public string? Alias { get; } = alias;

    /// <summary>One sentence for the reference.</summary>
    public string Doc { get; } = doc;

    public ParameterFlags Flags { get; } = flags;

    /// <summary>What values it takes, for the reference.</summary>
    public abstract string Values { get; }

    /// <summary>Takes several words. Otherwise a line must have exactly one, and CONFIG SET does not split its value.</summary>
    public virtual bool TakesWords => false;

    public string DefaultText => GetText(ServerConfig.Defaults);

    public bool Has(ParameterFlags flag) => (Flags & flag) != 0;

    public bool IsDefault(ServerConfig config) => GetText(config) == DefaultText;

    public abstract void Reset(ServerConfig config);

    /// <summary>The value as CONFIG GET prints it, and as CONFIG SET takes it.</summary>
    public abstract string GetText(ServerConfig config);

    /// <summary>Sets the value; on error it stays as it was.</summary>
    public abstract string? Set(ServerConfig config, ReadOnlySpan<string> words);

    /// <summary>A further line for the same parameter while one configuration loads: for most, the last line wins.</summary>
    public virtual string? Add(ServerConfig config, ReadOnlySpan<string> words) => Set(config, words);

    /// <summary>Remembers the value; the action puts it back.</summary>
    public abstract Action Remember(ServerConfig config);

    /// <summary>The lines that make a later start come up with this value. None: no line may stay.</summary>
    public virtual IEnumerable<RewriteLine> RewriteLines(ServerConfig config) =>
        [new RewriteLine($"{Name} {RewriteText(config)}", !IsDefault(config))];

    protected virtual string RewriteText(ServerConfig config) => GetText(config);
}

/// <summary>A parameter with a typed value in a field of <see cref="ServerConfig"/>.</summary>
internal abstract class Parameter<T>(string name, T defaultValue, Field<T> field, string doc, string? alias, ParameterFlags flags)
    : Parameter(name, doc, alias, flags)
{
    protected T Default { get; } = defaultValue;

    /// <summary>Reads words as a value; <paramref name="config"/> is there for what depends on the present state.</summary>
    protected abstract string? Parse(ServerConfig config, ReadOnlySpan<string> words, out T value);

    protected abstract string Format(T value);

    public sealed override void Reset(ServerConfig config) => field(config) = Default;

    public override string GetText(ServerConfig config) => Format(field(config));

    public sealed override string? Set(ServerConfig config, ReadOnlySpan<string> words)
    {
        if (Parse(config, words, out T? value) is { } error) return error;
        field(config) = value;
        return null;
    }

    public sealed override Action Remember(ServerConfig config)
    {
        T? value = field(config);
        return () => field(config) = value;
    }

    protected T Value(ServerConfig config) => field(config);
}

/// <summary>Values of parameters that nothing here reads: they have no field, only a place to be remembered.</summary>
internal static class Unread
{
    public static Field<T> Field<T>(string name) => config => ref Cell<T>(config, name).Value!;

    // Every cell is made by the first Reset, in the constructor of ServerConfig: later calls only read the dictionary.
    private static StrongBox<T> Cell<T>(ServerConfig config, string name)
    {
        if (config.UnreadValues.TryGetValue(name, out object? cell)) return (StrongBox<T>)cell;
        var made = new StrongBox<T>();
        config.UnreadValues.Add(name, made);
        return made;
    }
}
