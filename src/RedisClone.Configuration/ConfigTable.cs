namespace RedisClone.Configuration;

internal sealed record ParameterGroup(string Title, IReadOnlyList<Parameter> Parameters);

/// <summary>
/// The table of all parameters (each ConfigTable.*.cs file has one group), and the operations of CONFIG on one
/// <see cref="ServerConfig"/>: GET, SET (atomic over all its parameters) and REWRITE.
/// </summary>
internal sealed partial class ConfigTable(ServerConfig config)
{
    // One change at a time. A change may wait for an event loop, so an event loop must not wait for this lock.
    private readonly Lock _changing = new();

    // The values. It is held for moments only.
    private readonly Lock _values = new();
    private readonly Dictionary<Parameter, List<Func<string?>>> _applies = [];

    public static IReadOnlyList<ParameterGroup> Groups { get; } =
    [
        new("Network", Network()),
        new("TLS", Tls()),
        new("General", General()),
        new("Security", Security()),
        new("Memory and expiry", Memory()),
        new("Clients", Clients()),
        new("Snapshots", Snapshots()),
        new("Append-only journal", Journal()),
        new("Replication", Replication()),
        new("Cluster", Cluster()),
        new("Encodings of small values", Encodings()),
        new("Diagnostics", Diagnostics()),
        new("Threads and processors", Threads()),
    ];

    public static IReadOnlyList<Parameter> Parameters { get; } = [.. Groups.SelectMany(group => group.Parameters)];

    private static readonly Dictionary<string, Parameter> ByName = IndexByName();

    /// <summary>
    /// Returns the `user` lines for CONFIG REWRITE, without the first word and with one char per byte. If not set, the lines in the file are kept.
    /// </summary>
    public Func<IEnumerable<string>>? DescribeUsers { get; set; }

    /// <summary>The value of a parameter as CONFIG GET shows it.</summary>
    public static string TextOf(string name, ServerConfig config) => ByName[name].GetText(config);

    public static Parameter? Find(string name) => ByName.GetValueOrDefault(name);

    /// <summary>
    /// Whether logs, MONITOR and the slow log must hide the value of this parameter. An unknown name may be a misspelled one.
    /// </summary>
    public static bool IsSecret(string name) => Find(name)?.Has(ParameterFlags.Secret) ?? true;

    /// <summary>
    /// Registers a callback for changes of a parameter by CONFIG SET. It is called after all values of the call are set. It
    /// returns null, or the reason why the new values cannot be applied. In that case, all values are restored and the
    /// callbacks are called again.
    /// </summary>
    public void OnChanged(string name, Func<string?> apply)
    {
        Parameter parameter = Find(name) ?? throw new ArgumentException($"no parameter '{name}'", nameof(name));
        lock (_changing)
        {
            if (_applies.TryGetValue(parameter, out List<Func<string?>>? others)) others.Add(apply);
            else _applies.Add(parameter, [apply]);
        }
    }

    /// <summary>
    /// CONFIG GET: names and values, each name once. A name without wildcards is returned in the client's spelling.
    /// </summary>
    public List<KeyValuePair<string, string>> Get(params ReadOnlySpan<string> patterns)
    {
        var answer = new List<KeyValuePair<string, string>>();
        var seen = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        lock (_values)
        {
            foreach (string pattern in patterns)
            {
                if (!ConfigText.HasWildcard(pattern))
                {
                    if (Find(pattern) is { } parameter && seen.Add(pattern)) answer.Add(new(pattern, parameter.GetText(config)));
                    continue;
                }
                foreach ((string name, Parameter parameter) in ByName)
                    if (!parameter.Has(ParameterFlags.Hidden) && ConfigText.MatchesGlob(pattern, name, ignoreCase: true) && seen.Add(name))
                        answer.Add(new(name, parameter.GetText(config)));
            }
        }
        return answer;
    }

    /// <summary>CONFIG SET: sets all values and returns null, or sets none and returns the error reply.</summary>
    public string? Set(IReadOnlyList<KeyValuePair<string, string>> values, bool isLocalClient = true, string? whileLoading = null)
    {
        lock (_changing)
        {
            if (Refusal(values, isLocalClient, whileLoading) is { } refusal) return refusal;

            var restores = new List<Action>(values.Count);
            var applies = new List<(Func<string?> Apply, string Name)>();
            try
            {
                if ((SetValues(values, restores, applies) ?? Apply(applies)) is not { } error) return null;
                Restore(restores, applies);
                return error;
            }
            catch
            {
                Restore(restores, applies);
                throw;
            }
        }
    }

