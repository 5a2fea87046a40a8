using System.Diagnostics;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Engine.Metrics;

[Flags]
internal enum HotKeyMetrics
{
    None = 0,
    Cpu = 1,
    Net = 2,
}

internal sealed record HotKeyOptions(HotKeyMetrics Metrics)
{
    public int Count { get; init; } = 10;

    /// <summary>The duration, or 0 for no limit.</summary>
    public long DurationMilliseconds { get; init; }

    /// <summary>One of this many commands is sampled.</summary>
    public int SampleRatio { get; init; } = 1;
}

/// <summary>
/// One session of HOTKEYS: measures the keys that use the most CPU time and network bytes. The cost of a command is divided
/// equally among its keys.
/// </summary>
internal sealed class HotKeySession(HotKeyOptions options, long now)
{
    private const int TrackedPerShown = 10;

    /// <summary>The longest name that is tracked. The names of a session take no more memory than some MB.</summary>
    private const int LongestName = 4096;

    private readonly Lock _gate = new();
    private readonly HeavyHitters? _cpu = (options.Metrics & HotKeyMetrics.Cpu) == 0 ? null : new HeavyHitters(TrackedPerShown * options.Count);
    private readonly HeavyHitters? _net = (options.Metrics & HotKeyMetrics.Net) == 0 ? null : new HeavyHitters(TrackedPerShown * options.Count);
    private readonly (TimeSpan User, TimeSpan System) _processor = ProcessorTime();
    private long _ticks, _bytes, _stoppedAt;

    public HotKeyOptions Options => options;

    public long StartedAt => now;

    /// <summary>Adds the cost of a command, if its keys can be determined.</summary>
    public void Note(CommandRow row, in Request request, long ticks, long replyBytes)
    {
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        if (row.CollectKeys(request, ref positions) && positions.Count > 0) Note(positions, request, ticks, request.WireLength + replyBytes);
        positions.Dispose();
    }

    private void Note(in KeyPositions positions, in Request request, long ticks, long bytes)
    {
        lock (_gate)
        {
            if (_stoppedAt != 0) return;
            _ticks += ticks;
            _bytes += bytes;
            if (options.SampleRatio > 1 && Random.Shared.Next(options.SampleRatio) != 0) return;
            for (int i = 0; i < positions.Count; i++)
            {
                ReadOnlySpan<byte> key = request[positions[i]];
                if (key.Length > LongestName) continue;
                // Nanoseconds, so that short commands are not rounded to zero. The report is in microseconds.
                _cpu?.Add(key, (long)(ticks * (1e9 / Stopwatch.Frequency)) / positions.Count);
                _net?.Add(key, bytes / positions.Count);
            }
        }
    }

    /// <summary>
    /// Ends the session at <paramref name="at"/>, or at the end of its duration if that is earlier. Returns false if the
    /// session has already ended.
    /// </summary>
    public bool Stop(long at)
    {
        lock (_gate)
        {
            if (_stoppedAt != 0) return false;
            _stoppedAt = options.DurationMilliseconds > 0 ? Math.Min(at, StartedAt + options.DurationMilliseconds) : at;
            return true;
        }
    }

    public bool IsOver(long at) => options.DurationMilliseconds > 0 && at >= StartedAt + options.DurationMilliseconds;

    public HotKeyReport Read(long at)
    {
        lock (_gate)
        {
            (TimeSpan user, TimeSpan system) = ProcessorTime();
            return new HotKeyReport(
                _stoppedAt == 0, (_stoppedAt == 0 ? at : _stoppedAt) - StartedAt, ServerCore.Microseconds(_ticks),
                _bytes, user - _processor.User, system - _processor.System,
                [.. (_cpu?.Top(options.Count) ?? []).Select(k => (k.Key, k.Sum / 1000))],
                _net?.Total ?? 0, _net?.Top(options.Count) ?? []);
        }
    }

    private static (TimeSpan User, TimeSpan System) ProcessorTime()
    {
        using var process = Process.GetCurrentProcess();
        return (process.UserProcessorTime, process.PrivilegedProcessorTime);
    }
}

/// <summary>The report of HOTKEYS GET.</summary>
internal sealed record HotKeyReport(
    bool IsActive, long DurationMilliseconds, long Microseconds, long Bytes, TimeSpan User, TimeSpan System, (byte[] Key, long Microseconds)[] ByTime,
    long TrackedBytes, (byte[] Key, long Bytes)[] ByBytes);
