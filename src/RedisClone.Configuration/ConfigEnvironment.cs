using System.Collections;
using System.Text;
using System.Text.Unicode;

namespace RedisClone.Configuration;

/// <summary>
/// Reads parameters from the environment: REDISCLONE_MAXMEMORY_POLICY sets maxmemory-policy. REDISCLONE_REQUIREPASS_FILE names
/// a file whose only line is the value of requirepass, so that the environment need not contain a secret.
/// </summary>
internal static class ConfigEnvironment
{
    public const string Prefix = "REDISCLONE_";
    public const string FileSuffix = "_FILE";

    /// <summary>The value of one variable, or the error in it.</summary>
    public readonly record struct Setting(string Variable, Parameter Parameter, string Value, string? Error);

    /// <summary>
    /// Returns the settings in the order of the parameter table. Unknown variables with the prefix may belong to other
    /// programs, so they cause only a warning.
    /// </summary>
    public static List<Setting> Read(IDictionary environment, List<string> warnings)
    {
        var settings = new List<Setting>();
        var known = new HashSet<string>();
        foreach (Parameter parameter in ConfigTable.Parameters)
        {
            string variable = VariableOf(parameter.Name);
            known.Add(variable);
            known.Add(variable + FileSuffix);
            string? value = environment[variable] as string;
            string? file = environment[variable + FileSuffix] as string;
            if (value is not null && file is not null)
                settings.Add(new Setting(variable, parameter, "", $"{variable + FileSuffix} is set, too; only one of them can be meant"));
            else if (file is not null) settings.Add(ReadFile(variable + FileSuffix, parameter, file));
            else if (value is not null) settings.Add(new Setting(variable, parameter, value, null));
        }
        foreach (string variable in environment.Keys.OfType<string>().Order(StringComparer.Ordinal))
            if (variable.StartsWith(Prefix, StringComparison.Ordinal) && !known.Contains(variable))
                warnings.Add($"The environment variable {variable} names no parameter and is ignored");
        return settings;
    }

    public static string VariableOf(string name) => Prefix + name.ToUpperInvariant().Replace('-', '_');

    private static Setting ReadFile(string variable, Parameter parameter, string path)
    {
        Setting Wrong(string error) => new(variable, parameter, "", error);
        if (ConfigFiles.Read(path, out string text) is { } unreadable) return Wrong(unreadable.TrimEnd('\n'));
        string value = WithoutFinalNewline(text);
        // An empty file must not mean that no password is needed, and a file with several lines is ambiguous.
        return value.Length == 0 ? Wrong($"the file '{path}' is empty")
            : !Utf8.IsValid(Encoding.Latin1.GetBytes(value)) ? Wrong($"the file '{path}' is not valid UTF-8")
            : value.Contains('\n') ? Wrong($"the file '{path}' has more than one line")
            : new Setting(variable, parameter, ConfigText.FromLine(value), null);
    }

    private static string WithoutFinalNewline(string text) =>
        text.EndsWith("\r\n", StringComparison.Ordinal) ? text[..^2] : text.EndsWith('\n') ? text[..^1] : text;
}