    private string? SetValues(IReadOnlyList<KeyValuePair<string, string>> values, List<Action> restores, List<(Func<string?> Apply, string Name)> applies)
    {
        foreach ((string name, string value) in values)
        {
            Parameter parameter = ByName[name];
            string before = parameter.GetText(config);
            restores.Add(parameter.Remember(config));
            string? error;
            lock (_values) error = parameter.Set(config, SetWords(parameter, value)) ?? NotSupported(parameter, config);
            if (error is not null)
            {
                // Nothing is applied yet.
                applies.Clear();
                return Failure(name.ToLowerInvariant(), error);
            }
            bool isChange = parameter.Has(ParameterFlags.Volatile) || parameter.GetText(config) != before;
            if (!isChange || !_applies.TryGetValue(parameter, out List<Func<string?>>? all)) continue;
            foreach (Func<string?> apply in all)
                if (!applies.Exists(known => known.Apply == apply)) applies.Add((apply, name.ToLowerInvariant()));
        }
        return null;
    }

    private static string? Apply(List<(Func<string?> Apply, string Name)> applies)
    {
        foreach ((Func<string?> apply, string name) in applies)
            if (apply() is { } error) return Failure(name, error);
        return null;
    }

    private void Restore(List<Action> restores, List<(Func<string?> Apply, string Name)> applies)
    {
        lock (_values)
            for (int i = restores.Count - 1; i >= 0; i--) restores[i]();
        foreach ((Func<string?> again, string _) in applies) again();
    }

    /// <summary>
    /// CONFIG REWRITE. If <paramref name="everything"/> is true, parameters with default values are written too.
    /// </summary>
    public string? Rewrite(bool everything = false)
    {
        if (config.ConfigFile is not { } path) return "ERR The server is running without a config file";
        lock (_changing)
        {
            return ConfigRewriter.Rewrite(path, this, config, everything) is { } error ? $"ERR Rewriting config file: {error}" : null;
        }
    }

    /// <summary>Returns the error if the parameter is not supported and does not have its default value, or null.</summary>
    internal static string? NotSupported(Parameter parameter, ServerConfig config) =>
        !parameter.Has(ParameterFlags.Unsupported) || parameter.IsDefault(config)
            ? null
            : $"'{parameter.Name}' is not supported by this server, only its default '{parameter.DefaultText}' is accepted";

    /// <summary>The checks before any value is set. If the result is null, all names are known.</summary>
    private string? Refusal(IReadOnlyList<KeyValuePair<string, string>> values, bool isLocalClient, string? whileLoading)
    {
        var seen = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach ((string name, string _) in values)
        {
            if (Find(name) is not { } parameter) return $"ERR Unknown option or number of arguments for CONFIG SET - '{name}'";
            if (parameter.Has(ParameterFlags.Immutable)) return Failure(name, "can't set immutable config");
            if (parameter.Has(ParameterFlags.Protected) && !ServerConfig.Allows(config.EnableProtectedConfigs, isLocalClient))
                return Failure(name, "can't set protected config");
            if (parameter.Has(ParameterFlags.DenyLoading) && whileLoading is not null) return whileLoading;
            if (!seen.Add(name)) return Failure(name, "duplicate parameter");
        }
        return null;
    }

    private static string Failure(string name, string reason) =>
        $"ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}";

    /// <summary>A value of CONFIG SET is split at each space without regard to quotes, unlike a line of a file.</summary>
    private static string[] SetWords(Parameter parameter, string value) =>
        !parameter.TakesWords ? [value] : value.Length == 0 ? [] : value.Split(' ');

    private static Dictionary<string, Parameter> IndexByName()
    {
        var index = new Dictionary<string, Parameter>(StringComparer.OrdinalIgnoreCase);
        foreach (Parameter parameter in Parameters)
        {
            index.Add(parameter.Name, parameter);
            if (parameter.Alias is { } alias) index.Add(alias, parameter);
        }
        return index;
    }
}
