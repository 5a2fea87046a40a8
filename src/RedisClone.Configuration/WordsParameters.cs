using System.Globalization;

namespace RedisClone.Configuration;

// The parameters whose values have several words, each with its own syntax.

/// <summary>
/// save: pairs of seconds and changes. The first line of a configuration replaces the defaults; further lines add to it.
/// </summary>
internal sealed class SaveParameter(string name, SavePoint[] defaultValue, Field<SavePoint[]> field, string doc)
    : Parameter<SavePoint[]>(name, defaultValue, field, doc, null, ParameterFlags.None)
{
    public override bool TakesWords => true;

    public override string Values => "pairs of seconds and changes, or \"\" for none";

    public override string? Add(ServerConfig config, ReadOnlySpan<string> words)
    {
        SavePoint[] before = Value(config);
        if (Set(config, words) is { } error) return error;
        if (Value(config).Length > 0) Set(config, [.. Words(before), .. words]);
        return null;
    }

    public override IEnumerable<RewriteLine> RewriteLines(ServerConfig config)
    {
        SavePoint[] points = Value(config);
        return points.Length == 0
            ? [new RewriteLine($"{Name} \"\"", Forced: true)]
            : points.Select(point => new RewriteLine(FormattableString.Invariant($"{Name} {point.Seconds} {point.Changes}"), Forced: true));
    }

    protected override string Format(SavePoint[] value) => string.Join(' ', Words(value));

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out SavePoint[] value)
    {
        value = [];
        if (words is [] or [""]) return null;
        if (words.Length % 2 != 0) return "Invalid save parameters";
        var points = new SavePoint[words.Length / 2];
        for (int i = 0; i < points.Length; i++)
        {
            if (!ConfigText.TryParseInteger(words[2 * i], out long seconds) || seconds < 1 ||
                !ConfigText.TryParseInteger(words[2 * i + 1], out long changes) || changes is < 0 or > int.MaxValue)
                return "Invalid save parameters";
            points[i] = new SavePoint(seconds, (int)changes);
        }
        value = points;
        return null;
    }

    private static string[] Words(SavePoint[] points) =>
        [.. points.SelectMany(point => new[] { point.Seconds, point.Changes }, (_, number) => number.ToString(CultureInfo.InvariantCulture))];
}

/// <summary>bind: addresses. An address with a leading "-" need not exist on this machine.</summary>
internal sealed class BindParameter(
    string name, string[] defaultValue, Field<string[]> field, string doc, ParameterFlags flags = ParameterFlags.None)
    : Parameter<string[]>(name, defaultValue, field, doc, null, flags)
{
    private const int MaxAddresses = 16;

    public override bool TakesWords => true;

    public override string Values => "up to 16 addresses";

    /// <summary>No line is written for the default, so that the file does not fix the current default.</summary>
    public override IEnumerable<RewriteLine> RewriteLines(ServerConfig config) =>
        IsDefault(config) ? [] : [new RewriteLine($"{Name} {ConfigText.Join(Value(config).DefaultIfEmpty(""))}", Forced: true)];

    protected override string Format(string[] value) => string.Join(' ', value);

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out string[] value)
    {
        value = words is [""] ? [] : words.ToArray();
        return words.Length > MaxAddresses ? "Too many bind addresses specified." : null;
    }
}

/// <summary>
/// client-output-buffer-limit: class, hard limit, soft limit, seconds. Classes that are not named keep their limits.
/// </summary>
internal sealed class OutputLimitParameter(string name, OutputBufferLimit[] defaultValue, Field<OutputBufferLimit[]> field, string doc)
    : Parameter<OutputBufferLimit[]>(name, defaultValue, field, doc, null, ParameterFlags.None)
{
    public override bool TakesWords => true;

    public override string Values => "class (normal, replica, pubsub), hard limit, soft limit, soft seconds";

    public override IEnumerable<RewriteLine> RewriteLines(ServerConfig config) =>
        Value(config).Select((limit, i) => new RewriteLine(FormattableString.Invariant(
            $"{Name} {RewriteName((ClientClass)i)} {MemorySize.Format(limit.Hard)} {MemorySize.Format(limit.Soft)} {limit.SoftSeconds}"),
            limit != Default[i]));

    // CONFIG GET prints "slave", as Redis does. Files are written with "replica", and both words are accepted.
    protected override string Format(OutputBufferLimit[] value) => string.Join(' ', value.Select((limit, i) =>
        FormattableString.Invariant($"{GetName((ClientClass)i)} {limit.Hard} {limit.Soft} {limit.SoftSeconds}")));

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out OutputBufferLimit[] value)
    {
        value = [.. Value(config)];
        if (words.Length % 4 != 0) return "Wrong number of arguments in buffer limit configuration.";
        for (; words.Length > 0; words = words[4..])
        {
            if (!TryParseClass(words[0], out ClientClass client))
                return "Invalid client class specified in buffer limit configuration.";
            if (!MemorySize.TryParse(words[1], out long hard) || !MemorySize.TryParse(words[2], out long soft) ||
                !ConfigText.TryParseInteger(words[3], out long seconds) || seconds is < 0 or > int.MaxValue)
                return "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
            value[(int)client] = new OutputBufferLimit(hard, soft, (int)seconds);
        }
        return null;
    }

    private static string GetName(ClientClass client) => client == ClientClass.Replica ? "slave" : RewriteName(client);

    private static string RewriteName(ClientClass client) => client switch
    {
        ClientClass.Normal => "normal",
        ClientClass.Replica => "replica",
        _ => "pubsub",
    };

    private static bool TryParseClass(string word, out ClientClass client)
    {
        (bool known, client) = word.ToLowerInvariant() switch
        {
            "normal" => (true, ClientClass.Normal),
            "replica" or "slave" => (true, ClientClass.Replica),
            "pubsub" => (true, ClientClass.PubSub),
            _ => (false, default),
        };
        return known;
    }
}

