using System.Buffers;
using System.Text;
using Xunit.Abstractions;

namespace RedisClone.Protocol.Tests;

/// <summary>
/// Random requests, damaged requests and noise, in pieces. Under any limits, the parser finds the same requests as the slow
/// parser. The test run uses 5 MB, <c>tests/fuzz parser</c> 1 GB.
/// </summary>
public sealed class ParserFuzzTests(ITestOutputHelper output)
{
    private const string Likely = "*$\r\n0123456789-\0\"' \\x";

    private static readonly string[] s_fragments =
    [
        "*1\r\n", "*2\r\n", "*3\r\n", "*-1\r\n", "*0\r\n", "*2147483647\r\n", "*2147483648\r\n", "*11\r\n", "$1\r\na\r\n",
        "$3\r\nSET\r\n", "$0\r\n\r\n", "$-1\r\n", "$300\r\n", "$16385\r\n", "$536870912\r\n", "$9223372036854775807\r\n",
        "PING\r\n", "\r\n", "\n", "\"a\\x41\" ", "'b\\'' ", "\"", "+OK\r\n", ":1\r\n", "%1\r\n", "GET / HTTP/1.1\r\n",
        "\0", "\u00ff",
    ];

    [Fact]
    public void RandomBytesMatchSlowParser()
    {
        long wanted = LongRun.Times(5_000_000L, 1_000_000_000L), bytes = 0, requests = 0, errors = 0;
        for (int round = 0; bytes < wanted; round++)
        {
            Random random = Seed.Random(round);
            // Most inputs are short, because beginnings and ends are the interesting parts.
            int step = random.Next(40) switch { < 30 => 7, < 39 => 300, _ => 20000 };
            byte[] data = Input(random, longest: step * 3);
            Parsed found = Try(random, data, step, $"{Seed.Note} round {round}");
            bytes += data.Length;
            requests += found.Requests.Count;
            if (found.Error is not null) errors++;
            if ((round + 1) % 1_000_000 == 0) Console.WriteLine($"{bytes} bytes");
        }
        output.WriteLine($"{Seed.Note}: {bytes} bytes, {requests} requests, {errors} errors");
    }

    private static Parsed Try(Random random, byte[] data, int step, string note)
    {
        bool restricted = random.Next(4) == 0;
        RequestLimits limits = new() { MaxBulkLength = random.Next(3) == 0 ? 300 : 512 << 20 };
        if (random.Next(2) == 0) limits.MaxBatchRequests = random.Next(1, 5);
        if (random.Next(2) == 0) limits.MaxBatchBytes = random.Next(1, 200);
        int longest = random.Next(3) switch { 0 => 3, 1 => 50, _ => 5000 };
        var feeder = new Feeder(limits, bytes => Segments.Random(bytes, random, longest));
        feeder.Parser.Restricted = restricted;
        for (int at = 0; at < data.Length && feeder.Error is null;)
        {
            int length = Math.Min(data.Length - at, random.Next(1, step));
            feeder.Feed(data.AsSpan(at, length));
            at += length;
        }
        Parsed expected = SlowParser.Parse(data, restricted, limits.MaxBulkLength);
        Assert.True(expected.Error == feeder.Error, $"{note}: {expected.Error} / {feeder.Error}");
        Assert.True(expected.Requests.SequenceEqual(feeder.Requests), $"{note}: requests differ");
        if (expected.Error is not null) return expected;
        long most = data.Length - expected.Consumed;
        Assert.True(feeder.Parser.BufferedBytes <= most, $"{note}: too many bytes are counted as buffered");
        return expected;
    }

    private static byte[] Input(Random random, int longest) => random.Next(4) switch
    {
        0 => Stream(random, longest),
        1 => Noise(random),
        _ => Mutate(random, Stream(random, longest)),
    };

    /// <summary>Valid requests.</summary>
    private static byte[] Stream(Random random, int longest)
    {
        var stream = new MemoryStream();
        int requests = random.Next(1, 20);
        for (int i = 0; i < requests; i++)
        {
            int kind = random.Next(12);
            if (kind == 0) stream.Write("*0\r\n"u8);
            else if (kind == 1) stream.Write("PING \"a b\" x\r\n"u8);
            else if (kind == 2) stream.Write("\r\n"u8);
            else
            {
                int count = random.Next(10) == 0 ? random.Next(1, longest > 100 ? 300 : 20) : random.Next(1, 6);
                stream.Write(Encoding.ASCII.GetBytes($"*{count}\r\n"));
                for (; count > 0; count--)
                {
                    var value = new byte[random.Next(60) == 0 ? random.Next(longest) : random.Next(30)];
                    random.NextBytes(value);
                    stream.Write(Encoding.ASCII.GetBytes($"${value.Length}\r\n"));
                    stream.Write(value);
                    stream.Write("\r\n"u8);
                }
            }
        }
        return stream.ToArray();
    }

    /// <summary>Fragments of requests in random order, with bytes between them.</summary>
    private static byte[] Noise(Random random)
    {
        var text = new StringBuilder();
        for (int i = random.Next(1, 40); i > 0; i--)
            text.Append(random.Next(3) == 0 ? Any(random).ToString() : s_fragments[random.Next(s_fragments.Length)]);
        return Encoding.Latin1.GetBytes(text.ToString());
    }

    private static byte[] Mutate(Random random, byte[] data)
    {
        for (int i = random.Next(1, 4); i > 0; i--)
        {
            int at = random.Next(Math.Min(data.Length, 4000));
            if (random.Next(3) == 0) data = [.. data[..at], .. data[(at + 1)..]];
            else data[at] = (byte)Any(random);
            if (data.Length == 0) return [(byte)'x'];
        }
        return data;
    }

    private static char Any(Random random) => random.Next(3) == 0 ? (char)random.Next(256) : Likely[random.Next(Likely.Length)];
}
