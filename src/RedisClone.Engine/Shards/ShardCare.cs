using System.Diagnostics;

namespace RedisClone.Engine.Shards;

/// <summary>
/// The periodic work in one shard: it expires keys, compacts sparse memory, and returns free memory to the operating system. A shard that
/// is busy in several rounds gets the work through its mailbox: <see cref="Shard.TryEnter"/> never succeeds while a mailbox has work.
/// </summary>
internal sealed class ShardCare(ServerCore server, ActiveExpiry expiry, Shard shard) : IShardWork
{
    /// <summary>The time for the expiry of one shard's keys in a turn, for each step of active-expire-effort.</summary>
    private static readonly TimeSpan s_expiryTurn = TimeSpan.FromMilliseconds(0.5);

    /// <summary>Rounds in which a shard may be busy before the work waits in its mailbox, which is a hop for the commands behind it.</summary>
    private const int RoundsSkipped = 3;

    private const int CompactBuckets = 512;
    private const long LeastKept = 128 << 10, MostKept = 1 << 20;
    private const int KeptPart = 16;    // a shard may keep this fraction (1/16) of its used memory free
    private const int TrimmedPages = 256;

    /// <summary>Chunks of 512 KB that a round moves in a shard: a chunk takes about a tenth of a millisecond.</summary>
    private const int ChunksMoved = 4, ChunksMovedWhenShort = 32;

    private int _skipped, _waits;
    private bool _onlyExpires, _trims;          // what the work in the mailbox is to do
    private volatile bool _hasExpired;
    private long _expiryTicks;

    /// <summary>Whether expired keys were left when the time of the last turn was up.</summary>
    public bool HasExpired => _hasExpired;

    /// <summary>The time that the expiry of keys has taken since the last call.</summary>
    public long TakeExpiryTicks() => Interlocked.Exchange(ref _expiryTicks, 0);

    /// <summary>Runs the periodic work, or skips it if the shard is busy.</summary>
    /// <param name="trims">Whether the shard returns free memory in this round.</param>
    public void Run(bool trims)
    {
        (_onlyExpires, _trims) = (false, trims);
        if (Volatile.Read(ref _waits) != 0) return;
        if (TryTend()) _skipped = 0;
        else if (++_skipped > RoundsSkipped)
        {
            _skipped = 0;
            Post();
        }
    }

    /// <summary>Expires further keys, for one more turn.</summary>
    public void ExpireMore()
    {
        if (Volatile.Read(ref _waits) != 0) return;
        _onlyExpires = true;
        if (!TryTend()) Post();
    }

    bool IShardWork.RunHeld(Shard held)
    {
        if (server.Debug.BackgroundWork) Tend();
        Volatile.Write(ref _waits, 0);
        return false;
    }

    private bool TryTend()
    {
        if (!shard.TryEnter()) return false;
        try
        {
            Tend();
        }
        finally
        {
            shard.Exit();
        }
        return true;
    }

    private void Post()
    {
        Volatile.Write(ref _waits, 1);
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

    private bool Expires => server.Debug.ActiveExpiry && server.ExpiryEnabled && !server.Pause.IsOn && !server.Role.IsReplica;

    private void Tend()
    {
        try
        {
            long now = ServerCore.UnixMilliseconds();
            shard.Store.Now = now;
            _hasExpired = Expires && Expire(now);
            if (_onlyExpires) return;
            if (!shard.Store.IsFreeing) shard.Store.Compact(CompactBuckets);
            bool isShort = server.Failures.IsReserveOut || server.Shards.Budget.IsShortFor(0);
            shard.Store.LeaveBlocks(isShort ? ChunksMovedWhenShort : ChunksMoved);
            if ((_trims || isShort) && !shard.Store.Arena.IsTrimming)
                shard.Store.Arena.Trim(isShort ? 0 : Math.Clamp(shard.Store.Arena.BytesUsed / KeptPart, LeastKept, MostKept), TrimmedPages);
        }
        catch (Exception failure)
        {
            server.Failures.BackgroundFailed("expiry or compaction failed", failure, shard);
        }
    }

    private bool Expire(long now)
    {
        long started = Stopwatch.GetTimestamp();
        bool hasMore = expiry.Run(shard, now, s_expiryTurn * server.Config.ActiveExpireEffort);
        Interlocked.Add(ref _expiryTicks, Stopwatch.GetTimestamp() - started);
        return hasMore;
    }
}
