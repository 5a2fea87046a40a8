using System.Numerics;

namespace RedisClone.Compare.Load;

/// <summary>A request of a mix (see <see cref="RequestTemplate"/>) and the number of its occurrences in one turn of the mix.</summary>
internal readonly record struct Share(string Request, int Times = 1);

/// <summary>
/// A mix as a ring of prepared batches of the length of a pipeline. To send a batch, the loop fills in the digits and the kernel
/// copies the bytes. All connections of a loop share the ring, so that it stays in the cache of the processor.
/// </summary>
internal sealed class RequestScript
{
    private readonly record struct Batch(byte[] Bytes, Hole[] Holes);

    private readonly Batch[] _batches;
    private readonly ulong[] _counters;
    private ulong _random;

    public RequestScript(IReadOnlyList<Share> mix, int pipeline, int seed)
    {
        _random = (ulong)seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D;
        var turn = new List<(RequestTemplate Template, int FirstCounter)>();
        int counters = 0;
        foreach (Share share in mix)
        {
            RequestTemplate template = RequestTemplate.Parse(share.Request);
            turn.AddRange(Enumerable.Repeat((template, counters), share.Times));
            counters += template.Counters;
        }

        _counters = new ulong[counters];
        _batches = new Batch[turn.Count / (int)BigInteger.GreatestCommonDivisor(turn.Count, pipeline)];
        for (int i = 0; i < _batches.Length; i++)
            _batches[i] = Join(Enumerable.Range(i * pipeline, pipeline).Select(n => turn[n % turn.Count]));
    }

    /// <summary>Fills in and returns the batch of this step. The bytes are valid until the next call.</summary>
    public ReadOnlySpan<byte> Prepare(int step)
    {
        Batch batch = _batches[step % _batches.Length];
        foreach (ref readonly Hole hole in batch.Holes.AsSpan())
        {
            uint number = hole.IsRandom ? NextRandom(hole.Range) : NextStep(hole);
            Span<byte> digits = batch.Bytes.AsSpan(hole.Offset, hole.Width);
            for (int i = digits.Length - 1; i >= 0; i--, number /= 10)
                digits[i] = (byte)('0' + number % 10);
        }

        return batch.Bytes;
    }

    private static Batch Join(IEnumerable<(RequestTemplate Template, int FirstCounter)> requests)
    {
        var bytes = new List<byte>();
        var holes = new List<Hole>();
        foreach ((RequestTemplate template, int first) in requests)
        {
            int offset = bytes.Count;
            holes.AddRange(template.Holes.Select(h => h with { Offset = h.Offset + offset, Counter = h.Counter + first }));
            bytes.AddRange(template.Bytes);
        }

        return new Batch([.. bytes], [.. holes]);
    }

    private uint NextRandom(uint range)
    {
        _random ^= _random << 13;
        _random ^= _random >> 7;
        _random ^= _random << 17;
        return (uint)((_random >> 32) * range >> 32);
    }

    private uint NextStep(in Hole hole)
    {
        ulong count = _counters[hole.Counter]++ % hole.Range;
        return (uint)(count * hole.Stride % hole.Range);
    }
}
