using System.Diagnostics;
using Microsoft.Extensions.Hosting;
using RedisClone.Server.Net;

namespace RedisClone.Server.Shards;

/// <summary>
/// What happens by itself, ten times a second: clocks advance, keys expire, sparse memory is packed in slices, free memory goes back to
/// the system; and for as long as something was abandoned, it is freed in slices. A shard that is busy is left for the next round,
/// and an idle server does nothing else.
/// </summary>
internal sealed class Maintenance(ServerCore server) : BackgroundService
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan ExpirySlice = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan RestBetweenBursts = TimeSpan.FromMilliseconds(1);
    private const int CompactBuckets = 512;
    private const long KeptFreeBytes = 1 << 20;
    private const int TrimmedPages = 256;
    private const int TrimEvery = 10;

    private readonly ActiveExpiry _expiry = new(server);
    private readonly Freeing _freeing = new(server.Shards);
    private readonly ClientCare _clients = new(server);

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        using var timer = new PeriodicTimer(Period);
        for (int round = 0; await timer.WaitForNextTickAsync(CancellationToken.None) && !stoppingToken.IsCancellationRequested; round++)
        {
            long started = Stopwatch.GetTimestamp();
            long now = ServerCore.UnixMilliseconds();
            server.AdvanceClock(now);
            for (int i = 0; i < server.Shards.Count && server.Debug.BackgroundWork; i++) Tend(server.Shards[i], now, trim: round % TrimEvery == i % TrimEvery);
            server.Journal?.AppendedElsewhere();
            server.Snapshots.Tend(now);
            if (round % TrimEvery == 0 && server.Debug.BackgroundWork) _clients.Run(now);
            server.Sampler.EndRound(started);
            while (server.Debug.BackgroundWork && _freeing.HasWork && Stopwatch.GetElapsedTime(started) < Period)
            {
                _freeing.Run();
                await Task.Delay(RestBetweenBursts, CancellationToken.None);
            }
        }
    }

    private void Tend(Shard shard, long now, bool trim)
    {
        if (!shard.TryEnter()) return;
        shard.Store.Now = now;
        if (server.Debug.ActiveExpiry && server.ExpiryEnabled && !server.Pause.IsOn) _expiry.Run(shard, now, ExpirySlice);
        if (!shard.Store.IsFreeing) shard.Store.Compact(CompactBuckets);
        if (trim && !shard.Store.Arena.IsTrimming) shard.Store.Arena.Trim(KeptFreeBytes, TrimmedPages);
        shard.Exit();
    }
}
