using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>The result of parsing some input: requests, an optional error after them, and the number of bytes consumed.</summary>
internal sealed record Parsed(List<string> Requests, string? Error, int Consumed)
{
    /// <summary>A request as comparable text.</summary>
    public static string Show(IEnumerable<byte[]> arguments) => string.Join(' ', arguments.Select(Convert.ToHexString)) + ".";

    public static string Show(Request request)
    {
        var arguments = new List<byte[]>();
        for (int i = 0; i < request.Count; i++) arguments.Add(request[i].ToArray());
        return Show(arguments);
    }
}

/// <summary>
/// A slow parser that is easy to verify: byte by byte over the whole input, strings for everything, no state. It follows the
/// rules of networking.c in Redis.
/// </summary>
internal static class SlowParser
{
    private const int MaxLine = 65536;

    public static Parsed Parse(byte[] input, bool restricted = false, long maxBulk = 512L << 20)
    {
        var requests = new List<string>();
        int at = 0;
        while (at < input.Length)
        {
            int start = at;
            string? error = null;
            List<byte[]>? arguments = input[at] == '*'
                ? Multibulk(input, ref at, restricted, maxBulk, ref error)
                : Inline(input, ref at, ref error);
            if (error is not null) return new Parsed(requests, "ERR Protocol error: " + error, start);
            if (arguments is null) return new Parsed(requests, null, start);
            if (arguments.Count > 0) requests.Add(Parsed.Show(arguments));
        }
        return new Parsed(requests, null, at);
    }

    private static List<byte[]>? Multibulk(byte[] input, ref int at, bool restricted, long maxBulk, ref string? error)
    {
        string? header = Line(input, ref at, '\r', 2, "too big mbulk count string", ref error);
        if (header is null) return null;
        if (!IsInteger(header[1..], out long count) || count > int.MaxValue)
        {
            error = "invalid multibulk length";
            return null;
        }
        if (restricted && count > 10)
        {
            error = "unauthenticated multibulk length";
            return null;
        }
        var arguments = new List<byte[]>();
        for (; count > 0; count--)
        {
            if (at >= input.Length) return null;
            header = Line(input, ref at, '\r', 2, "too big bulk count string", ref error);
            if (header is null) return null;
            char first = header.Length == 0 ? ' ' : header[0];
            if (first != '$')
            {
                error = $"expected '$', got '{(first == '\n' ? ' ' : first)}'";
                return null;
            }
            if (!IsInteger(header[1..], out long length) || length < 0 || length > maxBulk)
            {
                error = "invalid bulk length";
                return null;
            }
            if (restricted && length > 16384)
            {
                error = "unauthenticated bulk length";
                return null;
            }
            if (input.Length - at < length + 2) return null;
            arguments.Add(input[at..(at + (int)length)]);
            at += (int)length + 2;
        }
        return arguments;
    }

    private static List<byte[]>? Inline(byte[] input, ref int at, ref string? error)
    {
        string? line = Line(input, ref at, '\n', 1, "too big inline request", ref error);
        if (line is null) return null;
        if (line.EndsWith('\r')) line = line[..^1];
        List<byte[]>? arguments = SplitArguments(line);
        if (arguments is null) error = "unbalanced quotes in request";
        return arguments;
    }

    /// <summary>
    /// Returns the text before the end character. The input must have <paramref name="skip"/> characters from the end character
    /// on. A zero byte hides everything after it.
    /// </summary>
    private static string? Line(byte[] input, ref int at, char end, int skip, string tooBig, ref string? error)
    {
        for (int i = at; i < input.Length && input[i] != 0; i++)
        {
            if (input[i] != end) continue;
            if (i - at > MaxLine) break;
            if (i + skip > input.Length) return null;
            string line = Encoding.Latin1.GetString(input, at, i - at);
            at = i + skip;
            return line;
        }
        if (input.Length - at > MaxLine) error = tooBig;
        return null;
    }

    private static bool IsInteger(string text, out long value)
    {
        bool plain = long.TryParse(text, out value);
        return plain && value.ToString() == text;
    }

    private static List<byte[]>? SplitArguments(string line)
    {
        const string blanks = " \t\n\v\f\r";
        var arguments = new List<byte[]>();
        int i = 0;
        while (true)
        {
            while (i < line.Length && blanks.Contains(line[i])) i++;
            if (i == line.Length) return arguments;
            var argument = new StringBuilder();
            char quote = '\0';
            while (true)
            {
                if (i == line.Length)
                {
                    if (quote != '\0') return null;
                    break;
                }
                char c = line[i];
                if (quote == '\0')
                {
                    if (" \n\r\t".Contains(c)) break;
                    i++;
                    if (c is '"' or '\'') quote = c;
                    else argument.Append(c);
                    continue;
                }
                if (c == quote)
                {
                    i++;
                    if (i < line.Length && !blanks.Contains(line[i])) return null;
                    break;
                }
                if (quote == '"' && c == '\\' && i + 3 < line.Length && line[i + 1] == 'x'
                    && Uri.IsHexDigit(line[i + 2]) && Uri.IsHexDigit(line[i + 3]))
                {
                    argument.Append((char)Convert.ToInt32(line.Substring(i + 2, 2), 16));
                    i += 4;
                }
                else if (quote == '"' && c == '\\' && i + 1 < line.Length)
                {
                    int escape = "nrtba".IndexOf(line[i + 1]);
                    argument.Append(escape < 0 ? line[i + 1] : "\n\r\t\b\a"[escape]);
                    i += 2;
                }
                else if (quote == '\'' && c == '\\' && i + 1 < line.Length && line[i + 1] == '\'')
                {
                    argument.Append('\'');
                    i += 2;
                }
                else
                {
                    argument.Append(c);
                    i++;
                }
            }
            arguments.Add(Encoding.Latin1.GetBytes(argument.ToString()));
        }
    }
}
