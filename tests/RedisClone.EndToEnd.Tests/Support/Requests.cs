using System.Text;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>Requests as bytes and as text. A string represents bytes, one per character.</summary>
internal static class Requests
{
    public static byte[] Encode(params IReadOnlyList<string> arguments)
    {
        var text = new StringBuilder();
        text.Append('*').Append(arguments.Count).Append("\r\n");
        foreach (string argument in arguments) text.Append('$').Append(argument.Length).Append("\r\n").Append(argument).Append("\r\n");
        return Encoding.Latin1.GetBytes(text.ToString());
    }

    /// <summary>Formats a request for redis-cli, so that a failed request can be repeated by hand.</summary>
    public static string Show(IEnumerable<string> arguments) =>
        string.Join(' ', arguments.Select(a => a.Length is > 0 and < 200 && a.All(c => c is > ' ' and < '\x7f' and not '"' and not '\'') ? a : Quote(a)));

    public static string Quote(string text)
    {
        var into = new StringBuilder("\"");
        foreach (char c in text.Length > 300 ? text[..300] : text)
        {
            if (c is '"' or '\\') into.Append('\\').Append(c);
            else if (c is >= ' ' and < '\x7f') into.Append(c);
            else into.Append("\\x").Append(((int)c).ToString("x2"));
        }
        into.Append('"');
        if (text.Length > 300) into.Append("...").Append(text.Length).Append(" bytes, hash ").Append(Hash(text));
        return into.ToString();
    }

    private static string Hash(string text) =>
        Convert.ToHexStringLower(System.Security.Cryptography.SHA256.HashData(Encoding.Latin1.GetBytes(text)))[..16];
}
