using System.Diagnostics;
using Microsoft.Extensions.Hosting;
using RedisClone.Server.Admin;
using RedisClone.Server.Net;

namespace RedisClone.Server.Shards;

/// <summary>
/// What happens by itself, some times a second (hz): clocks advance, keys expire, sparse memory is packed in slices, free memory goes
/// back to the system; and for as long as something was abandoned, it is freed in slices. A shard that is busy is left for the
/// next round, and an idle server does nothing else.
/// </summary>
internal sealed class Maintenance(ServerCore server) : BackgroundService
{
    /// <summary>Milliseconds in a second that a shard's expired keys may take, for each step of active-expire-effort.</summary>
    private const int ExpiryEffort = 10;

    private static readonly TimeSpan RestBetweenBursts = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan EvictionSlice = TimeSpan.FromMilliseconds(1);
    private const int CompactBuckets = 512;
    private const long LeastKept = 128 << 10, MostKept = 1 << 20;
    private const int KeptPart = 16;    // one part of so many of what is used may be kept free
    private const int TrimmedPages = 256;

    private readonly ActiveExpiry _expiry = new(server);
    private readonly Freeing _freeing = new(server.Shards, server.Failures);
    private readonly ClientCare _clients = new(server);
    private long _expiryTicks;          // spent on expiry in this round

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        int hz = server.Config.Hz;
        using var timer = new PeriodicTimer(PeriodOf(hz));
        using CancellationTokenRegistration stopping = stoppingToken.UnsafeRegister(static timer => ((PeriodicTimer)timer!).Dispose(), timer);
        for (int round = 0; await timer.WaitForNextTickAsync(CancellationToken.None); round++)
        {
            if (server.Config.Hz != hz) timer.Period = PeriodOf(hz = server.Config.Hz);
            long started = Stopwatch.GetTimestamp();
            long now = ServerCore.UnixMilliseconds();
            server.AdvanceClock(now);
            _expiryTicks = 0;
            server.Eviction.Look();
            TimeSpan expirySlice = TimeSpan.FromMilliseconds(ExpiryEffort * server.Config.ActiveExpireEffort / (double)hz);
            for (int n = 0; n < server.Shards.Count && server.Debug.BackgroundWork; n++)
            {
                // Another shard comes first each time: where one key too many is looked for, the same one would always give it.
                int i = (round + n) % server.Shards.Count;
                Tend(server.Shards[i], now, expirySlice, trim: round % hz == i % hz);
            }
            server.Latency.Note(LatencyEvents.ExpireCycle, _expiryTicks);
            server.HotKeys.Tend(now);
            server.Failures.Tend();
            server.Journal?.Engine.Tend();
            if (server.Debug.BackgroundWork) server.Shutdown.Tend();
            server.Rewrites.Tend(now);
            server.Backups.Tend(now);
            server.Replicas.Tend(now);
            server.Snapshots.Tend(now);
            if (round % hz == 0 && server.Debug.BackgroundWork) _clients.Run(now);
            server.Sampler.EndRound(started);
            while (server.Debug.BackgroundWork && _freeing.HasWork && Stopwatch.GetElapsedTime(started) < timer.Period)
            {
                _freeing.Run();
                await Task.Delay(RestBetweenBursts, CancellationToken.None);
            }
        }
    }

    private static TimeSpan PeriodOf(int hz) => TimeSpan.FromSeconds(1.0 / hz);

    private void Tend(Shard shard, long now, TimeSpan expirySlice, bool trim)
    {
        if (!shard.TryEnter()) return;
        try
        {
            shard.Store.Now = now;
            if (server.Debug.ActiveExpiry && server.ExpiryEnabled && !server.Pause.IsOn) Expire(shard, now, expirySlice);
            if (server.Eviction.IsDue && !server.Pause.IsOn) server.Eviction.Run(shard, EvictionSlice);
            if (!shard.Store.IsFreeing) shard.Store.Compact(CompactBuckets);
            if (trim && !shard.Store.Arena.IsTrimming) shard.Store.Arena.Trim(Math.Clamp(shard.Store.Arena.BytesUsed / KeptPart, LeastKept, MostKept), TrimmedPages);
        }
        catch (Exception failure)
        {
            server.Failures.BackgroundFailed("expiry, eviction or compaction failed", failure, shard);
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
