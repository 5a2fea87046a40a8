using System.Diagnostics;
using Microsoft.Extensions.Hosting;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Metrics;

namespace RedisClone.Engine.Shards;

/// <summary>
/// The periodic background work, which runs <c>hz</c> times a second: it advances clocks, expires keys, compacts sparse
/// memory in slices, and returns free memory to the operating system. While abandoned data is left, or keys are to be evicted, it does
/// that in slices between the rounds. A busy shard is skipped until the next round. An idle server has no other periodic work.
/// </summary>
internal sealed class Maintenance(ServerCore server) : BackgroundService
{
    /// <summary>
    /// Milliseconds per second that the expiry of one shard's keys may take, for each step of active-expire-effort.
    /// </summary>
    private const int ExpiryEffort = 10;

    private static readonly TimeSpan RestBetweenBursts = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan EvictionSlice = TimeSpan.FromMilliseconds(0.5);
    private const int CompactBuckets = 512;
    private const long LeastKept = 128 << 10, MostKept = 1 << 20;
    private const int KeptPart = 16;    // a shard may keep this fraction (1/16) of its used memory free
    private const int TrimmedPages = 256;

    /// <summary>Chunks of 512 KB that a round moves in a shard: a chunk takes about a tenth of a millisecond.</summary>
    private const int ChunksMoved = 4, ChunksMovedWhenShort = 32;

