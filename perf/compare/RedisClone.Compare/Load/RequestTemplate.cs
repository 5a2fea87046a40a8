using System.Globalization;
using System.Numerics;
using System.Text;

namespace RedisClone.Compare.Load;

/// <summary>
/// A place for a number of fixed width in a request. Before each request it is filled with a random number below the range. With a
/// stride, it is filled with the next multiple of the stride modulo the range. If the two have no common divisor, this visits every
/// number once.
/// </summary>
internal readonly record struct Hole(int Offset, int Width, uint Range, uint Stride, int Counter)
{
    public bool IsRandom => Stride == 0;
}

/// <summary>
/// A request that is encoded once from a line such as <c>SET key:{1000000} {*256}</c>. <c>{n}</c> is a random number below n,
/// <c>{+n}</c> a counter below n, <c>{~n}</c> each number below n in a scattered order, and <c>{*n}</c> a value of n bytes.
/// Numbers are padded with zeros to the width of n-1. <c>{{</c> is a brace. An argument with blanks is in double quotes.
/// </summary>
internal sealed class RequestTemplate
{
    private RequestTemplate(byte[] bytes, Hole[] holes, int counters)
    {
        Bytes = bytes;
        Holes = holes;
        Counters = counters;
    }

    public byte[] Bytes { get; }

    /// <summary><see cref="Hole.Counter"/> numbers the holes of this template that count.</summary>
    public IReadOnlyList<Hole> Holes { get; }

    public int Counters { get; }

    public static RequestTemplate Parse(string line)
    {
        List<string> arguments = SplitArguments(line);
        var bytes = new List<byte>(Encoding.ASCII.GetBytes($"*{arguments.Count}\r\n"));
        var holes = new List<Hole>();
        int counters = 0;
        foreach (string argument in arguments)
        {
            var body = new List<byte>();
            var own = new List<Hole>();
            AppendArgument(argument, body, own, ref counters);
            bytes.AddRange(Encoding.ASCII.GetBytes($"${body.Count}\r\n"));
            holes.AddRange(own.Select(hole => hole with { Offset = hole.Offset + bytes.Count }));
            bytes.AddRange(body);
            bytes.AddRange("\r\n"u8);
        }

        return new RequestTemplate([.. bytes], [.. holes], counters);
    }

    private static void AppendArgument(string argument, List<byte> body, List<Hole> holes, ref int counters)
    {
        for (int at = 0; at < argument.Length; at++)
        {
            bool isBrace = argument.AsSpan(at).StartsWith("{{");
            if (isBrace)
                at++;
            int end = argument[at] == '{' && !isBrace ? argument.IndexOf('}', at) : -1;
            if (end < 0)
            {
                body.Add((byte)argument[at]);
                continue;
            }

            string inner = argument[(at + 1)..end];
            at = end;
            if (inner[0] == '*')
            {
                body.AddRange(Filler(uint.Parse(inner[1..], CultureInfo.InvariantCulture)));
                continue;
            }

            uint range = uint.Parse(inner.TrimStart('+', '~'), CultureInfo.InvariantCulture);
            uint stride = inner[0] switch { '+' => 1u, '~' => ScatteringStride(range), _ => 0 };
            int width = (range - 1).ToString(CultureInfo.InvariantCulture).Length;
            holes.Add(new Hole(body.Count, width, range, stride, stride == 0 ? 0 : counters++));
            body.AddRange(Enumerable.Repeat((byte)'0', width));
        }
    }

    private static uint ScatteringStride(uint range)
    {
        uint stride = (uint)(2654435761 % range);
        while (BigInteger.GreatestCommonDivisor(stride, range) != 1)
            stride++;
        return stride;
    }

    /// <summary>Returns printable bytes that no server stores as a number and that do not repeat in short periods.</summary>
    private static IEnumerable<byte> Filler(uint length)
    {
        uint state = 12345;
        for (uint i = 0; i < length; i++)
        {
            state = state * 1664525 + 1013904223;
            yield return (byte)('a' + (state >> 24) % 26);
        }
    }

    private static List<string> SplitArguments(string line)
    {
        var arguments = new List<string>();
        for (int at = 0; at < line.Length;)
        {
            if (line[at] == ' ')
            {
                at++;
                continue;
            }

            bool quoted = line[at] == '"';
            int from = quoted ? at + 1 : at;
            int end = line.IndexOf(quoted ? '"' : ' ', from);
            end = end < 0 ? line.Length : end;
            arguments.Add(line[from..end]);
            at = end + 1;
        }

        return arguments;
    }
}
