namespace RedisClone.Engine.Metrics;

/// <summary>
/// The recent history of an event: the longest duration in each second that had a spike, in a ring of fixed capacity.
/// </summary>
internal sealed class LatencySeries
{
    private const int Capacity = 160;

    private readonly Sample[] _samples = new Sample[Capacity];
    private int _next;

    /// <summary>The longest duration ever, in milliseconds.</summary>
    public long Worst { get; private set; }

    public void Add(long second, long milliseconds)
    {
        Worst = Math.Max(Worst, milliseconds);
        ref Sample latest = ref _samples[(_next + Capacity - 1) % Capacity];
        if (latest.Second == second)
        {
            latest = latest with { Milliseconds = Math.Max(latest.Milliseconds, milliseconds) };
            return;
        }
        _samples[_next] = new Sample(second, milliseconds);
        _next = (_next + 1) % Capacity;
    }

    /// <summary>Returns the samples, oldest first.</summary>
    public Sample[] Read()
    {
        Sample[] all = [.. _samples.AsSpan(_next), .. _samples.AsSpan(0, _next)];
        return Array.FindAll(all, s => s.Second != 0);
    }

    internal readonly record struct Sample(long Second, long Milliseconds);
}
