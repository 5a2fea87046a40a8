using System.Buffers;
using System.Runtime.CompilerServices;
using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>Compares the parser with the slow parser on inputs that are split in every way.</summary>
public sealed class RequestParserTests
{
    private static readonly string[] Samples =
    [
        "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n",
        "*1\r\n$4\r\nPING\r\n*0\r\n*-1\r\n*-5\r\n\r\n\n*1\r\n$0\r\n\r\n*2\r\n$10\r\n0123456789\r\n$1\r\nx\r\n",
        "PING\r\nset a b\nset  \"a b\"\t'c\\'d' \"\\x41\\n\\q\" \r\n*1\r\n$4\r\nQUIT\r\n",
        "*2\rX$3\rYGETZZ$3\r\nkeyab",
        "*1\r\n$-10\r\n",
        "*1\r\n$04\r\nPING\r\n",
        "*1\r\n$999999999999999999999\r\n",
        "*1\r\nPING\r\n",
        "*1\r\n\r\n",
        "*1\r\n\n\r\n",
        "*x\r\n",
        "*\r\n",
        "*3000000000\r\n",
        "*01\r\n",
        "*-0\r\n",
        "*1048577\r\n",
        "*2147483647\r\n$1\r\na\r\n",
        "*2147483648\r\n",
        "GET\r\nset \"abc\r\n",
        "set 'abc'd\r\n",
        "a\0b\r\nPING\r\n",
        "*1\0\r\n$4\r\nPING\r\n",
        "*1\r\n$4\0\r\nPING\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "*11\r\n$1\r\na\r\n",
        "*1\r\n$16385\r\n",
        "*1\r\n$\u00e9\r\n",
        "*1\r\n\u00e9\r\n",
        "\0",
        "*12\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n"
            + "$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n$2\r\n10\r\n$2\r\n11\r\n",
    ];

    public static TheoryData<int> SampleIndexes() => [.. Enumerable.Range(0, Samples.Length)];

    private static byte[] Sample(int index) => Encoding.Latin1.GetBytes(Samples[index]);

    [Theory]
    [MemberData(nameof(SampleIndexes))]
    public void ACopyOfTheWireIsTheRequestInResp(int index)
    {
        byte[] data = Sample(index);
        var batch = new RequestBatch();
        new RequestParser(new RequestLimits()).Parse(new ArraySegment<byte>(data), batch, out _, out _);
        for (int i = 0; i < batch.Count; i++)
        {
            Request request = batch[i];
            byte[] copy = new byte[request.WireLength];
            if (!request.TryCopyWire(copy)) continue;
            string expected = $"*{request.Count}\r\n";
            for (int a = 0; a < request.Count; a++) expected += $"${request[a].Length}\r\n{Encoding.Latin1.GetString(request[a])}\r\n";
            Assert.Equal(expected, Encoding.Latin1.GetString(copy));
        }
    }

    [Theory]
    [InlineData("*2\rX$3\rYGETZZ$3\r\nkeyab", true)]       // as in Redis, line ends may be any bytes
    [InlineData("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", true)]
    [InlineData("GET key\r\n", false)]
    public void OnlyARegularRequestIsCopiedFromTheWire(string text, bool isCopied)
    {
        var batch = new RequestBatch();
        new RequestParser(new RequestLimits()).Parse(new ArraySegment<byte>(Encoding.Latin1.GetBytes(text)), batch, out _, out _);
        Request request = batch[0];
        byte[] copy = new byte[100];
        Assert.Equal(isCopied, request.TryCopyWire(copy));
        Assert.False(request.From(1).TryCopyWire(copy));
        if (isCopied) Assert.StartsWith("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n\0", Encoding.Latin1.GetString(copy), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(SampleIndexes))]
    public void RequestsAreParsedFromTwoReads(int index)
    {
        byte[] data = Sample(index);
        for (int cut = 0; cut <= data.Length; cut++)
        {
            foreach (bool restricted in new[] { false, true })
            {
                var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
                feeder.Parser.Restricted = restricted;
                feeder.Feed(data.AsSpan(0, cut));
                AssertSame(feeder, SlowParser.Parse(data[..cut], restricted));
                feeder.Feed(data.AsSpan(cut));
                AssertSame(feeder, SlowParser.Parse(data, restricted));
            }
        }
    }

