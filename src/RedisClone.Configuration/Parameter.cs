using System.Runtime.CompilerServices;

namespace RedisClone.Configuration;

[Flags]
internal enum ParameterFlags
{
    None = 0,

    /// <summary>Fixed at start-up: CONFIG SET refuses it.</summary>
    Immutable = 1 << 0,

    /// <summary>CONFIG GET shows it only by its full name.</summary>
    Hidden = 1 << 1,

    /// <summary>CONFIG SET requires enable-protected-configs.</summary>
    Protected = 1 << 2,

    /// <summary>CONFIG SET refuses it while data is loading.</summary>
    DenyLoading = 1 << 3,

    /// <summary>Logs, MONITOR and the slow log must hide the value.</summary>
    Secret = 1 << 4,

    /// <summary>
    /// A value is applied even if it is unchanged, because it may, for example, name a file that is read again.
    /// </summary>
    Volatile = 1 << 5,

    /// <summary>Accepted and stored, but it has no effect in this server.</summary>
    TunesNothing = 1 << 6,

    /// <summary>Controls a feature that this server does not have: only the default is accepted.</summary>
    Unsupported = 1 << 7,
}

/// <summary>Returns a reference to the field that stores a parameter's value.</summary>
internal delegate ref T Field<T>(ServerConfig config);

/// <summary>A line for CONFIG REWRITE, without its end. A line that is not forced only replaces an existing line.</summary>
internal readonly record struct RewriteLine(string Text, bool Forced);

/// <summary>
/// One row of the table: the name, description and rules of a parameter. The values are in the <see cref="ServerConfig"/> that
/// methods take. The argument words contains the words of a line after the name. Methods return null on success, or Redis's
/// error text.
/// </summary>
internal abstract class Parameter(string name, string doc, string? alias, ParameterFlags flags)
{
    public string Name { get; } = name;

    public string? Alias { get; } = alias;

    /// <summary>The description in the reference, one sentence.</summary>
    public string Doc { get; } = doc;

    public ParameterFlags Flags { get; } = flags;

    /// <summary>The accepted values, for the reference.</summary>
    public abstract string Values { get; }

    /// <summary>
    /// Whether the value has several words. If not, a line must have exactly one word, and CONFIG SET does not split its value.
    /// </summary>
    public virtual bool TakesWords => false;

    public string DefaultText => GetText(ServerConfig.Defaults);

    public bool Has(ParameterFlags flag) => (Flags & flag) != 0;

    public bool IsDefault(ServerConfig config) => GetText(config) == DefaultText;

    public abstract void Reset(ServerConfig config);

    /// <summary>The value in the format of CONFIG GET and CONFIG SET.</summary>
    public abstract string GetText(ServerConfig config);

    /// <summary>Sets the value. After an error, the value is unchanged.</summary>
    public abstract string? Set(ServerConfig config, ReadOnlySpan<string> words);

    /// <summary>Handles a further line for the parameter in the same configuration. By default, the last line wins.</summary>
    public virtual string? Add(ServerConfig config, ReadOnlySpan<string> words) => Set(config, words);

    /// <summary>Stores the current value. The returned action restores it.</summary>
    public abstract Action Remember(ServerConfig config);

    /// <summary>
    /// The lines that restore this value at a later start. If there are none, CONFIG REWRITE removes existing lines.
    /// </summary>
    public virtual IEnumerable<RewriteLine> RewriteLines(ServerConfig config) =>
        [new RewriteLine($"{Name} {RewriteText(config)}", !IsDefault(config))];

    protected virtual string RewriteText(ServerConfig config) => GetText(config);
}

/// <summary>A parameter with a typed value in a field of <see cref="ServerConfig"/>.</summary>
internal abstract class Parameter<T>(string name, T defaultValue, Field<T> field, string doc, string? alias, ParameterFlags flags)
    : Parameter(name, doc, alias, flags)
{
    protected T Default { get; } = defaultValue;

    /// <summary>Parses a value. <paramref name="config"/> is for values that depend on the current configuration.</summary>
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

/// <summary>Storage for the values of parameters that nothing reads.</summary>
internal static class Unread
{
    public static Field<T> Field<T>(string name) => config => ref Cell<T>(config, name).Value!;

    // The constructor of ServerConfig resets all parameters and thus creates all cells. Later calls only read the dictionary.
    private static StrongBox<T> Cell<T>(ServerConfig config, string name)
    {
        if (config.UnreadValues.TryGetValue(name, out object? cell)) return (StrongBox<T>)cell;
        var made = new StrongBox<T>();
        config.UnreadValues.Add(name, made);
        return made;
    }
}
