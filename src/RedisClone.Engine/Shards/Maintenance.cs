using System.Diagnostics;
using Microsoft.Extensions.Hosting;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Metrics;

namespace RedisClone.Engine.Shards;

/// <summary>
/// The periodic background work, which runs <c>hz</c> times a second: it advances clocks, and tends the shards
/// (<see cref="ShardCare"/>), the clients, the journal and the replicas. While abandoned data is left, or keys are to be evicted
/// or have expired, it does that in slices between the rounds. An idle server has no other periodic work.
/// </summary>
internal sealed class Maintenance(ServerCore server) : BackgroundService
{
    private static readonly TimeSpan RestBetweenBursts = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan EvictionSlice = TimeSpan.FromMilliseconds(0.5);
    private static readonly TimeSpan ExpirySlice = TimeSpan.FromMilliseconds(0.5);

    private readonly ServerCore _server = server;
    private readonly ShardCare[] _cares = CareOfAll(server);
    private readonly Freeing _freeing = new(server.Shards, server.Failures);
    private readonly ClientCare _clients = new(server);
    private int _round, _hz;            // of the present round, like the next line
    private long _started, _now;
    private int _evictsFrom;            // the shard at which the last burst of eviction began
    private int _expiresFrom;           // the shard that expired keys last between the rounds

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        int hz = _server.Config.Hz;
        using var timer = new PeriodicTimer(PeriodOf(hz));
        using CancellationTokenRegistration stopping = stoppingToken.UnsafeRegister(static timer => ((PeriodicTimer)timer!).Dispose(), timer);
        for (int round = 0; await timer.WaitForNextTickAsync(CancellationToken.None); round++)
        {
            // An exception that left this method would end the server.
            try
            {
                if (_server.Config.Hz != hz) timer.Period = PeriodOf(hz = _server.Config.Hz);
                long started = _started = Stopwatch.GetTimestamp();
                Round(round, hz, ServerCore.UnixMilliseconds());
                while (_server.Debug.BackgroundWork && (_freeing.HasWork || MayEvict || HasExpired) && Stopwatch.GetElapsedTime(started) < timer.Period)
                {
                    Guarded(static self => self._freeing.Run());
                    Guarded(static self => self.Evict());
                    Guarded(static self => self.ExpireMore());
                    await Task.Delay(RestBetweenBursts, CancellationToken.None);
                }
            }
            catch (OutOfMemoryException failure)
            {
                _server.Failures.WorkFailed("Background work failed", failure);
            }
        }
    }

    /// <summary>
    /// Runs one round. Each part is guarded: a part that fails must not stop the others, such as a shutdown that a signal
    /// requested, or the journal.
    /// </summary>
    private void Round(int round, int hz, long now)
    {
        (_round, _hz, _now) = (round, hz, now);
        if (_server.Debug.BackgroundWork) Guarded(static self => self._server.Shutdown.Tend());
        Guarded(static self => self._server.AdvanceClock(self._now));
        Guarded(static self => self._server.Eviction.Look());
        Guarded(static self => self._server.Shards.LookForRoom());
        Guarded(static self => self.TendShards());
        Guarded(static self => self.TendLocalExpiries());
        Guarded(static self => self._server.Latency.Note(LatencyEvents.ExpireCycle, self._cares.Sum(static care => care.TakeExpiryTicks())));
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
        if (round % hz == 0) Guarded(static self => self._server.ShardLoads.Sample());
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
        for (int n = 0; n < _server.Shards.Count && _server.Debug.BackgroundWork; n++)
        {
            int i = (_round + n) % _server.Shards.Count;
            _cares[i].Run(trims: _round % _hz == i % _hz);
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

    private bool HasExpired => Array.Exists(_cares, static care => care.HasExpired);

    /// <summary>Expires keys where more have expired than a round had time for, in about a quarter of the time of one processor.</summary>
    private void ExpireMore()
    {
        long started = Stopwatch.GetTimestamp();
        for (int n = 0; n < _cares.Length && Stopwatch.GetElapsedTime(started) < ExpirySlice; n++)
        {
            _expiresFrom = (_expiresFrom + 1) % _cares.Length;
            if (_cares[_expiresFrom].HasExpired) _cares[_expiresFrom].ExpireMore();
        }
    }

    private void TendLocalExpiries()
    {
        DebugSwitches debug = _server.Debug;
        if (debug.ActiveExpiry && debug.BackgroundWork && _server.ExpiryEnabled && !_server.Pause.IsOn && _server.Role.IsReplica)
            _server.Role.LocalExpiries.Tend();
    }

    private static TimeSpan PeriodOf(int hz) => TimeSpan.FromSeconds(1.0 / hz);

    private static ShardCare[] CareOfAll(ServerCore server)
    {
        var expiry = new ActiveExpiry(server);
        var cares = new ShardCare[server.Shards.Count];
        for (int i = 0; i < cares.Length; i++) cares[i] = new ShardCare(server, expiry, server.Shards[i]);
        return cares;
    }
}