    [Theory]
    [MemberData(nameof(SampleIndexes))]
    public void RequestsAreParsedFromSegments(int index)
    {
        byte[] data = Sample(index);
        Parsed expected = SlowParser.Parse(data);
        for (int cut = 0; cut <= data.Length; cut++)
        {
            for (int second = cut; second <= data.Length; second += 3)
            {
                int from = cut;
                int to = second;
                var feeder = new Feeder(new RequestLimits(), bytes =>
                    bytes.Length == data.Length ? Segments.SplitAt(bytes, from, to) : new ReadOnlySequence<byte>(bytes));
                feeder.Feed(data);
                AssertSame(feeder, expected);
            }
        }
    }

    [Theory]
    [MemberData(nameof(SampleIndexes))]
    public void RequestsAreParsedByteByByte(int index)
    {
        byte[] data = Sample(index);
        foreach (bool restricted in new[] { false, true })
        {
            var whole = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
            var pieces = new Feeder(
                new RequestLimits(), bytes => Segments.SplitAt(bytes, [.. Enumerable.Range(1, bytes.Length - 1)]));
            whole.Parser.Restricted = pieces.Parser.Restricted = restricted;
            for (int i = 0; i < data.Length; i++)
            {
                whole.Feed(data.AsSpan(i, 1));
                pieces.Feed(data.AsSpan(i, 1));
                Parsed expected = SlowParser.Parse(data[..(i + 1)], restricted);
                AssertSame(whole, expected);
                AssertSame(pieces, expected);
                if (expected.Error is not null) break;
            }
        }
    }

    [Theory]
    [InlineData("", 65536, null)]
    [InlineData("", 65537, "ERR Protocol error: too big inline request")]
    [InlineData("*", 65535, null)]
    [InlineData("*", 65536, "ERR Protocol error: too big mbulk count string")]
    [InlineData("*1\r\n$", 65535, null)]
    [InlineData("*1\r\n$", 65536, "ERR Protocol error: too big bulk count string")]
    public void UnterminatedHeadersAreLimited(string start, int more, string? error)
    {
        foreach (int step in new[] { 1000, 100_000 })
        {
            var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
            feeder.Feed(Encoding.ASCII.GetBytes(start));
            var digits = new byte[more];
            Array.Fill(digits, (byte)'1');
            for (int at = 0; at < more; at += step) feeder.Feed(digits.AsSpan(at, Math.Min(step, more - at)));
            Assert.Equal(error, feeder.Error);
            Assert.Empty(feeder.Requests);
        }
    }

    [Fact]
    public void LongestLineIsAccepted()
    {
        var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
        byte[] line = [.. Enumerable.Repeat((byte)'a', 65536), (byte)'\n'];
        feeder.Feed(line);
        Assert.Null(feeder.Error);
        Assert.Single(feeder.Requests);
    }

    [Fact]
    public void LargeBulkIsConsumedAsItArrives()
    {
        var value = new byte[2_000_000];
        Seed.Random(1).NextBytes(value);
        byte[] data = [.. "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2000000\r\n"u8, .. value, .. "\r\n*1\r\n$4\r\nPING\r\n"u8];
        var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
        for (int at = 0; at < data.Length; at += 100_000)
        {
            feeder.Feed(data.AsSpan(at, Math.Min(100_000, data.Length - at)));
            Assert.Equal(0, feeder.Pending);
            if (feeder.Requests.Count == 0) Assert.InRange(feeder.Parser.BufferedBytes, feeder.Received - 50, feeder.Received);
        }
        Assert.Equal(SlowParser.Parse(data).Requests, feeder.Requests);
        Assert.Equal(data.Length, feeder.WireBytes);
        Assert.Equal(0, feeder.Parser.BufferedBytes);
    }

