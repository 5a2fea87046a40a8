using System.Diagnostics;

namespace RedisClone.Engine.Metrics;

/// <summary>
/// Samples values that are not counted continuously: rates over the last one or two seconds, and the peak of used memory.
/// </summary>
internal sealed class Sampler(ServerCore server)
{
    private const int Samples = 16;

    /// <summary>A sample is taken about ten times a second, regardless of the number of rounds.</summary>
    private static readonly long SampleTicks = Stopwatch.Frequency * 9 / 100;

    private readonly Lock _gate = new();
    private readonly Sample[] _samples = new Sample[Samples];
    private int _next;
    private long _nextSample;
    private long _peakMemory;

    /// <summary>Rounds of background work.</summary>
    public long Rounds { get; private set; }

    public long RoundTicks { get; private set; }

    public long LongestRoundTicks { get; private set; }

    /// <summary>Values freed in the background before the last reset of the statistics.</summary>
    public long LazilyFreedBefore { get; private set; }

    /// <summary>Scripts evicted from the cache before the last reset of the statistics.</summary>
    public long ScriptsEvictedBefore { get; private set; }

    public CollectorPauses Pauses { get; } = new();

    public long PeakMemory => Volatile.Read(ref _peakMemory);

    /// <summary>Called at the end of each round of background work.</summary>
    public void EndRound(long startedTicks)
    {
        Rounds++;
        long ticks = Stopwatch.GetTimestamp() - startedTicks;
        RoundTicks += ticks;
        LongestRoundTicks = Math.Max(LongestRoundTicks, ticks);
        Pauses.Look();
        NoteMemory(DataBytes());
        long sampled = Stopwatch.GetTimestamp();
        if (sampled < _nextSample) return;
        _nextSample = sampled + SampleTicks;
        LaneTotals totals = server.Statistics.Totals;
        lock (_gate)
        {
            _samples[_next] = new Sample(sampled, totals.CommandsProcessed, totals.NetInput, totals.NetOutput, totals.Reads + Rounds);
            _next = (_next + 1) % Samples;
        }
    }

    /// <summary>Raises the peak. Callers that measure memory report it here, because it may exceed the sampled peak.</summary>
    public void NoteMemory(long used)
    {
        if (used > PeakMemory) Volatile.Write(ref _peakMemory, used);
    }

    /// <summary>Resets the samples, for CONFIG RESETSTAT. The peak becomes the current use.</summary>
    public void Reset()
    {
        lock (_gate) Array.Clear(_samples);
        Pauses.Reset();
        Volatile.Write(ref _peakMemory, DataBytes());
        LazilyFreedBefore = MemoryUsage.Read(server).LazilyFreed;
        ScriptsEvictedBefore = server.Scripts.Cache.Evicted;
    }

    /// <summary>The average commands, bytes received, bytes sent and rounds per second over the samples.</summary>
    public (double Commands, double Input, double Output, double Rounds) Rates()
    {
        lock (_gate)
        {
            Sample newest = _samples[(_next + Samples - 1) % Samples];
            Sample oldest = newest;
            foreach (Sample sample in _samples)
                if (sample.Ticks != 0 && sample.Ticks < oldest.Ticks) oldest = sample;
            double seconds = (newest.Ticks - oldest.Ticks) / (double)Stopwatch.Frequency;
            if (seconds <= 0) return default;
            return ((newest.Commands - oldest.Commands) / seconds, (newest.Input - oldest.Input) / seconds,
                (newest.Output - oldest.Output) / seconds, (newest.Rounds - oldest.Rounds) / seconds);
        }
    }

    private long DataBytes() => server.Shards.BytesOf(server.Shards.All);

    private readonly record struct Sample(long Ticks, long Commands, long Input, long Output, long Rounds);
}
