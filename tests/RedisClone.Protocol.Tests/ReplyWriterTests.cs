using System.Buffers;
using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>
/// Compares replies to the byte, on outputs that give as little room as allowed, and with a model that only appends.
/// </summary>
public sealed class ReplyWriterTests
{
    public static TheoryData<string, string, string> Replies() => new()
    {
        { "ok", "+OK\r\n", "+OK\r\n" },
        { "simple", "+PONG\r\n", "+PONG\r\n" },
        { "error", "-ERR a  b c\r\n", "-ERR a  b c\r\n" },
        {
            "integers",
            ":0\r\n:9\r\n:10\r\n:-1\r\n:9223372036854775807\r\n:-9223372036854775808\r\n",
            ":0\r\n:9\r\n:10\r\n:-1\r\n:9223372036854775807\r\n:-9223372036854775808\r\n"
        },
        {
            "bulk",
            "$0\r\n\r\n$5\r\nhello\r\n$11\r\nhello world\r\n$3\r\n-12\r\n$3\r\n\u00c3\u00a9!\r\n",
            "$0\r\n\r\n$5\r\nhello\r\n$11\r\nhello world\r\n$3\r\n-12\r\n$3\r\n\u00c3\u00a9!\r\n"
        },
        { "null", "$-1\r\n*-1\r\n*0\r\n", "_\r\n_\r\n*0\r\n" },
        { "headers", "*3\r\n*8\r\n*5\r\n*2\r\n", "*3\r\n%4\r\n~5\r\n>2\r\n" },
        { "doubles", "$3\r\n1.5\r\n$1\r\n3\r\n$3\r\ninf\r\n$5\r\n1e+30\r\n", ",1.5\r\n,3\r\n,inf\r\n,1e+30\r\n" },
        { "bools", ":1\r\n:0\r\n", "#t\r\n#f\r\n" },
        { "verbatim", "$4\r\ntext\r\n", "=8\r\ntxt:text\r\n" },
        { "big", "$20\r\n12345678901234567890\r\n$3\r\n0.5\r\n", "(12345678901234567890\r\n,0.5\r\n" },
        { "deferred", "*2\r\n:1\r\n*4\r\n:2\r\n*0\r\n:3\r\n:4\r\n*12\r\n", "*2\r\n:1\r\n%2\r\n:2\r\n~0\r\n:3\r\n:4\r\n*12\r\n" },
    };

    private static void Write(ReplyWriter writer, string what)
    {
        switch (what)
        {
            case "ok":
                writer.Ok();
                break;
            case "simple":
                writer.SimpleString("PONG"u8);
                break;
            case "error":
                writer.Error("ERR a\r\nb\nc\r\n");
                break;
            case "integers":
                foreach (long value in new[] { 0, 9, 10, -1, long.MaxValue, long.MinValue }) writer.Integer(value);
                break;
            case "bulk":
                writer.Bulk(""u8);
                writer.Bulk("hello"u8);
                writer.BulkString("hello world");
                writer.BulkInteger(-12);
                writer.BulkString("\u00e9!");
                break;
            case "null":
                writer.Null();
                writer.NullArray();
                writer.EmptyArray();
                break;
            case "headers":
                writer.ArrayHeader(3);
                writer.MapHeader(4);
                writer.SetHeader(5);
                writer.PushHeader(2);
                break;
            case "doubles":
                foreach (double value in new[] { 1.5, 3, double.PositiveInfinity, 1e30 }) writer.Double(value);
                break;
            case "bools":
                writer.Bool(true);
                writer.Bool(false);
                break;
            case "verbatim":
                writer.Verbatim("txt"u8, "text"u8);
                break;
            case "big":
                writer.BigNumber("12345678901234567890"u8);
                writer.NumberText("0.5"u8);
                break;
            case "deferred":
                DeferredReply outer = writer.BeginDeferred();
                writer.Integer(1);
                DeferredReply map = writer.BeginDeferred();
                writer.Integer(2);
                writer.EndSet(writer.BeginDeferred(), 0);
                writer.Integer(3);
                writer.Integer(4);
                writer.EndMap(map, 2);
                writer.EndArray(writer.BeginDeferred(), 12);
                writer.EndArray(outer, 2);
                break;
        }
    }

    [Theory]
    [MemberData(nameof(Replies))]
    public void RepliesMatchToTheByte(string what, string inResp2, string inResp3)
    {
        foreach (bool marked in new[] { false, true })
        {
            foreach (int chunk in new[] { 1, 5, 64, 5000 })
            {
                foreach (int version in new[] { 2, 3 })
                {
                    var output = new HostileOutput(chunk, 1);
                    var writer = new ReplyWriter(output) { Version = version };
                    if (marked) writer.Mark();
                    Write(writer, what);
                    string expected = version == 2 ? inResp2 : inResp3;
                    Assert.Equal(expected.Length, writer.BytesWritten);
                    writer.Commit();
                    Assert.Equal(expected, Encoding.Latin1.GetString(output.Written));
                    Assert.Equal(expected.Length, writer.BytesWritten);
                }
            }
        }
    }

    [Fact]
    public void AttributesNeedResp3()
    {
        var output = new HostileOutput(64, 1);
        var writer = new ReplyWriter(output);
        Assert.Throws<InvalidOperationException>(() => writer.AttributeHeader(1));
        writer.Version = 3;
        writer.AttributeHeader(1);
        writer.Commit();
        Assert.Equal("|1\r\n"u8, output.Written);
    }

