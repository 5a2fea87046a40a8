namespace RedisClone.Configuration;

/// <summary>
/// Rules for parameters that a range or list of values cannot express, with Redis's error texts if Redis has the rule.
/// </summary>
internal static class ParameterChecks
{
    private const int MaxHostName = 256;

    private static readonly string[] TitleVariables =
        ["title", "listen-addr", "server-mode", "port", "tls-port", "unixsocket", "config-file"];

    public static string? DbFilename(string value) => IsPath(value) ? "dbfilename can't be a path, just a filename" : null;

    public static string? AppendFilename(string value) =>
        value.Length == 0 ? "appendfilename can't be empty" : IsPath(value) ? "appendfilename can't be a path, just a filename" : null;

    public static string? AppendDirname(string value) =>
        value.Length == 0 ? "appenddirname can't be empty" : IsPath(value) ? "appenddirname can't be a path, just a dirname" : null;

    public static string? HostName(string value) =>
        value.Length >= MaxHostName ? $"Hostnames must be less than {MaxHostName} characters"
        : value.All(c => char.IsAsciiLetterOrDigit(c) || c is '-' or '.') ? null
        : "Hostnames may only contain alphanumeric characters, hyphens or dots";

    public static string? HttpUrl(string value) =>
        value.Length == 0 || Uri.TryCreate(value, UriKind.Absolute, out Uri? url) && url.Scheme is "http" or "https" ? null
            : "argument must be a URL that begins with http:// or https://";

    public static string? Supervised(SupervisedMode mode) =>
        mode == SupervisedMode.Upstart ? "'upstart' is not supported by this server, only 'systemd' and 'auto'" : null;

    public static string? PowerOfTwo(long value) =>
        value == 0 || long.IsPow2(value) ? null : "argument must be a power of two, or 0 to choose one";

    /// <summary>Checks the variables in braces. A doubled opening brace stands for a brace.</summary>
    public static string? TitleTemplate(string value)
    {
        const string Error = "template format is invalid or contains unknown variables";
        for (int at = value.IndexOf('{', StringComparison.Ordinal); at >= 0; at = value.IndexOf('{', at))
        {
            if (at + 1 < value.Length && value[at + 1] == '{') at += 2;
            else if (value.IndexOf('}', at) is var end && end > 0 && TitleVariables.Contains(value[(at + 1)..end])) at = end + 1;
            else return Error;
        }
        return null;
    }

    private static bool IsPath(string value) => value.AsSpan().IndexOfAny('/', '\\') >= 0;
}