    [Fact]
    public void RoomForAnnouncedBulkIsLimited()
    {
        var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
        feeder.Feed("*2\r\n$3\r\nGET\r\n$536870912\r\nabc"u8);
        Assert.Null(feeder.Error);
        Assert.InRange(feeder.Parser.BufferedBytes, 6, 40);
        Assert.InRange(feeder.Parser.RoomBytes, 1, 2 << 20);
    }

    /// <summary>The room follows the bytes received, whatever one or several arguments announced.</summary>
    [Theory]
    [InlineData("*2\r\n$3\r\nSET\r\n$536870912\r\n")]
    [InlineData("*3\r\n$400000\r\n{0}\r\n$100000000\r\n")]
    [InlineData("*2147483647\r\n$3\r\nDEL\r\n$536870912\r\n")]
    public void RoomGrowsWithReceivedBytes(string beginning)
    {
        byte[] head = Encoding.ASCII.GetBytes(string.Format(null, beginning, new string('x', 400_000)));
        byte[] piece = new byte[64 * 1024];
        var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
        feeder.Feed(head);
        for (int i = 0; i < 500; i++)
        {
            long arrived = feeder.Parser.BufferedBytes;
            Assert.InRange(feeder.Parser.RoomBytes, 0, Math.Max(2 << 20, 8 * arrived));
            feeder.Feed(piece);
        }
        Assert.InRange(feeder.Parser.BufferedBytes, 500 * piece.Length, 500 * piece.Length + head.Length);
    }

