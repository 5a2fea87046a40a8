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
    private bool _asArray;

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
            (long done, long seen) = Parse(input, copy);
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

    /// <summary>Both ways to pass input in one piece take turns.</summary>
    private (long Done, long Seen) Parse(ReadOnlySequence<byte> input, byte[] copy)
    {
        _asArray = !_asArray && input.IsSingleSegment;
        if (_asArray)
        {
            Parser.Parse(new ArraySegment<byte>(copy), _batch, out int taken, out int looked);
            return (taken, looked);
        }
        Parser.Parse(input, _batch, out SequencePosition consumed, out SequencePosition examined);
        return (input.Slice(0, consumed).Length, input.Slice(0, examined).Length);
    }
}
