using System.Buffers.Binary;
using System.Globalization;
using RedisClone.Storage;
using RedisClone.Storage.Values.Strings;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>
/// PFSELFTEST: checks up to ten million elements that the sparse and the dense encoding agree, and that the estimate is close
/// to the true number.
/// </summary>
internal static class HyperLogLogSelfTest
{
    private const int Elements = 10_000_000;

    /// <summary>Runs the test and returns an error message, or null on success.</summary>
    public static string? Run(long sparseLimit)
    {
        Keyspace keyspace = new ShardStore(1, (ulong)Random.Shared.NextInt64()).Database(0);
        Create(keyspace, "dense"u8);
        Create(keyspace, "natural"u8);
        Entry dense = Find(keyspace, "dense"u8), natural = Find(keyspace, "natural"u8);
        HyperLogLog.TryMakeDense(dense);

        long mask = Random.Shared.NextInt64();
        int checkpoint = 1;
        Span<byte> element = stackalloc byte[sizeof(long)];
        for (int i = 1; i <= Elements; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(element, i ^ mask);
            HyperLogLog.Add(dense, element, sparseLimit);
            HyperLogLog.Add(natural, element, sparseLimit);
            if (i != checkpoint) continue;
            if (Check(dense, natural, i, sparseLimit) is { } failure) return failure;
            checkpoint *= 10;
        }
        return null;
    }

    private static string? Check(in Entry dense, in Entry natural, int elements, long sparseLimit)
    {
        if (elements < sparseLimit / 2 && !HyperLogLog.IsSparse(natural)) return "sparse encoding not used";
        if (!HyperLogLog.TryCount(dense, out long count) || !HyperLogLog.TryCount(natural, out long other) || count != other)
            return "dense/sparse disagree";
        // A deviation of six times the standard error is almost impossible. Ten elements can have one collision.
        long allowed = elements == 10 ? 1 : (long)Math.Ceiling(1.04 / Math.Sqrt(HyperLogLog.Registers) * 6 * elements);
        long error = Math.Abs(elements - count);
        return error <= allowed ? null : string.Create(CultureInfo.InvariantCulture, $"Too big error. card:{elements} abserr:{error}");
    }

    private static void Create(Keyspace keyspace, ReadOnlySpan<byte> key)
    {
        Entry entry = Find(keyspace, key);
        HyperLogLog.Create(keyspace, ref entry, key);
    }

    private static Entry Find(Keyspace keyspace, ReadOnlySpan<byte> key) => keyspace.Find(key, keyspace.Store.HashOf(key));
}
