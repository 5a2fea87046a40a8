using System.Buffers;
using System.Collections.Concurrent;
using System.Text;
using System.Threading.Channels;
using BenchmarkDotNet.Attributes;
using RedisClone.Protocol;

namespace RedisClone.Benchmarks;

/// <summary>
/// Measures the steps from a naive server to this server. Each step executes the same batches of thirty requests, from the bytes
/// of the requests to the bytes of the replies, without a network.
/// </summary>
[MemoryDiagnoser]
public class Ladder
{
    private readonly ConcurrentDictionary<string, string> _concurrent = new();
    private readonly StringExecutors _executors = new();
    private readonly Dictionary<string, string>[] _sharded = [.. Enumerable.Range(0, 16).Select(_ => new Dictionary<string, string>())];
    private readonly Dictionary<PooledKey, PooledKey> _pooled = [];
    private readonly ArrayBufferWriter<byte> _output = new(64 * 1024);
    private readonly Engine _engine = new();
    private int _next;

    [Benchmark(Baseline = true, OperationsPerInvoke = Traffic.Pipeline)]
    public int Step1ConcurrentDictionaryOfStrings()
    {
        using var reader = new StreamReader(new MemoryStream(NextBatch()));
        using var writer = new StringWriter();
        while (ReadStrings(reader) is { } request)
        {
            if (request.Length == 3)
            {
                _concurrent[request[1]] = request[2];
                writer.Write("+OK\r\n");
            }
            else
            {
                WriteBulk(writer, _concurrent.GetValueOrDefault(request[1]));
            }
        }
        return writer.GetStringBuilder().Length;
    }

    [Benchmark(OperationsPerInvoke = Traffic.Pipeline)]
    public int Step2ExecutorsWithStrings()
    {
        using var reader = new StreamReader(new MemoryStream(NextBatch()));
        using var writer = new StringWriter();
        while (ReadStrings(reader) is { } request)
        {
            string? value = _executors.Run(request).GetAwaiter().GetResult();
            if (request.Length == 3) writer.Write("+OK\r\n");
            else WriteBulk(writer, value);
        }
        return writer.GetStringBuilder().Length;
    }

    [Benchmark(OperationsPerInvoke = Traffic.Pipeline)]
    public int Step3PipesWithStrings()
    {
        _output.ResetWrittenCount();
        var reader = new SequenceReader<byte>(new ReadOnlySequence<byte>(NextBatch()));
        Span<Range> arguments = stackalloc Range[3];
        while (ReadRanges(ref reader, arguments, out int count))
        {
            string key = Encoding.ASCII.GetString(reader.CurrentSpan[arguments[1]]);
            Dictionary<string, string> shard = _sharded[key[^1] & 15];
            if (count == 3)
            {
                shard[key] = Encoding.ASCII.GetString(reader.CurrentSpan[arguments[2]]);
                _output.Write("+OK\r\n"u8);
            }
            else
            {
                string? value = shard.GetValueOrDefault(key);
                _output.Write(Encoding.ASCII.GetBytes(value is null ? "$-1\r\n" : $"${value.Length}\r\n{value}\r\n"));
            }
        }
        return _output.WrittenCount;
    }

    [Benchmark(OperationsPerInvoke = Traffic.Pipeline)]
    public int Step4PooledBuffersAsKeys()
    {
        _output.ResetWrittenCount();
        var reader = new SequenceReader<byte>(new ReadOnlySequence<byte>(NextBatch()));
        Span<Range> arguments = stackalloc Range[3];
        while (ReadRanges(ref reader, arguments, out int count))
        {
            PooledKey key = PooledKey.Rent(reader.CurrentSpan[arguments[1]]);
            if (count == 3)
            {
                bool replaced = _pooled.Remove(key, out PooledKey old);
                if (replaced) old.Return();
                _pooled[key] = PooledKey.Rent(reader.CurrentSpan[arguments[2]]);
                _output.Write("+OK\r\n"u8);
                continue;
            }
            if (_pooled.TryGetValue(key, out PooledKey value)) WriteBulk(value.Span);
            else _output.Write("$-1\r\n"u8);
            key.Return();
        }
        return _output.WrittenCount;
    }