/// <summary>oom-score-adj-values: the values for a master, a replica and a child process.</summary>
internal sealed class OomValuesParameter(string name, int[] defaultValue, Field<int[]> field, string doc)
    : Parameter<int[]>(name, defaultValue, field, doc, null, ParameterFlags.None)
{
    public override bool TakesWords => true;

    public override string Values => "three numbers from -2000 to 2000";

    protected override string Format(int[] value) => string.Join(' ', value);

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out int[] value)
    {
        value = new int[Default.Length];
        if (words.Length != value.Length) return "wrong number of arguments";
        for (int i = 0; i < value.Length; i++)
        {
            if (!ConfigText.TryParseInteger(words[i], out long number) || number is < -2000 or > 2000)
                return "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
            value[i] = (int)number;
        }
        return null;
    }
}

/// <summary>latency-tracking-info-percentiles: any number of percentiles.</summary>
internal sealed class PercentilesParameter(string name, double[] defaultValue, Field<double[]> field, string doc)
    : Parameter<double[]>(name, defaultValue, field, doc, null, ParameterFlags.None)
{
    public override bool TakesWords => true;

    public override string Values => "numbers from 0 to 100, or \"\" for none";

    public override IEnumerable<RewriteLine> RewriteLines(ServerConfig config) =>
        [new RewriteLine($"{Name} {(Value(config).Length == 0 ? "\"\"" : GetText(config))}", Forced: true)];

    protected override string Format(double[] value) =>
        string.Join(' ', value.Select(percentile => percentile.ToString("0.######", CultureInfo.InvariantCulture)));

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out double[] value)
    {
        value = words is [""] ? [] : new double[words.Length];
        for (int i = 0; i < value.Length; i++)
        {
            if (!double.TryParse(words[i], NumberStyles.Float & ~NumberStyles.AllowTrailingWhite & ~NumberStyles.AllowLeadingWhite,
                    CultureInfo.InvariantCulture, out value[i]) || double.IsNaN(value[i]))
                return "Invalid latency-tracking-info-percentiles parameters";
            if (value[i] is < 0 or > 100) return "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
        }
        return null;
    }
}

/// <summary>shutdown-on-sigint and shutdown-on-sigterm: the options of SHUTDOWN for a signal.</summary>
internal sealed class ShutdownParameter(string name, Field<ShutdownOptions> field, string doc)
    : Parameter<ShutdownOptions>(name, ShutdownOptions.Default, field, doc, null, ParameterFlags.None)
{
    public override bool TakesWords => true;

    public override string Values => string.Join(", ", ConfigChoices.Shutdown.Select(choice => choice.Item1));

    protected override string Format(ShutdownOptions value) => value == ShutdownOptions.Default
        ? "default"
        : string.Join(' ', ConfigChoices.Shutdown.Where(choice => (choice.Item2 & value) != 0).Select(choice => choice.Item1));

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out ShutdownOptions value)
    {
        value = ShutdownOptions.Default;
        bool known = words.Length > 0;
        foreach (string word in words)
        {
            int at = Array.FindIndex(ConfigChoices.Shutdown, choice => choice.Item1.Equals(word, StringComparison.OrdinalIgnoreCase));
            known &= at >= 0;
            value |= at >= 0 ? ConfigChoices.Shutdown[at].Item2 : 0;
        }
        if (!known) return $"argument(s) must be one of the following: {Values}";
        return value.HasFlag(ShutdownOptions.Save | ShutdownOptions.NoSave)
            ? "shutdown options SAVE and NOSAVE can't be used simultaneously"
            : null;
    }
}