    private readonly ServerCore _server = server;
    private readonly ActiveExpiry _expiry = new(server);
    private readonly Freeing _freeing = new(server.Shards, server.Failures);
    private readonly ClientCare _clients = new(server);
    private int _round, _hz;            // of the present round, like the next three fields
    private long _started, _now;
    private long _expiryTicks;          // spent on expiry in this round
    private int _evictsFrom;            // the shard at which the last burst of eviction began

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        int hz = _server.Config.Hz;
        using var timer = new PeriodicTimer(PeriodOf(hz));
        using CancellationTokenRegistration stopping = stoppingToken.UnsafeRegister(static timer => ((PeriodicTimer)timer!).Dispose(), timer);
        for (int round = 0; await timer.WaitForNextTickAsync(CancellationToken.None); round++)
        {
            if (_server.Config.Hz != hz) timer.Period = PeriodOf(hz = _server.Config.Hz);
            long started = _started = Stopwatch.GetTimestamp();
            Round(round, hz, ServerCore.UnixMilliseconds());
            while (_server.Debug.BackgroundWork && (_freeing.HasWork || MayEvict) && Stopwatch.GetElapsedTime(started) < timer.Period)
            {
                Guarded(static self => self._freeing.Run());
                Guarded(static self => self.Evict());
                await Task.Delay(RestBetweenBursts, CancellationToken.None);
            }
        }
    }

    /// <summary>
    /// Runs one round. Each part is guarded: a part that fails must not stop the others, such as a shutdown that a signal
    /// requested, or the journal.
    /// </summary>
    private void Round(int round, int hz, long now)
    {
        (_round, _hz, _now, _expiryTicks) = (round, hz, now, 0);
        if (_server.Debug.BackgroundWork) Guarded(static self => self._server.Shutdown.Tend());
        Guarded(static self => self._server.AdvanceClock(self._now));
        Guarded(static self => self._server.Eviction.Look());
        Guarded(static self => self._server.Shards.LookForRoom());
        Guarded(static self => self.TendShards());
        Guarded(static self => self.TendLocalExpiries());
        Guarded(static self => self._server.Latency.Note(LatencyEvents.ExpireCycle, self._expiryTicks));
        Guarded(static self => self._server.HotKeys.Tend(self._now));
        Guarded(static self => self._server.Failures.Tend());
        Guarded(static self => self._server.Journal?.Engine.Tend());
        Guarded(static self => self._server.Rewrites.Tend(self._now));
        Guarded(static self => self._server.Backups.Tend(self._now));
        if (!_server.Debug.IsAsleep)
        {
            Guarded(static self => self._server.Replicas.Tend(self._now));
            Guarded(static self => self._server.Role.Tend(self._now));
            Guarded(static self => self._server.RoleFile.Tend(self._now));
        }
        Guarded(static self => self._server.MigrationLinks.Tend(self._now));
        Guarded(static self => self._server.Snapshots.Tend(self._now));
        if (round % hz == 0 && _server.Debug.BackgroundWork) Guarded(static self => self._clients.Run(self._now));
        Guarded(static self => self._server.Sampler.EndRound(self._started));
    }

    private void Guarded(Action<Maintenance> part)
    {
        try
        {
            part(this);
        }
        catch (Exception bug)
        {
            _server.Failures.WorkFailed("Background work failed", bug);
        }
    }

    private void TendShards()
    {
        TimeSpan expirySlice = TimeSpan.FromMilliseconds(ExpiryEffort * _server.Config.ActiveExpireEffort / (double)_hz);
        for (int n = 0; n < _server.Shards.Count && _server.Debug.BackgroundWork; n++)
        {
            int i = (_round + n) % _server.Shards.Count;
            Tend(_server.Shards[i], _now, expirySlice, trim: _round % _hz == i % _hz);
        }
    }

    private bool MayEvict => _server.Eviction.IsDue && !_server.Pause.IsOn;

    /// <summary>Evicts for a slice in each shard, so that memory shrinks also if no command needs room.</summary>
    private void Evict()
    {
        bool hasGiven = false;
        // Each burst begins with another shard. Eviction stops once memory fits, so a fixed order would always evict from the same shard.
        int count = _server.Shards.Count;
        _evictsFrom = (_evictsFrom + 1) % count;
        for (int n = 0; n < count && MayEvict; n++) hasGiven |= EvictFrom(_server.Shards[(_evictsFrom + n) % count]);
        if (!hasGiven && MayEvict) _server.Eviction.RunOverall(_now);
    }

    private bool EvictFrom(Shard shard)
    {
        if (!shard.TryEnter()) return false;
        try
        {
            shard.Store.Now = _now;
            return _server.Eviction.Run(shard, EvictionSlice);
        }
        catch (Exception failure)
        {
            _server.Failures.BackgroundFailed("eviction failed", failure, shard);
            return false;
        }
        finally
        {
            shard.Exit();
        }
    }

    private bool Expires => _server.Debug.ActiveExpiry && _server.ExpiryEnabled && !_server.Pause.IsOn;

    private void TendLocalExpiries()
    {
        if (Expires && _server.Debug.BackgroundWork && _server.Role.IsReplica) _server.Role.LocalExpiries.Tend();
    }

    private static TimeSpan PeriodOf(int hz) => TimeSpan.FromSeconds(1.0 / hz);

    private void Tend(Shard shard, long now, TimeSpan expirySlice, bool trim)
    {
        if (!shard.TryEnter()) return;
        try
        {
            shard.Store.Now = now;
            if (Expires && !_server.Role.IsReplica) Expire(shard, now, expirySlice);
            if (!shard.Store.IsFreeing) shard.Store.Compact(CompactBuckets);
            bool isShort = _server.Failures.IsReserveOut || _server.Shards.Budget.IsShortFor(0);
            shard.Store.LeaveBlocks(isShort ? ChunksMovedWhenShort : ChunksMoved);
            if ((trim || isShort) && !shard.Store.Arena.IsTrimming)
                shard.Store.Arena.Trim(isShort ? 0 : Math.Clamp(shard.Store.Arena.BytesUsed / KeptPart, LeastKept, MostKept), TrimmedPages);
        }
        catch (Exception failure)
        {
            _server.Failures.BackgroundFailed("expiry or compaction failed", failure, shard);
        }
        finally
        {
            shard.Exit();
        }
    }

    private void Expire(Shard shard, long now, TimeSpan slice)
    {
        long started = Stopwatch.GetTimestamp();
        _expiry.Run(shard, now, slice);
        _expiryTicks += Stopwatch.GetTimestamp() - started;
    }
}
