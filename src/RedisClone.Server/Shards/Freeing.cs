using System.Diagnostics;
using RedisClone.Server.Failures;

namespace RedisClone.Server.Shards;

/// <summary>
/// Frees what was deleted but was too large to be freed at once, and goes on with what a shard has begun to give back to the system:
/// in slices of a fraction of a millisecond a shard, one after the other for as long as there is work. Whoever calls it rests between
/// bursts, so that on one core the event loop has its turn.
/// </summary>
internal sealed class Freeing(ShardMap shards, FailurePolicy failures)
{
    private const string FreeingFailed = "the freeing of deleted data failed";
    private const int BucketsPerStep = 64;
    private const int PagesPerStep = 256;
    private const int LongestSlice = 16;        // of the usual ones
    private static readonly long s_slice = Stopwatch.Frequency / 4_000;
    private static readonly long s_burst = Stopwatch.Frequency / 1_000;

    private readonly Slice?[] _posted = new Slice?[shards.Count];
    private int _next;

    /// <summary>Whether anything waits to be freed: read without a hold, so only the next look is sure.</summary>
    public bool HasWork
    {
        get
        {
            for (int i = 0; i < shards.Count; i++)
                if (Needs(shards[i])) return true;
            return false;
        }
    }

    /// <summary>One burst over the shards that have something to free.</summary>
    public void Run()
    {
        long end = Stopwatch.GetTimestamp() + s_burst;
        for (int seen = 0; seen < shards.Count && Stopwatch.GetTimestamp() < end; seen++)
        {
            Shard shard = shards[_next];
            _next = (_next + 1) % shards.Count;
            if (!Needs(shard)) continue;
            if (shard.TryEnter())
            {
                try
                {
                    FreeFor(s_slice, shard);
                }
                catch (Exception failure)
                {
                    failures.BackgroundFailed(FreeingFailed, failure, shard);
                }
                finally
                {
                    shard.Exit();
                }
            }
            else
            {
                // A shard that always has a queue would never be found idle: the slice queues too.
                (_posted[shard.Index] ??= new Slice(failures)).PostTo(shard);
            }
        }
    }

    /// <summary>Frees for one slice of time what a held shard has to free.</summary>
    private static void FreeFor(long ticks, Shard shard)
    {
        long end = Stopwatch.GetTimestamp() + ticks;
        while (!shard.Store.FreeAbandoned(BucketsPerStep))
            if (Stopwatch.GetTimestamp() >= end) return;
        while (shard.Store.Arena.IsTrimming && !shard.Store.Arena.Trim(pages: PagesPerStep))
            if (Stopwatch.GetTimestamp() >= end) return;
    }

    private static bool Needs(Shard shard) => shard.Store.IsFreeing || shard.Store.Arena.IsTrimming;

    /// <summary>
    /// A slice that waits in a shard's mailbox, at most one a shard. While commands abandon more than it frees, it grows, or memory would;
    /// once it has caught up, it is short again.
    /// </summary>
    private sealed class Slice(FailurePolicy failures) : IShardWork
    {
        private int _waits;
        private int _length = 1;
        private long _foundBefore;

        public void PostTo(Shard shard)
        {
            if (Interlocked.Exchange(ref _waits, 1) == 0) shard.Post(this);
        }

        bool IShardWork.RunHeld(Shard shard)
        {
            Volatile.Write(ref _waits, 0);
            long found = shard.Store.PendingFrees;
            if (found > _foundBefore) _length = Math.Min(_length * 2, LongestSlice);
            _foundBefore = found;
            try
            {
                FreeFor(_length * s_slice, shard);
            }
            catch (Exception failure)
            {
                failures.BackgroundFailed(FreeingFailed, failure, shard);
            }
            if (!shard.Store.IsFreeing) _length = 1;
            return false;
        }
    }
}