    /// <summary>Arguments that are only counted take no memory.</summary>
    [Fact]
    public void AnnouncedCountTakesNoMemory()
    {
        byte[] head = "*2147483647\r\n$1\r\na\r\n"u8.ToArray();
        var warm = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
        warm.Feed(head);
        var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
        long before = GC.GetAllocatedBytesForCurrentThread();
        feeder.Feed(head);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 64 * 1024);
        Assert.InRange(feeder.Parser.BufferedBytes, 1, 64);
    }

    [Fact]
    public void ManyArgumentsAreParsed()
    {
        const int count = 200_000;
        var stream = new MemoryStream();
        stream.Write(Encoding.ASCII.GetBytes($"*{count}\r\n"));
        for (int i = 0; i < count; i++) stream.Write("$1\r\nx\r\n"u8);
        byte[] data = stream.ToArray();
        var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
        for (int at = 0; at < data.Length; at += 16_000) feeder.Feed(data.AsSpan(at, Math.Min(16_000, data.Length - at)));
        Assert.Equal(SlowParser.Parse(data).Requests, feeder.Requests);
    }

    /// <summary>Empty arguments have no bytes, but their positions count as memory of the client.</summary>
    [Fact]
    public void ThePositionsOfArgumentsAreCounted()
    {
        byte[] piece = [.. Enumerable.Repeat("$0\r\n\r\n"u8.ToArray(), 1000).SelectMany(static bytes => bytes)];
        var feeder = new Feeder(new RequestLimits(), bytes => new ReadOnlySequence<byte>(bytes));
        feeder.Feed("*2147483647\r\n"u8);
        for (int i = 1; i <= 200; i++)
        {
            feeder.Feed(piece);
            Assert.InRange(feeder.Parser.BufferedBytes, i * 1000 * 8, i * 1000 * 8 + 64);
            Assert.InRange(feeder.Parser.RoomBytes, 0, i * 1000 * 8 + 64);
        }
        Assert.Null(feeder.Error);
        Assert.Empty(feeder.Requests);
    }

    /// <summary>A reference would keep the memory of a large input while its connection is idle.</summary>
    [Fact]
    public void AClearedBatchDoesNotKeepItsInput()
    {
        var batch = new RequestBatch();
        WeakReference input = ParseOnce(batch);
        batch.Clear();
        GC.Collect();
        Assert.False(input.IsAlive);
        Assert.Equal(0, batch.Count);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference ParseOnce(RequestBatch batch)
    {
        byte[] data = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*1\r\n$4\r\nPING\r\n"u8.ToArray();
        new RequestParser(new RequestLimits()).Parse(new ReadOnlySequence<byte>(data), batch, out _, out _);
        Assert.Equal(2, batch.Count);
        return new WeakReference(data);
    }

    [Fact]
    public void ABatchIsBounded()
    {
        byte[] data = [.. Enumerable.Repeat("*1\r\n$4\r\nPING\r\n"u8.ToArray(), 100).SelectMany(b => b)];
        var parser = new RequestParser(new RequestLimits { MaxBatchRequests = 30 });
        var batch = new RequestBatch();
        var input = new ReadOnlySequence<byte>(data);
        parser.Parse(input, batch, out SequencePosition consumed, out SequencePosition examined);
        Assert.Equal(30, batch.Count);
        Assert.Equal(30 * 14, input.GetOffset(consumed));
        Assert.Equal(consumed, examined);
        Assert.Equal(0, parser.BufferedBytes);
    }

    [Fact]
    public void ARestrictedBatchHasOneRequest()
    {
        byte[] data = Encoding.ASCII.GetBytes(
            "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n*1\r\n$20000\r\n" + new string('v', 20000) + "\r\n");
        var parser = new RequestParser(new RequestLimits()) { Restricted = true };
        var batch = new RequestBatch();
        var input = new ReadOnlySequence<byte>(data);
        parser.Parse(input, batch, out SequencePosition consumed, out _);
        Assert.Equal(1, batch.Count);
        Assert.Null(batch.Error);
        batch.Clear();
        parser.Restricted = false;
        parser.Parse(input.Slice(consumed), batch, out _, out _);
        Assert.Equal(20000, batch[0][0].Length);
    }

    [Fact]
    public void ContiguousRequestIsNotCopied()
    {
        byte[] data = "xx*2\r\n$3\r\nGET\r\n$3\r\nkey\r\nGET inline\r\n"u8.ToArray();
        var parser = new RequestParser(new RequestLimits());
        var batch = new RequestBatch();
        parser.Parse(new ReadOnlySequence<byte>(data, 2, data.Length - 2), batch, out _, out _);
        Assert.Equal(2, batch.Count);
        data.AsSpan().Replace((byte)'k', (byte)'K');
        data.AsSpan().Replace((byte)'l', (byte)'L');
        Assert.Equal("Key"u8, batch[0][1]);
        Assert.Equal("inLine"u8, batch[1][1]);
    }

    [Fact]
    public void ErrorIsFinal()
    {
        var parser = new RequestParser(new RequestLimits());
        var batch = new RequestBatch();
        parser.Parse(new ReadOnlySequence<byte>("PING\r\n*x\r\n"u8.ToArray()), batch, out _, out _);
        Assert.Equal(1, batch.Count);
        Assert.True(batch.HasError);
        batch.Clear();
        Assert.False(batch.HasError);
        var more = new ReadOnlySequence<byte>("PING\r\n"u8.ToArray());
        parser.Parse(more, batch, out SequencePosition consumed, out _);
        Assert.Equal(0, batch.Count);
        Assert.Equal("ERR Protocol error: invalid multibulk length", batch.Error);
        Assert.Equal(more.End, consumed);
    }

    [Fact]
    public void OwnedRequestsMatchParsedRequests()
    {
        using var owned = new OwnedRequest();
        owned.Append("SET"u8).Append("key"u8).Append(new byte[3000]).Append(""u8);
        "xyz"u8.CopyTo(owned.Reserve(3));
        Request request = owned.AsRequest();
        Assert.Equal(5, request.Count);
        Assert.Equal(3009, request.ArgumentBytes);
        Assert.Equal("xyz"u8, request[4]);
        Assert.Equal("key"u8, owned[1]);
        Assert.Equal(3000, request[2].Length);
        owned.Reset();
        Assert.Equal(0, owned.Count);
    }

    private static void AssertSame(Feeder feeder, Parsed expected)
    {
        Assert.Equal(expected.Error, feeder.Error);
        Assert.Equal(expected.Requests, feeder.Requests);
    }
}