    [Benchmark(OperationsPerInvoke = Traffic.Pipeline)]
    public int Step5ThisServer() => _engine.Execute(NextBatch());

    private byte[] NextBatch() => Traffic.Batches[_next++ % Traffic.Batches.Length];

    private static string[]? ReadStrings(StreamReader reader)
    {
        if (reader.ReadLine() is not { Length: > 1 } header) return null;
        var arguments = new string[int.Parse(header.AsSpan(1), System.Globalization.CultureInfo.InvariantCulture)];
        for (int i = 0; i < arguments.Length; i++)
        {
            reader.ReadLine();
            arguments[i] = reader.ReadLine()!;
        }
        return arguments;
    }

    private static void WriteBulk(StringWriter writer, string? value) =>
        writer.Write(value is null ? "$-1\r\n" : $"${value.Length}\r\n{value}\r\n");

    private void WriteBulk(ReadOnlySpan<byte> value)
    {
        Span<byte> header = _output.GetSpan(16);
        header[0] = (byte)'$';
        System.Buffers.Text.Utf8Formatter.TryFormat(value.Length, header[1..], out int digits);
        "\r\n"u8.CopyTo(header[(1 + digits)..]);
        _output.Advance(digits + 3);
        _output.Write(value);
        _output.Write("\r\n"u8);
    }

    private static bool ReadRanges(ref SequenceReader<byte> reader, scoped Span<Range> arguments, out int count)
    {
        count = 0;
        if (!reader.TryReadTo(out ReadOnlySpan<byte> header, "\r\n"u8)) return false;
        count = header[1] - '0';
        for (int i = 0; i < count; i++)
        {
            reader.TryReadTo(out ReadOnlySpan<byte> length, "\r\n"u8);
            if (!System.Buffers.Text.Utf8Parser.TryParse(length[1..], out int bytes, out _)) return false;
            arguments[i] = reader.CurrentSpanIndex..(reader.CurrentSpanIndex + bytes);
            reader.Advance(bytes + 2);
        }
        return true;
    }

    /// <summary>Each shard has a thread. Every request is passed to the thread, and the caller waits for its reply.</summary>
    private sealed class StringExecutors
    {
        private readonly Channel<(string[] Request, TaskCompletionSource<string?> Done)>[] _queues =
            [.. Enumerable.Range(0, 2).Select(_ => Channel.CreateUnbounded<(string[], TaskCompletionSource<string?>)>())];

        public StringExecutors()
        {
            foreach (var queue in _queues) _ = Task.Run(() => ExecuteAsync(queue.Reader));
        }

        public Task<string?> Run(string[] request)
        {
            var done = new TaskCompletionSource<string?>();
            _queues[request[1][^1] & 1].Writer.TryWrite((request, done));
            return done.Task;
        }

        private static async Task ExecuteAsync(ChannelReader<(string[] Request, TaskCompletionSource<string?> Done)> queue)
        {
            var data = new Dictionary<string, string>();
            await foreach ((string[] request, TaskCompletionSource<string?> done) in queue.ReadAllAsync())
            {
                if (request.Length == 3) data[request[1]] = request[2];
                done.SetResult(data.GetValueOrDefault(request[1]));
            }
        }
    }

    /// <summary>A key or a value in a rented array.</summary>
    private readonly record struct PooledKey(byte[] Bytes, int Length)
    {
        public ReadOnlySpan<byte> Span => Bytes.AsSpan(0, Length);

        public static PooledKey Rent(ReadOnlySpan<byte> bytes)
        {
            byte[] rented = ArrayPool<byte>.Shared.Rent(bytes.Length);
            bytes.CopyTo(rented);
            return new PooledKey(rented, bytes.Length);
        }

        public void Return() => ArrayPool<byte>.Shared.Return(Bytes);

        public bool Equals(PooledKey other) => Span.SequenceEqual(other.Span);

        public override int GetHashCode()
        {
            var hash = default(HashCode);
            hash.AddBytes(Span);
            return hash.ToHashCode();
        }
    }
}
