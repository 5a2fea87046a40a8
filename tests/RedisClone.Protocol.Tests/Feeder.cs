using System.Buffers;

namespace RedisClone.Protocol.Tests;

/// <summary>
/// Acts as the pipe of a parser: keeps unconsumed bytes, passes them on in pieces, calls the parser only when a pipe would, and
/// overwrites the memory after every advance.
/// </summary>
internal sealed class Feeder(RequestLimits limits, Func<byte[], ReadOnlySequence<byte>> cut)
{
    private readonly RequestBatch _batch = new();
    private byte[] _pending = [];

    public RequestParser Parser { get; } = new(limits);

    public List<string> Requests { get; } = [];

    public string? Error { get; private set; }

    public int Pending => _pending.Length;

    public long Received { get; private set; }

    public long WireBytes { get; private set; }

    public void Feed(ReadOnlySpan<byte> bytes)
    {
        Received += bytes.Length;
        _pending = [.. _pending, .. bytes];
        while (Error is null && _pending.Length > 0)
        {
            byte[] copy = [.. _pending];
            ReadOnlySequence<byte> input = cut(copy);
            Parser.Parse(input, _batch, out SequencePosition consumed, out SequencePosition examined);
            long done = input.Slice(0, consumed).Length;
            long seen = input.Slice(0, examined).Length;
            Assert.True(done <= seen);
            for (int i = 0; i < _batch.Count; i++)
            {
                Requests.Add(Parsed.Show(_batch[i]));
                WireBytes += _batch[i].WireLength;
            }
            Error = _batch.Error;
            bool stopped = seen < input.Length;
            Assert.True(!stopped || _batch.Count > 0, "the parser would be called again without progress");
            _batch.Clear();
            Array.Fill(copy, (byte)0xDD);
            _pending = _pending[(int)done..];
            if (!stopped) break;
        }
    }
}
