using System.Globalization;
using RedisClone.Engine.Shards;
using RedisClone.Storage.Memory;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about the buffers of the data by size class, over all shards.</summary>
internal static class BufferInfo
{
    private const string Large = "large";

    public static readonly InfoRow[] Rows =
    [
        new Family<BufferClass>("buffers_", "size", Classes, [
            new("used", static c => c.Used, Gauge("redisclone_class_buffers", "Buffers in use of a size class.")),
            new("bytes", static c => c.Bytes, Gauge("redisclone_class_used_bytes", "Bytes of the buffers in use of a size class.", Unit.Bytes)),
            new("slack", static c => c.Slack,
                Gauge("redisclone_class_slack_bytes", "Bytes of the slabs of a size class that are reserved and not in use.", Unit.Bytes)),
        ]),
    ];

    /// <summary>The classes that have slabs, by the size of their buffers; then the buffers that are whole pages.</summary>
    private static IEnumerable<KeyValuePair<string, BufferClass>> Classes(ServerReading reading)
    {
        ShardMap shards = reading.Server.Shards;
        long smallBuffers = 0, smallBytes = 0;
        for (int sizeClass = 1; sizeClass <= SizeClasses.Count; sizeClass++)
        {
            long used = 0, slabs = 0;
            for (int i = 0; i < shards.Count; i++)
            {
                (int Used, int Slabs) count = shards[i].Store.Arena.CountOf(sizeClass);
                used += count.Used;
                slabs += count.Slabs;
            }
            if (slabs == 0) continue;
            int size = SizeClasses.SizeOf(sizeClass);
            smallBuffers += used;
            smallBytes += used * size;
            yield return KeyValuePair.Create(size.ToString(CultureInfo.InvariantCulture),
                new BufferClass(used, used * size, Math.Max(0, slabs * SizeClasses.SlabBytes(sizeClass) - used * size)));
        }
        long buffers = -smallBuffers, bytes = -smallBytes;
        for (int i = 0; i < shards.Count; i++)
        {
            buffers += shards[i].Store.Arena.LiveBuffers;
            bytes += shards[i].Store.Arena.BytesUsed;
        }
        // The shards work on while they are read.
        yield return KeyValuePair.Create(Large, new BufferClass(Math.Max(0, buffers), Math.Max(0, bytes), 0));
    }

    private readonly record struct BufferClass(long Used, long Bytes, long Slack);
}
