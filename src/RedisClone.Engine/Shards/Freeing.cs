using System.Diagnostics;
using RedisClone.Engine.Failures;

namespace RedisClone.Engine.Shards;

/// <summary>
/// Frees deleted data that was too large to free at once, and continues the trimming that a shard has begun, which returns
/// free pages to the operating system. The work is done in slices of a fraction of a millisecond for each shard. The caller
/// rests between bursts, so that the event loop gets a turn even on one core.
/// </summary>
internal sealed class Freeing(ShardMap shards, FailurePolicy failures)
{
    private const string FreeingFailed = "the freeing of deleted data failed";
    private const int BucketsPerStep = 64;
    private const int PagesPerStep = 256;
    private const int LongestSlice = 16;        // times the usual slice
    private static readonly long s_slice = Stopwatch.Frequency / 4_000;
    private static readonly long s_burst = Stopwatch.Frequency / 1_000;

    private readonly Slice?[] _posted = new Slice?[shards.Count];
    private int _next;

    /// <summary>
    /// Whether any shard has something to free. The shards are read without a hold, so the answer may be out of date.
    /// </summary>
    public bool HasWork
    {
        get
        {
            for (int i = 0; i < shards.Count; i++)
                if (Needs(shards[i])) return true;
            return false;
        }
    }

    /// <summary>Runs one burst over the shards that have something to free.</summary>
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
                // TryEnter never succeeds on a shard whose mailbox always has work, so the slice waits in the mailbox too.
                (_posted[shard.Index] ??= new Slice(failures)).PostTo(shard);
            }
        }
    }

    /// <summary>Frees data of a held shard for one slice of time.</summary>
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
    /// A slice that waits in a shard's mailbox, at most one for each shard. Its length doubles while commands abandon data
    /// faster than it frees them, because memory would grow otherwise. The length is reset once nothing is left to free.
    /// </summary>
    private sealed class Slice(FailurePolicy failures) : IShardWork
    {
        private int _waits;
        private int _length = 1;
        private long _foundBefore;

        public void PostTo(Shard shard)
        {
            if (Interlocked.Exchange(ref _waits, 1) != 0) return;
            try
            {
                shard.Post(this);
            }
            catch (OutOfMemoryException)
            {
                Volatile.Write(ref _waits, 0);
                throw;
            }
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
