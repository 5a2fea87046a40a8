namespace RedisClone.Protocol;

/// <summary>
/// Splits an inline request into arguments. The quoting is that of redis-cli and telnet: "double quotes" with escapes, 'single
/// quotes' with \' only; a blank or the end follows a closing quote. Configuration files use the same syntax.
/// </summary>
public static class InlineSplitter
{
    private enum Quote
    {
        None,
        Single,
        Double,
    }

    /// <summary>The words of a line, or null if its quotes are unbalanced.</summary>
    public static byte[][]? Split(ReadOnlySpan<byte> line)
    {
        byte[] buffer = line.ToArray();
        var slices = new SliceList();
        if (!Split(buffer, 0, buffer.Length, slices)) return null;
        byte[][] words = new byte[slices.Count][];
        for (int i = 0; i < words.Length; i++) words[i] = buffer.AsSpan(slices.Items[i].Offset, slices.Items[i].Length).ToArray();
        return words;
    }

    internal static bool HasQuotes(ReadOnlySpan<byte> line) => line.IndexOfAny((byte)'"', (byte)'\'') >= 0;

    /// <summary>
    /// Splits buffer[start..end) in place. An argument is never longer than its source, so unquoting only moves bytes to the
    /// left. A line without quotes is not written to. Returns false if the quotes are unbalanced.
    /// </summary>
    internal static bool Split(Span<byte> buffer, int start, int end, SliceList slices)
    {
        int at = start;
        while (true)
        {
            while (at < end && IsBlank(buffer[at])) at++;
            if (at == end) return true;
            int first = at;
            int write = at;
            if (!TakeArgument(buffer, ref at, end, ref write)) return false;
            slices.Add(new ArgSlice(first, write - first));
        }
    }

    private static bool TakeArgument(Span<byte> buffer, ref int at, int end, ref int write)
    {
        Quote quote = Quote.None;
        for (; at < end; at++)
        {
            byte c = buffer[at];
            if (quote == Quote.None)
            {
                if (c is (byte)' ' or (byte)'\n' or (byte)'\r' or (byte)'\t') return true;
                if (c == '"') quote = Quote.Double;
                else if (c == '\'') quote = Quote.Single;
                else Put(buffer, ref write, at, c);
                continue;
            }
            if (c == (quote == Quote.Double ? '"' : '\''))
            {
                at++;
                return at == end || IsBlank(buffer[at]);
            }
            if (c == '\\' && at + 1 < end)
            {
                if (quote == Quote.Double) c = Unescape(buffer[..end], ref at);
                else if (buffer[at + 1] == '\'') c = buffer[++at];
            }
            Put(buffer, ref write, at, c);
        }
        return quote == Quote.None;
    }

    /// <summary>
    /// Writes a byte only if it moves. Before the first quote no byte moves, so a line in the buffer of the pipe is not written
    /// to.
    /// </summary>
    private static void Put(Span<byte> buffer, ref int write, int at, byte c)
    {
        if (write < at) buffer[write] = c;
        write++;
    }

    /// <summary>Decodes the escape at <paramref name="at"/>, and leaves <paramref name="at"/> at its last character.</summary>
    private static byte Unescape(ReadOnlySpan<byte> line, ref int at)
    {
        if (line[at + 1] == 'x' && at + 3 < line.Length
            && char.IsAsciiHexDigit((char)line[at + 2]) && char.IsAsciiHexDigit((char)line[at + 3]))
        {
            int value = (HexValue(line[at + 2]) << 4) | HexValue(line[at + 3]);
            at += 3;
            return (byte)value;
        }
        byte c = line[++at];
        return c switch
        {
            (byte)'n' => (byte)'\n',
            (byte)'r' => (byte)'\r',
            (byte)'t' => (byte)'\t',
            (byte)'b' => (byte)'\b',
            (byte)'a' => (byte)'\a',
            _ => c,
        };
    }

    private static int HexValue(byte digit) => digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;

    /// <summary>The set of C's isspace. As in Redis, it is larger than the set of characters that end an argument.</summary>
    private static bool IsBlank(byte c) => c is (byte)' ' or (>= 9 and <= 13);
}
