namespace RedisClone.Server.Admin;

/// <summary>What an event looked like lately: its worst duration in each second that had one, up to so many seconds back as samples go.</summary>
internal sealed class LatencySeries
{
    private const int Capacity = 160;

    private readonly Sample[] _samples = new Sample[Capacity];
    private int _next;

    /// <summary>Milliseconds of the worst of all.</summary>
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

    /// <summary>The oldest first.</summary>
    public Sample[] Read()
    {
        Sample[] all = [.. _samples.AsSpan(_next), .. _samples.AsSpan(0, _next)];
        return Array.FindAll(all, s => s.Second != 0);
    }

    internal readonly record struct Sample(long Second, long Milliseconds);
}
