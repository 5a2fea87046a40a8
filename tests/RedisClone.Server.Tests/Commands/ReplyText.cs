using System.Globalization;

namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// Replies as text for tests. A string is itself, a null is nil, an array is [a b], a map is {k v}, a RESP3 double begins with a
/// comma, and an error or an integer is the text of its line.
/// </summary>
internal static class ReplyText
{
    public static string Read(string resp, ref int at)
    {
        char type = resp[at];
        int end = resp.IndexOf("\r\n", at, StringComparison.Ordinal);
        string line = resp[(at + 1)..end];
        at = end + 2;
        switch (type)
        {
            case '$' or '=':
                if (line == "-1") return "nil";
                int length = int.Parse(line, CultureInfo.InvariantCulture);
                at += length + 2;
                return resp.Substring(at - length - 2, length);
            case '*' or '%' or '~' or '>':
                if (line == "-1") return "nil";
                int count = int.Parse(line, CultureInfo.InvariantCulture) * (type == '%' ? 2 : 1);
                var items = new string[count];
                for (int i = 0; i < count; i++) items[i] = Read(resp, ref at);
                string joined = string.Join(' ', items);
                return type == '%' ? $"{{{joined}}}" : $"[{joined}]";
            case '_': return "nil";
            case ',': return "," + line;
            default: return line;
        }
    }
}
