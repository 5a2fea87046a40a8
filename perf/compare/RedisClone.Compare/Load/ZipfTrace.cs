namespace RedisClone.Compare.Load;

/// <summary>
/// An endless sequence of key numbers, the same for every server. The frequency of the i-th most popular key is proportional to
/// 1 / i^skew. The popularity of a key does not depend on its number.
/// </summary>
internal sealed class ZipfTrace
{
    public const int Seed = 20261122;
    private const double Skew = 0.99;

    private readonly Random _random = new(Seed);
    private readonly double[] _upTo;
    private readonly int[] _keys;

    public ZipfTrace(int keys)
    {
        _upTo = new double[keys];
        double sum = 0;
        for (int i = 0; i < keys; i++) _upTo[i] = sum += 1 / Math.Pow(i + 1, Skew);
        _keys = [.. Enumerable.Range(0, keys)];
        _random.Shuffle(_keys);
    }

    public int Next()
    {
        int rank = Array.BinarySearch(_upTo, _random.NextDouble() * _upTo[^1]);
        return _keys[Math.Min(rank < 0 ? ~rank : rank, _keys.Length - 1)];
    }
}
