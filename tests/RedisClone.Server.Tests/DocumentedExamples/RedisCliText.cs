using System.Globalization;
using System.Text;

namespace RedisClone.Server.Tests.DocumentedExamples;

/// <summary>Prints a reply as redis-cli prints it on a terminal.</summary>
internal static class RedisCliText
{
    /// <param name="resp">The bytes of the reply, one character for each.</param>
    public static string[] Lines(string resp)
    {
        int at = 0;
        return Print(resp, ref at, "").TrimEnd('\n').Split('\n');
    }

    private static string Print(string resp, ref int at, string indent)
    {
        char type = resp[at];
        int end = resp.IndexOf("\r\n", at, StringComparison.Ordinal);
        string line = resp[(at + 1)..end];
        at = end + 2;
        switch (type)
        {
            case '+': return line + "\n";
            case '-': return $"(error) {line}\n";
            case ':': return $"(integer) {line}\n";
            case ',': return $"(double) {line}\n";
            case '#': return line == "t" ? "(true)\n" : "(false)\n";
            case '_': return "(nil)\n";
            case '$' or '=' or '*' when line == "-1": return "(nil)\n";
            case '$' or '=':
                string text = resp.Substring(at, Number(line));
                at += text.Length + 2;
                return type == '$' ? Quote(text) + "\n" : text[4..] + "\n";
            case '*': return Items(resp, ref at, Number(line), indent, ')', "array");
            case '~': return Items(resp, ref at, Number(line), indent, '~', "set");
            case '>': return Items(resp, ref at, Number(line), indent, '>', "push");
            case '%': return Items(resp, ref at, 2 * Number(line), indent, '#', "hash");
            default: throw new FormatException($"redis-cli does not know the type '{type}'");
        }
    }

    private static string Items(string resp, ref int at, int count, string indent, char mark, string name)
    {
        if (count == 0) return $"(empty {name})\n";
        bool isMap = mark == '#';
        int rows = isMap ? count / 2 : count, width = rows.ToString(CultureInfo.InvariantCulture).Length;
        string inner = indent + new string(' ', width + 2);
        var into = new StringBuilder();
        for (int i = 1; i <= rows; i++)
        {
            if (i > 1) into.Append(indent);
            into.Append(i.ToString(CultureInfo.InvariantCulture).PadLeft(width)).Append(mark).Append(' ');
            if (isMap) into.Append(Print(resp, ref at, inner).TrimEnd('\n')).Append(" => ");
            into.Append(Print(resp, ref at, inner));
        }
        return into.ToString();
    }

    private static string Quote(string text)
    {
        var into = new StringBuilder("\"");
        foreach (char c in text)
        {
            into.Append(c switch
            {
                '"' or '\\' => "\\" + c,
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\a' => "\\a",
                '\b' => "\\b",
                >= ' ' and < '\x7f' => c.ToString(),
                _ => $"\\x{(int)c:x2}",
            });
        }
        return into.Append('"').ToString();
    }

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);
}