    [Fact]
    public void ErrorsAreCountedAndTheLastCodeIsKept()
    {
        var writer = new ReplyWriter(new HostileOutput(64, 1));
        writer.Error("WRONGTYPE Operation against a key holding the wrong kind of value"u8);
        Assert.Equal("WRONGTYPE"u8, writer.LastErrorCode);
        ReplyMark mark = writer.Mark();
        writer.Error("OOM");
        Assert.Equal("ERR"u8, writer.LastErrorCode);
        Assert.Equal(2, writer.Errors);
        writer.Rollback(mark);
        Assert.Equal(1, writer.Errors);
        writer.Error(new string('x', 2000) + " y");
        Assert.Equal("ERR"u8, writer.LastErrorCode);
    }

    [Fact]
    public void OnlyTheLatestMarkCanBeRolledBack()
    {
        var writer = new ReplyWriter(new HostileOutput(64, 1));
        ReplyMark first = writer.Mark();
        writer.Ok();
        ReplyMark second = writer.Mark();
        Assert.False(writer.Rollback(first));
        Assert.True(writer.Rollback(second));
        writer.Commit();
        Assert.False(writer.Rollback(second));
        writer.BeginDeferred();
        Assert.Throws<InvalidOperationException>(writer.Commit);
    }

    [Fact]
    public void RandomRepliesMatchModel()
    {
        for (int round = 0; round < 200; round++)
        {
            Random random = Seed.Random(1000 + round);
            int chunk = random.Next(4) switch { 0 => 1, 1 => 50, 2 => 3000, _ => 70000 };
            var output = new HostileOutput(chunk, random.Next());
            var writer = new ReplyWriter(output) { Version = random.Next(2, 4) };
            var committed = new MemoryStream();
            for (int command = random.Next(40); command >= 0; command--)
            {
                bool marked = random.Next(4) > 0;
                ReplyMark mark = marked ? writer.Mark() : default;
                long before = writer.BytesWritten;
                bool fails = marked && random.Next(4) == 0;
                int depth = random.Next(20) == 0 ? 40 : 4, longest = chunk < 100 ? 3000 : 100_000;
                bool complete = WriteRandom(writer, random, depth, longest, fails, out byte[] expected);
                if (fails)
                {
                    Assert.True(writer.Rollback(mark));
                    Assert.Equal(before, writer.BytesWritten);
                    writer.Error("ERR internal error"u8);
                    expected = "-ERR internal error\r\n"u8.ToArray();
                }
                else Assert.True(complete);
                Assert.True(before + expected.Length == writer.BytesWritten, $"{Seed.Note} round {round}");
                committed.Write(expected);
                if (random.Next(5) == 0)
                {
                    writer.Commit();
                    Assert.True(output.Written.AsSpan().SequenceEqual(committed.ToArray()), $"{Seed.Note} round {round}");
                }
            }
            writer.Commit();
            Assert.True(output.Written.AsSpan().SequenceEqual(committed.ToArray()), $"{Seed.Note} round {round}");
        }
    }

    /// <summary>
    /// Writes a random reply and returns its expected bytes. It may stop halfway, with deferred replies still open.
    /// </summary>
    private static bool WriteRandom(ReplyWriter writer, Random random, int size, int longest, bool mayStop, out byte[] expected)
    {
        var stream = new MemoryStream();
        expected = [];
        for (int i = random.Next(size); i >= 0; i--)
        {
            if (mayStop && random.Next(5) == 0) return false;
            switch (random.Next(5))
            {
                case 0:
                    long number = random.Next(3) == 0 ? random.NextInt64() : random.Next(12);
                    writer.Integer(number);
                    stream.Write(Encoding.ASCII.GetBytes($":{number}\r\n"));
                    break;
                case 1:
                    DeferredReply reply = writer.BeginDeferred();
                    if (!WriteRandom(writer, random, size / 2 + 1, longest, mayStop, out byte[] inner)) return false;
                    int count = random.Next(2000);
                    writer.EndArray(reply, count);
                    stream.Write(Encoding.ASCII.GetBytes($"*{count}\r\n"));
                    stream.Write(inner);
                    break;
                case 2:
                    var raw = new byte[random.Next(100)];
                    random.NextBytes(raw);
                    writer.Raw(raw);
                    stream.Write(raw);
                    break;
                default:
                    int most = random.Next(10) switch { 0 => longest, 1 => 3000, _ => 300 };
                    var value = new byte[random.Next(most)];
                    random.NextBytes(value);
                    writer.Bulk(value);
                    stream.Write(Encoding.ASCII.GetBytes($"${value.Length}\r\n"));
                    stream.Write(value);
                    stream.Write("\r\n"u8);
                    break;
            }
        }
        expected = stream.ToArray();
        return true;
    }

    /// <summary>
    /// Returns a new chunk at every request, hardly larger than the size asked for and sometimes without an array. Overwrites all
    /// uncommitted bytes when it is asked again.
    /// </summary>
    private sealed class HostileOutput(int chunk, int seed) : IBufferWriter<byte>
    {
        private readonly Random _random = new(seed);
        private readonly ArrayBufferWriter<byte> _written = new();
        private byte[] _current = [];
        private int _offset;

        public byte[] Written => _written.WrittenSpan.ToArray();

        public void Advance(int count)
        {
            _written.Write(_current.AsSpan(_offset, count));
            _offset += count;
        }

        public Memory<byte> GetMemory(int sizeHint = 0)
        {
            Array.Fill(_current, (byte)0xDD);
            _offset = _random.Next(3);
            _current = new byte[_offset + Math.Max(Math.Max(sizeHint, 1), _random.Next(chunk + 1))];
            if (_random.Next(10) > 0) return _current.AsMemory(_offset);
            _offset = 0;
            return new ArraylessMemory(_current).Memory;
        }

        public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;
    }
}