/// <summary>replicaof: host and port, or "no one". In a cluster, nodes.conf has the role, and a file with replicaof is refused.</summary>
internal sealed class ReplicaOfParameter(string name, Field<ReplicaOf?> field, string doc, string alias, ParameterFlags flags)
    : Parameter<ReplicaOf?>(name, null, field, doc, alias, flags)
{
    public override bool TakesWords => true;

    public override string Values => "host and port, or \"no one\"";

    public override IEnumerable<RewriteLine> RewriteLines(ServerConfig config) =>
        Value(config) is null || config.ClusterEnabled ? [] : [new RewriteLine($"{Name} {GetText(config)}", Forced: true)];

    protected override string Format(ReplicaOf? value) => value is null ? "" : FormattableString.Invariant($"{value.Host} {value.Port}");

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out ReplicaOf? value)
    {
        value = null;
        if (words.Length != 2) return "wrong number of arguments";
        if (words[0].Equals("no", StringComparison.OrdinalIgnoreCase) && words[1].Equals("one", StringComparison.OrdinalIgnoreCase))
            return null;
        if (!ConfigText.TryParseInteger(words[1], out long port) || port is < 0 or > 65535) return "Invalid master port";
        value = new ReplicaOf(words[0], (int)port);
        return null;
    }
}

/// <summary>notify-keyspace-events: letters.</summary>
internal sealed class NotifyParameter(string name, Field<NotifyFlags> field, string doc)
    : Parameter<NotifyFlags>(name, NotifyFlags.None, field, doc, null, ParameterFlags.None)
{
    private static readonly (char Letter, NotifyFlags Flag)[] Letters =
    [
        ('g', NotifyFlags.Generic), ('$', NotifyFlags.String), ('l', NotifyFlags.List), ('s', NotifyFlags.Set), ('h', NotifyFlags.Hash),
        ('z', NotifyFlags.Zset), ('x', NotifyFlags.Expired), ('e', NotifyFlags.Evicted), ('t', NotifyFlags.Stream),
        ('d', NotifyFlags.Module), ('n', NotifyFlags.New), ('o', NotifyFlags.Overwritten), ('c', NotifyFlags.TypeChanged),
        ('K', NotifyFlags.Keyspace), ('E', NotifyFlags.Keyevent), ('m', NotifyFlags.KeyMiss),
    ];

    public override string Values => "letters of Ag$lshzxeKEtmdnoc, or \"\" for none";

    protected override string RewriteText(ServerConfig config) => ConfigText.Quote(GetText(config));

    protected override string Format(NotifyFlags value)
    {
        bool all = (value & NotifyFlags.All) == NotifyFlags.All;
        NotifyFlags hidden = all ? NotifyFlags.All : NotifyFlags.None;
        return (all ? "A" : "") + string.Concat(Letters.Where(row => (value & row.Flag & ~hidden) != 0).Select(row => row.Letter));
    }

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out NotifyFlags value)
    {
        value = NotifyFlags.None;
        foreach (char letter in words[0])
        {
            NotifyFlags flag = letter == 'A' ? NotifyFlags.All : Array.Find(Letters, row => row.Letter == letter).Flag;
            if (flag == NotifyFlags.None) return "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
            value |= flag;
        }
        return null;
    }
}

/// <summary>
/// dir: stored as an absolute path. The current directory of the process does not change, because other parts of the process
/// may depend on it.
/// </summary>
internal sealed class DirParameter(string name, Field<string> field, string doc, ParameterFlags flags)
    : Parameter<string>(name, TrimmedFullPath(Environment.CurrentDirectory), field, doc, null, flags)
{
    public override string Values => "a directory";

    public override IEnumerable<RewriteLine> RewriteLines(ServerConfig config) =>
        [new RewriteLine($"{Name} {ConfigText.Quote(Value(config))}", Forced: true)];

    protected override string Format(string value) => value;

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out string value)
    {
        value = "";
        if (words[0].Length == 0 || words[0].Contains('\0', StringComparison.Ordinal)) return "No such file or directory";
        value = TrimmedFullPath(Path.GetFullPath(words[0], Value(config)));
        if (Directory.Exists(value)) return null;
        return File.Exists(value) ? "Not a directory" : "No such file or directory";
    }

    private static string TrimmedFullPath(string path) => Path.TrimEndingDirectorySeparator(Path.GetFullPath(path));
}
