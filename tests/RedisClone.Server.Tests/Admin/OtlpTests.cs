using System.Buffers.Binary;
using System.Globalization;
using System.Net;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Admin;

/// <summary>The export of the figures to a collector of OpenTelemetry, which a listener in the test plays.</summary>
public sealed class OtlpTests : IAsyncDisposable
{
    private readonly HttpListener _collector = new();
    private readonly int _port = Ports.Free();
    private readonly string _headers = Path.GetTempFileName();

    public OtlpTests()
    {
        _collector.Prefixes.Add($"http://127.0.0.1:{_port}/");
        _collector.Start();
    }

    public ValueTask DisposeAsync()
    {
        _collector.Close();
        File.Delete(_headers);
        return ValueTask.CompletedTask;
    }

    [Fact]
    public async Task ACollectorReceivesTheFigures()
    {
        await File.WriteAllTextAsync(_headers, "# a comment\nAuthorization: Bearer token\n");
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("SET a 1");
        client.Run("GET a");
        Answer(await ReceiveAsync(), 200);
        HttpListenerContext second = await ReceiveAsync();
        Assert.Equal("POST", second.Request.HttpMethod);
        Assert.Equal("/v1/metrics", second.Request.Url!.AbsolutePath);
        Assert.Equal("application/x-protobuf", second.Request.ContentType);
        Assert.Equal("Bearer token", second.Request.Headers["Authorization"]);
        using var body = new MemoryStream();
        await second.Request.InputStream.CopyToAsync(body);
        Answer(second, 200);

        Field resourceMetrics = Field.Read(body.ToArray()).Single();
        Field[] resource = [.. resourceMetrics[1].Single()[1]];
        Assert.Contains(resource, static a => a[1].Single().Text == "service.name" && a[2].Single()[1].Single().Text == "redisclone");
        Dictionary<string, Field> metrics = resourceMetrics[2].Single()[2].ToDictionary(static metric => metric[1].Single().Text);
        Assert.True(metrics.Count > 60, string.Join(' ', metrics.Keys));
        const int gauge = 5, sum = 7;
        Field clients = metrics["redis_connected_clients"][gauge].Single()[1].Single();
        Assert.Equal(1, clients[4].Single().Double);
        Field commands = metrics["redis_commands_total"][sum].Single();
        Assert.Equal(2UL, commands[2].Single().Value);      // cumulative
        Assert.Equal(1UL, commands[3].Single().Value);      // monotonic
        Field gets = commands[1].Single(static point => point[7].Single()[2].Single()[1].Single().Text == "get");
        Assert.Equal("cmd", gets[7].Single()[1].Single().Text);
        Assert.Equal(1, gets[4].Single().Double);
        ulong start = gets[2].Single().Value, now = gets[3].Single().Value;
        Assert.InRange(start, 1_700_000_000_000_000_000UL, now);
        Field[] latencies = [.. metrics["redisclone_command_latency_seconds"][gauge].Single()[1]];
        Assert.Contains(latencies, static point => point[7].Any(static a => a[1].Single().Text == "quantile" && a[2].Single()[1].Single().Text == "0.99"));
        Assert.Equal("s", metrics["redisclone_command_latency_seconds"][3].Single().Text);
        Assert.Equal("By", metrics["redis_memory_used_bytes"][3].Single().Text);
    }

    [Fact]
    public async Task AFailureOfTheCollectorIsNoFailureOfTheServer()
    {
        await using RunningServer server = await StartAsync();
        Answer(await ReceiveAsync(), 503);
        Answer(await ReceiveAsync(), 200);
        using TestClient client = server.Connect();
        Assert.Contains("PONG", client.Run("PING"), StringComparison.Ordinal);
    }

    /// <summary>To open a FIFO without a writer would block for ever. The exports go on when the file can be read.</summary>
    [Fact]
    public async Task AHeadersFileThatIsNoneDoesNotStopTheExports()
    {
        File.Delete(_headers);
        SpecialFile.MakeFifo(_headers);
        await using RunningServer server = await StartAsync();
        Task<HttpListenerContext> received = ReceiveAsync();
        await Task.Delay(TimeSpan.FromSeconds(1.5));
        Assert.False(received.IsCompleted);
        File.Delete(_headers);
        await File.WriteAllTextAsync(_headers, "X-Team: storage");
        HttpListenerContext export = await received;
        Assert.Equal("storage", export.Request.Headers["X-Team"]);
        Answer(export, 200);
    }

    [Theory]
    [InlineData("localhost:4318", false)]
    [InlineData("ftp://localhost", false)]
    [InlineData("http://localhost:4318", true)]
    [InlineData("https://collector.example/otlp/v1/metrics", true)]
    [InlineData("", true)]
    public void TheEndpointIsAUrl(string value, bool isValid) =>
        Assert.Equal(isValid, ServerConfig.Load(["--otlp-endpoint", value], new Dictionary<string, string>()).Config is not null);

    private Task<RunningServer> StartAsync() => RunningServer.StartAsync(TransportKind.EventLoop, config =>
    {
        config.OtlpEndpoint = string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{_port}");
        config.OtlpInterval = 1;
        config.OtlpHeadersFile = _headers;
    });

    private Task<HttpListenerContext> ReceiveAsync() => _collector.GetContextAsync().WaitAsync(TimeSpan.FromSeconds(60));

    private static void Answer(HttpListenerContext context, int status)
    {
        context.Response.StatusCode = status;
        context.Response.Close();
    }

    /// <summary>A field of a message of Protocol Buffers: a number, or bytes that may be a text or a message.</summary>
    private sealed record Field(int Number, ulong Value, byte[] Bytes)
    {
        public string Text => Encoding.UTF8.GetString(Bytes);

        public double Double => BitConverter.UInt64BitsToDouble(Value);

        public IEnumerable<Field> this[int number] => Read(Bytes).Where(field => field.Number == number);

        public static List<Field> Read(byte[] message)
        {
            var fields = new List<Field>();
            int at = 0;
            while (at < message.Length)
            {
                ulong tag = Varint(message, ref at);
                int number = (int)(tag >> 3);
                switch (tag & 7)
                {
                    case 0:
                        fields.Add(new Field(number, Varint(message, ref at), []));
                        break;
                    case 1:
                        fields.Add(new Field(number, BinaryPrimitives.ReadUInt64LittleEndian(message.AsSpan(at)), []));
                        at += 8;
                        break;
                    case 2:
                        int length = (int)Varint(message, ref at);
                        fields.Add(new Field(number, 0, message[at..(at + length)]));
                        at += length;
                        break;
                    default:
                        throw new FormatException();
                }
            }
            return fields;
        }

        private static ulong Varint(byte[] message, ref int at)
        {
            ulong value = 0;
            for (int shift = 0; ; shift += 7)
            {
                byte next = message[at++];
                value |= (ulong)(next & 0x7F) << shift;
                if (next < 0x80) return value;
            }
        }
    }
}
